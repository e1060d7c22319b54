package deltafifo

import (
	"context"
	"reflect"

	"github.com/kinform/kinform/internal/compare"
	"github.com/kinform/kinform/internal/typekind"
)

// Replacement is a whole collection, for Replace.
type Replacement[K comparable, T any] struct {
	// Objects has the objects; nil means none.
	Objects *Objects[K, T]
	// ResourceVersion is the list's.
	ResourceVersion string
	// Keep reports whether a key that Objects lacks stays, for example because its object could
	// not be read. It gets the newest known object of the key, pending or not. Nil means that
	// all missing keys are deleted. Keep runs under the queue's lock and must not use the queue.
	Keep func(K, T) bool
	// Rewound says that the server was restored from a backup, so that earlier
	// resourceVersions no longer compare. Doubtful says that this is possible, and most likely
	// is not so. The consumer sees them in [Batch.Rewound] and [Batch.Doubtful]. A rewound list comes
	// whole, because its versions say nothing. In a doubtful one, as in others, an object with equal
	// UID, version and contents is unchanged, whatever became of the server.
	Rewound, Doubtful bool
}

// Replace adds a Replaced delta for every object of list, except for unchanged ones (see
// [KnownObjects]), and a Deleted delta with an unknown final state for every existing key that is not
// in the list. If nothing is pending, the list becomes a batch without a copy. O(objects + known
// keys), under the lock. See [DeltaFIFO.Add].
//
//go:noinline
func (f *DeltaFIFO[K, T]) Replace(ctx context.Context, list Replacement[K, T]) error {
	return produceList(ctx, &f.core, &list)
}

// produceList waits for room and adds a list.
func produceList[K comparable, T any](ctx context.Context, f *core[K, T], list *Replacement[K, T]) error {
	if list.Objects != nil {
		settleObjects(list.Objects)
	}
	if err := admit(ctx, &f.gate); err != nil {
		return err
	}
	defer f.mu.Unlock()
	replace(f, list)
	return nil
}

// replace is Replace with the lock held.
func replace[K comparable, T any](f *core[K, T], list *Replacement[K, T]) {
	if f.keeps != nil {
		selectItems(f, list)
	}
	f.lists++
	f.pending.hasList = true
	all := false
	if f.pending.deltas > 0 {
		putItems(f, list.Objects)
	} else if changed, complete, ok := findChanged(f, list); ok {
		for _, n := range changed {
			putItem(f, list.Objects, n)
		}
		all = complete
	} else {
		takeList(f.pending, list.Objects, f.lists, f.lists == 1)
	}
	if !all {
		deleteMissing(f, list.Objects, f.lists, list.Keep)
	}
	passAwaited(f, list.Objects, list.Keep)
	if f.lists == 1 {
		f.pending.endsInitial = true
		f.pending.moved = true // an empty list must reach the consumer too
	}
	f.pending.rewound = f.pending.rewound || list.Rewound
	f.pending.doubtful = f.pending.doubtful || list.Doubtful
	moved(&f.gate, list.ResourceVersion)
}

// selectItems takes the objects that the queue does not keep out of a list.
func selectItems[K comparable, T any](f *core[K, T], list *Replacement[K, T]) {
	for n := list.Objects.Len() - 1; n >= 0; n-- { // the last one takes the place of one that goes
		if !f.keeps(listedObject(list.Objects, n)) {
			list.Objects.Delete(itemAt(list.Objects, n).Key)
		}
	}
	if keep := list.Keep; keep != nil {
		list.Keep = func(key K, obj T) bool { return f.keeps(obj) && keep(key, obj) }
	}
}

// mostChanged is the largest share of changed objects at which unchanged objects are left out.
const mostChanged = 1. / 8

// findChanged returns the numbers of the changed objects, and whether the list has all known keys. ok
// is false if the objects cannot be compared, or if too many have changed. Called with the lock
// held and nothing pending.
func findChanged[K comparable, T any](f *core[K, T], list *Replacement[K, T]) (numbers []int, all, ok bool) {
	known, items := f.comparer, list.Objects
	if known == nil || f.inFlight != nil || list.Rewound {
		return nil, false, false
	}
	c := comparison[K, T]{f: f, items: items, versioned: items != nil && !items.unknown, most: int(mostChanged * float64(items.Len()))}
	if items.Len()-known.Len() > c.most || !known.Omits(list.ResourceVersion) {
		return nil, false, false
	}
	compare := func(i int, old T, had bool) bool { return compareItem(&c, i, old, had) }
	keys := make([]K, blockLen)
	for ; c.from < items.Len() && !c.many; c.from += blockLen {
		c.block = blockAt(items, c.from)
		if f.codec != nil {
			comparePacked(&c)
			continue
		}
		for i := range c.block {
			keys[i] = c.block[i].Key
		}
		f.getMany(keys[:len(c.block)], compare)
	}
	if c.many {
		return nil, false, false
	}
	// After a write in between, found and Len are of different moments.
	return c.changed, c.found == known.Len() && !known.Ahead(), true
}

// comparison is one of a list with the known objects.
type comparison[K comparable, T any] struct {
	f     *core[K, T]
	items *Objects[K, T]
	// An object that the list has from the store is the same pointer. If it carries its version, it
	// is unchanged, and nothing of it need be read from memory: a relist of such objects takes 1.3
	// times less time (bench, row relist/same).
	versioned bool
	most      int // changed objects at which it ends

	from    int // number of the first object of block
	block   []keyedObject[K, T]
	found   int   // objects that are known
	changed []int // numbers of those that have changed
	many    bool  // too many have changed
}

// comparePacked compares the objects of the block with the known ones, which are packed. What is the same by its bytes
// need not be unpacked.
func comparePacked[K comparable, T any](c *comparison[K, T]) {
	for i := range c.block {
		key, text := c.block[i].Key, packedAt(&c.items.numbers, c.from+i)
		if c.versioned && c.f.codec.Same(text, c.f.packedOf(key)) && !c.f.comparer.Awaits(key) {
			c.found++
			continue
		}
		if old, had := c.f.known.Get(key); !compareItem(c, i, old, had) {
			return
		}
	}
}

// compareItem compares object i of the block with old, the known object of its key, if there is one. It
// returns false if too many have changed.
func compareItem[K comparable, T any](c *comparison[K, T], i int, old T, had bool) bool {
	if had {
		c.found++
		if c.f.comparer.Awaits(c.block[i].Key) {
			c.changed = append(c.changed, c.from+i)
			return true
		}
		if isSame(c, i, old) {
			return true
		}
	}
	c.many = len(c.changed) >= c.most
	c.changed = append(c.changed, c.from+i)
	return !c.many
}

// isSame reports whether object i of the block is unchanged since old.
func isSame[K comparable, T any](c *comparison[K, T], i int, old T) bool {
	known, item, n := c.f.comparer, &c.block[i], c.from+i
	if c.versioned && identical(old, item.Object) {
		return true
	}
	if c.f.codec != nil {
		item = &keyedObject[K, T]{item.Key, listedObject(c.items, n)}
	}
	state := stateOf(c.f, item.Object, versionAt(&c.items.numbers, n))
	return known.Same(item.Key, old, state) && equal(known, item, old, sumAt(&c.items.numbers, n))
}

// equal reports whether a listed object has the contents of known's object old. If the list has
// another sum than known, the consumer gets the object: it compares the contents and notes the sum.
func equal[K comparable, T any](known compare.Known[K, T], listed *keyedObject[K, T], old T, sum uint64) bool {
	switch {
	case identical(old, listed.Object):
		return true
	case sum == 0:
		return known.Equal(old, listed.Object)
	}
	_, had, _ := known.GetSum(listed.Key) // a second lookup, only for objects that were decoded again
	return had == sum
}

// identical reports whether a and b are the same pointer, in an interface or not.
func identical[T any](a, b T) bool {
	switch typekind.Of((*T)(nil)) {
	case reflect.Pointer:
		return any(a) == any(b)
	case reflect.Interface:
		return samePointer(a, b)
	}
	return false
}

// samePointer is identical for interfaces.
func samePointer(a, b any) bool {
	t := reflect.TypeOf(a)
	return t != nil && t.Kind() == reflect.Pointer && a == b
}

// stateOf returns the state of an object that was listed at a version.
func stateOf[K comparable, T any](f *core[K, T], obj T, version string) compare.State {
	if own := f.meta.Version(obj); own != "" {
		return compare.State{UID: f.meta.UID(obj), ResourceVersion: own}
	}
	return compare.State{ResourceVersion: version}
}

// putItems adds a Replaced delta for each object, when other deltas are pending. Called with the
// lock held.
func putItems[K comparable, T any](f *core[K, T], items *Objects[K, T]) {
	expand(f.pending)
	reserve(f.pending, items.Len())
	for n := range items.Len() {
		putItem(f, items, n)
	}
}

// putItem adds the Replaced delta of object n. Called with the lock held.
func putItem[K comparable, T any](f *core[K, T], items *Objects[K, T], n int) {
	e := findOrAdd(f.pending, itemAt(items, n).Key)
	e.list = f.lists
	d := replaced(items, n, f.lists == 1)
	appendDelta(f.pending, e, &d)
}

// deleteMissing adds a Deleted delta for every existing key that is not among items, the list with that
// number. Called with the lock held.
func deleteMissing[K comparable, T any](f *core[K, T], items *Objects[K, T], list uint64, keep func(K, T) bool) {
	gone := func(e *entry[K, T], key K, obj T) {
		if keep != nil && keep(key, obj) {
			return
		}
		if e == nil {
			e = addEntry(f.pending, key)
		}
		appendDelta(f.pending, e, &Delta[T]{Type: Deleted, FinalStateUnknown: true, Object: obj})
	}
	settle(f.pending)
	for i := range f.pending.entries { // gets no new ones here
		if e := &f.pending.entries[i]; e.list != list && latest(e).Type != Deleted {
			gone(e, e.key, latest(e).Object)
		}
	}
	if b := f.inFlight; b != nil {
		for n := range countKeys(b) {
			if obj, ok := newestAt(b, n); ok && !hasKey(f.pending, keyAt(b, n)) {
				gone(nil, keyAt(b, n), obj)
			}
		}
	}
	eachUnlisted(f, items, func(key K, obj T) { gone(nil, key, obj) })
}

// eachUnlisted calls do for each known object whose key is not among items and has no deltas, pending or in
// flight. Called with the lock held.
func eachUnlisted[K comparable, T any](f *core[K, T], items *Objects[K, T], do func(K, T)) {
	if f.known == nil {
		return
	}
	f.known.All()(func(key K, obj T) bool {
		if _, ok := numberIn(items, key); !ok && !hasKey(f.pending, key) && !hasKey(f.inFlight, key) {
			do(key, obj)
		}
		return true
	})
}

// passAwaited adds what items, the current list, have under the keys that known is ahead in, if that has not
// been added: the list was compared with known while known changed. Called with the lock held.
func passAwaited[K comparable, T any](f *core[K, T], items *Objects[K, T], keep func(K, T) bool) {
	if f.comparer == nil {
		return
	}
	keys, moment := f.comparer.Awaited()
	f.pending.moment = moment
	for _, key := range keys {
		n, listed := numberIn(items, key)
		switch has := hasKey(f.pending, key); {
		case listed && has && (f.pending.list != nil || findEntry(f.pending, key).list == f.lists):
		case listed:
			putItem(f, items, n)
		case has && latest(findEntry(f.pending, key)).Type == Deleted:
		default:
			obj, ok := newest(f, key)
			if !ok || keep == nil || !keep(key, obj) {
				appendDelta(f.pending, findOrAdd(f.pending, key), &Delta[T]{Type: Deleted, FinalStateUnknown: true, Object: obj})
			}
		}
	}
}
