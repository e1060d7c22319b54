package deltafifo

import "context"

// Add puts an Added delta. resourceVersion is the version that the delta brings the store
// to; empty leaves it where it was. Like all producing methods it waits while the queue
// is at its limit, and returns ctx's error or [ErrClosed] if nothing was put.
func (f *DeltaFIFO[K, T]) Add(ctx context.Context, key K, obj T, resourceVersion string) error {
	return f.put(ctx, key, Delta[T]{Type: Added, Object: obj, ResourceVersion: resourceVersion})
}

// Update puts an Updated delta. See [DeltaFIFO.Add].
func (f *DeltaFIFO[K, T]) Update(ctx context.Context, key K, obj T, resourceVersion string) error {
	return f.put(ctx, key, Delta[T]{Type: Updated, Object: obj, ResourceVersion: resourceVersion})
}

// Delete puts a Deleted delta with the object's last state. Nothing but resourceVersion
// is taken in for a key that does not exist here or in the known store: of two deletions
// in a row one is put, the one that knows the final state. See [DeltaFIFO.Add].
func (f *DeltaFIFO[K, T]) Delete(ctx context.Context, key K, obj T, resourceVersion string) error {
	if err := f.admit(ctx); err != nil {
		return err
	}
	defer f.mu.Unlock()
	d := Delta[T]{Type: Deleted, Object: obj, ResourceVersion: resourceVersion}
	if e := f.pending.find(key); e != nil && e.last().Type == Deleted {
		if e.last().FinalStateUnknown {
			*e.last() = d
		}
	} else if f.exists(key) {
		f.pending.push(key, d)
	}
	f.moved(resourceVersion)
	return nil
}

// Bookmark says that everything up to resourceVersion has been put. See [DeltaFIFO.Add].
func (f *DeltaFIFO[K, T]) Bookmark(ctx context.Context, resourceVersion string) error {
	if err := f.admit(ctx); err != nil {
		return err
	}
	defer f.mu.Unlock()
	f.moved(resourceVersion)
	return nil
}

// List is a whole collection, as Replace takes it.
type List[K comparable, T any] struct {
	// Items are the objects; nil for none.
	Items *Items[K, T]
	// ResourceVersion is the list's.
	ResourceVersion string
	// Keep says which missing keys are not deleted, since the list may have them after
	// all; it gets the newest object known of each, pending or not. Nil keeps none. It runs
	// under the queue's lock and must not use the queue.
	Keep func(K, T) bool
	// Rewound says that the server was restored from a backup, so that resourceVersions of
	// before say nothing. The consumer learns it from [Batch.Rewound].
	Rewound bool
}

// Replace puts a Replaced delta for every item of list, save for those that are unchanged,
// and a Deleted one with an unknown final state for every key that exists and is not in it.
// When nothing is pending, the list becomes a batch as it is. O(items + known keys), under
// the lock. See [DeltaFIFO.Add].
func (f *DeltaFIFO[K, T]) Replace(ctx context.Context, list List[K, T]) error {
	if list.Items != nil {
		list.Items.settle()
	}
	if err := f.admit(ctx); err != nil {
		return err
	}
	defer f.mu.Unlock()
	f.lists++
	all := false
	if f.pending.deltas > 0 {
		f.putItems(list.Items)
	} else if changed, complete, ok := f.changed(list); ok {
		for _, n := range changed {
			f.listed(list.Items, n)
		}
		all = complete
	} else {
		f.pending.takeList(list.Items, f.lists, f.lists == 1)
	}
	if !all {
		f.deleteMissing(list.Items, list.Keep)
	}
	if f.lists == 1 {
		f.pending.endsInitial = true
		f.pending.moved = true // an empty list must reach the consumer too
	}
	f.pending.rewound = f.pending.rewound || list.Rewound
	f.moved(list.ResourceVersion)
	return nil
}

// mostChanged is the share of a list's items that may have changed for the others to be
// looked for.
const mostChanged = 1. / 8

// changed returns the numbers of the items that the consumer has to be told of, and whether
// the list has all that is known. ok says that this can be told and that they are few.
// Called with the lock held and nothing pending.
func (f *DeltaFIFO[K, T]) changed(list List[K, T]) (numbers []int, all, ok bool) {
	known, ok := f.known.(Comparer[K, T])
	if !ok || f.inFlight != nil || list.Rewound {
		return nil, false, false
	}
	most := int(mostChanged * float64(list.Items.Len()))
	if list.Items.Len()-f.known.Len() > most {
		return nil, false, false
	}
	unchanged := known.Compare(list.ResourceVersion)
	if unchanged == nil {
		return nil, false, false
	}
	found, few, from := 0, true, 0
	var block []Item[K, T]
	compare := func(i int, old T, had bool) bool {
		if had {
			if found++; unchanged(block[i].Key, old, block[i].Object, list.Items.version(from+i)) {
				return true
			}
		}
		few = len(numbers) < most
		numbers = append(numbers, from+i)
		return few
	}
	keys := make([]K, blockLen)
	for ; from < list.Items.Len() && few; from += blockLen {
		block = list.Items.block(from)
		for i := range block {
			keys[i] = block[i].Key
		}
		f.getMany(keys[:len(block)], compare)
	}
	if !few {
		return nil, false, false
	}
	return numbers, found == f.known.Len(), true
}

// getOneByOne is Known.Get for many keys.
func getOneByOne[K comparable, T any](known Known[K, T]) func(keys []K, yield func(int, T, bool) bool) {
	return func(keys []K, yield func(int, T, bool) bool) {
		for i, key := range keys {
			if obj, ok := known.Get(key); !yield(i, obj, ok) {
				return
			}
		}
	}
}

// putItems puts the Replaced deltas of a list that comes when something is pending. Called
// with the lock held.
func (f *DeltaFIFO[K, T]) putItems(items *Items[K, T]) {
	f.pending.expand()
	f.pending.reserve(items.Len())
	for n := range items.Len() {
		f.listed(items, n)
	}
}

// listed puts the Replaced delta of item n. Called with the lock held.
func (f *DeltaFIFO[K, T]) listed(items *Items[K, T], n int) {
	item := items.item(n)
	e := f.pending.find(item.Key)
	if e == nil {
		e = f.pending.add(item.Key)
	}
	e.list = f.lists
	f.pending.append(e, Delta[T]{Type: Replaced, Initial: f.lists == 1, Object: item.Object, ResourceVersion: items.version(n)})
}

// deleteMissing puts a Deleted delta for every key that exists and that the current list,
// with the given items, does not have. Called with the lock held.
func (f *DeltaFIFO[K, T]) deleteMissing(items *Items[K, T], keep func(K, T) bool) {
	gone := func(e *entry[K, T], key K, obj T) {
		if keep != nil && keep(key, obj) {
			return
		}
		if e == nil {
			e = f.pending.add(key)
		}
		f.pending.append(e, Delta[T]{Type: Deleted, FinalStateUnknown: true, Object: obj})
	}
	for i := range f.pending.entries { // gets no new ones here
		if e := &f.pending.entries[i]; e.list != f.lists && e.last().Type != Deleted {
			gone(e, e.key, e.last().Object)
		}
	}
	if b := f.inFlight; b != nil {
		for n := range b.keys() {
			if last := b.last(n); last.Type != Deleted && !f.pending.has(b.key(n)) {
				gone(nil, b.key(n), last.Object)
			}
		}
	}
	if f.known == nil {
		return
	}
	for key, obj := range f.known.All() {
		if _, ok := items.number(key); !ok && !f.pending.has(key) && !f.inFlight.has(key) {
			gone(nil, key, obj)
		}
	}
}

// exists reports whether key has an object, by the newest that is known of it. Called
// with the lock held.
func (f *DeltaFIFO[K, T]) exists(key K) bool {
	for _, b := range []*buffer[K, T]{f.pending, f.inFlight} {
		if b == nil {
			continue
		}
		if n, ok := b.numberOf(key); ok {
			return b.last(n).Type != Deleted
		}
	}
	if f.known == nil {
		return false
	}
	_, ok := f.known.Get(key)
	return ok
}

func (f *DeltaFIFO[K, T]) put(ctx context.Context, key K, d Delta[T]) error {
	if err := f.admit(ctx); err != nil {
		return err
	}
	defer f.mu.Unlock()
	f.pending.push(key, d)
	f.moved(d.ResourceVersion)
	return nil
}

// moved notes the version and tells the consumer. Called with the lock held.
func (f *DeltaFIFO[K, T]) moved(rv string) {
	f.pending.moveTo(rv)
	if !f.pending.empty() {
		f.signalReady()
	}
}
