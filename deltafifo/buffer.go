package deltafifo

import (
	"maps"
	"slices"

	"github.com/kinform/kinform/internal/capacity"
	"github.com/kinform/kinform/internal/keytable"
)

const (
	// The first delta of each key is allocated in chunks of these lengths.
	minChunk, maxChunk = 8, 256
)

// entry is one key of a buffer with its deltas, oldest first.
type entry[K comparable, T any] struct {
	key    K
	list   uint64 // number of the last Replace that had the key; zero for none
	deltas []Delta[T]
}

// latest returns the newest delta of e.
func latest[K comparable, T any](e *entry[K, T]) *Delta[T] { return &e.deltas[len(e.deltas)-1] }

// clearEntry makes e an entry that is not in use. It keeps its room for deltas.
func clearEntry[K comparable, T any](e *entry[K, T]) {
	clear(e.deltas)
	*e = entry[K, T]{deltas: e.deltas[:0]}
}

// buffer collects a batch: entries in the order of their first deltas, and an index of them by key.
//
// Without a list, push makes a new entry for each delta and does not look its key up. settle does
// that, for a block of blockLen entries, or before somebody asks for a key or a number. A lookup
// mostly waits for the bytes of the key, and the processor can read the bytes of many keys at a
// time. So a watch event to one handler takes 1.2 times less processor time (bench, row
// watch/handlers=1).
//
// If a list arrives when nothing is pending, the buffer keeps it without a copy, before the
// entries. Each object then stands for one Replaced delta. When an object gets a second delta, all
// objects become entries, which take three times the memory. The consumer usually takes a large list
// at once, so the list costs no more. The keys of a settled buffer are numbered: first the objects of
// list, then the entries.
type buffer[K comparable, T any] struct {
	list    *Objects[K, T] // nil for none; no entry has one of its keys
	number  uint64         // of the Replace that list came with
	initial bool           // list is the initial one

	entries []entry[K, T] // entries beyond the length are empty but keep room for deltas

	// Entries below settled are in at. Later ones may repeat keys and have one delta each, except
	// that the first entry may have more.
	settled int
	at      map[K]int // places of the settled entries

	parts   keytable.Parts[K]
	touched uint32     // keeps reads ahead from being optimized away
	chunk   []Delta[T] // unused rest of the last chunk
	room    int        // number of deltas that the entries have room for, used or not
	full    capacity.Meter

	header
}

//go:noinline
func newBuffer[K comparable, T any]() *buffer[K, T] {
	return &buffer[K, T]{at: make(map[K]int), parts: keytable.PartsOf[K]()}
}

// takeList makes list the first keys of an empty buffer.
func takeList[K comparable, T any](b *buffer[K, T], list *Objects[K, T], number uint64, initial bool) {
	b.list, b.number, b.initial = list, number, initial
	b.deltas = list.Len()
}

// expand turns the objects of the list into entries. All entries of a buffer with a list are settled.
func expand[K comparable, T any](b *buffer[K, T]) {
	if b.list == nil {
		return
	}
	whole := newBuffer[K, T]()
	reserve(whole, countKeys(b))
	n, listed := 0, b.list.Len()
	eachKey(b, func(key K, deltas []Delta[T]) bool {
		e := addEntry(whole, key)
		if e.list = b.number; n >= listed {
			e.list = b.entries[n-listed].list
		}
		appendAll(whole, e, deltas)
		n++
		return true
	})
	whole.header = b.header
	*b = *whole
}

// countKeys returns the number of keys.
func countKeys[K comparable, T any](b *buffer[K, T]) int {
	settle(b)
	return b.list.Len() + len(b.entries)
}

// keyAt returns the key of a number.
func keyAt[K comparable, T any](b *buffer[K, T], n int) K {
	if listed := b.list.Len(); n >= listed {
		return b.entries[n-listed].key
	}
	return itemAt(b.list, n).Key
}

// newestAt returns the object of a number after its last delta, and whether there is one.
func newestAt[K comparable, T any](b *buffer[K, T], n int) (obj T, ok bool) {
	if listed := b.list.Len(); n >= listed {
		last := latest(&b.entries[n-listed])
		return last.Object, last.Type != Deleted
	}
	return listedObject(b.list, n), true
}

// deltasAt returns all deltas of a number. For an object of the list it allocates.
func deltasAt[K comparable, T any](b *buffer[K, T], n int) []Delta[T] {
	if listed := b.list.Len(); n >= listed {
		return b.entries[n-listed].deltas
	}
	return []Delta[T]{listedAt(b, n)}
}

// listedAt returns the delta of an object of the list.
func listedAt[K comparable, T any](b *buffer[K, T], n int) Delta[T] {
	return replaced(b.list, n, b.initial)
}

// eachListed calls yield for each object of the list. It stops and returns false if yield does.
func eachListed[K comparable, T any](b *buffer[K, T], yield func(K, []Delta[T]) bool) bool {
	one := make([]Delta[T], 1) // not a field of the buffer, because loops may be nested
	for n := range b.list.Len() {
		one[0] = listedAt(b, n)
		if !yield(itemAt(b.list, n).Key, one[:1:1]) {
			return false
		}
	}
	return true
}

// eachKey calls yield for each key, with its deltas, until it returns false. All entries are settled.
func eachKey[K comparable, T any](b *buffer[K, T], yield func(K, []Delta[T]) bool) {
	if b.list.Len() > 0 && !eachListed(b, yield) {
		return
	}
	for i := range b.entries {
		if e := &b.entries[i]; !yield(e.key, e.deltas) {
			return
		}
	}
}

// numberOf returns the number of key.
func numberOf[K comparable, T any](b *buffer[K, T], key K) (int, bool) {
	settle(b)
	if n, ok := numberIn(b.list, key); ok {
		return n, true
	}
	i, ok := placeOf(b, key)
	return b.list.Len() + i, ok
}

// placeOf returns the number of the entry of key in a settled buffer.
func placeOf[K comparable, T any](b *buffer[K, T], key K) (int, bool) {
	if len(b.entries) == 1 {
		return 0, b.entries[0].key == key
	}
	i, ok := b.at[key]
	return i, ok
}

// hasKey reports whether key has deltas. A nil buffer has none.
func hasKey[K comparable, T any](b *buffer[K, T], key K) bool {
	if b == nil {
		return false
	}
	_, ok := numberOf(b, key)
	return ok
}

// findEntry returns the entry of key, or nil. It is valid until the next addEntry or push.
func findEntry[K comparable, T any](b *buffer[K, T], key K) *entry[K, T] {
	settle(b)
	if _, ok := numberIn(b.list, key); ok {
		expand(b)
	}
	if i, ok := placeOf(b, key); ok {
		return &b.entries[i]
	}
	return nil
}

// push appends d to the deltas of key, at once or in the next settle.
func push[K comparable, T any](b *buffer[K, T], key K, d *Delta[T]) {
	if b.list != nil {
		appendDelta(b, findOrAdd(b, key), d)
		return
	}
	appendDelta(b, extend(b, key), d)
	if len(b.entries)-b.settled == blockLen {
		settle(b)
	}
}

// settle makes sure that each key has one entry, which placeOf finds. A single entry stays out of the
// index, so that an event that comes alone takes 1.3 times less processor time in the queue (row
// batch=1/perKey=1 of BenchmarkAddPop).
func settle[K comparable, T any](b *buffer[K, T]) {
	if len(b.entries) > 1 {
		indexLate(b)
	}
}

// indexLate puts the entries that push has added into the index. If a key has an entry already, that
// one gets the delta, and the later entries move up. If there are none, it writes nothing, because
// the consumer may be reading the buffer.
func indexLate[K comparable, T any](b *buffer[K, T]) {
	late := b.entries[b.settled:]
	if len(late) == 0 {
		return
	}
	for i := range late {
		b.touched ^= keytable.Touch(b.parts, late[i].key)
	}
	for i := range late {
		e := &late[i]
		if before, ok := b.at[e.key]; ok {
			fold(b, &b.entries[before], e)
			continue
		}
		b.at[e.key] = b.settled
		if to := &b.entries[b.settled]; to != e {
			*to, *e = *e, *to
		}
		b.settled++
	}
	b.entries = b.entries[:b.settled]
}

// fold moves the delta of e to the end of another entry of the same key.
func fold[K comparable, T any](b *buffer[K, T], to, e *entry[K, T]) {
	appendDelta(b, to, &e.deltas[0])
	b.deltas--
	clearEntry(e)
}

// addEntry returns a new entry for key, which must not have one, in a settled buffer. The caller must
// add a delta.
func addEntry[K comparable, T any](b *buffer[K, T], key K) *entry[K, T] {
	indexLate(b)
	b.at[key] = len(b.entries)
	b.settled++
	return extend(b, key)
}

// findOrAdd returns the entry of key. The caller must add a delta. The entry is valid as long as
// findEntry's.
func findOrAdd[K comparable, T any](b *buffer[K, T], key K) *entry[K, T] {
	if e := findEntry(b, key); e != nil {
		return e
	}
	return addEntry(b, key)
}

// extend returns a new entry for key, which is not in the index.
func extend[K comparable, T any](b *buffer[K, T], key K) *entry[K, T] {
	i := len(b.entries)
	if i < cap(b.entries) {
		b.entries = b.entries[:i+1]
	} else {
		b.entries = append(b.entries, entry[K, T]{})
	}
	e := &b.entries[i]
	e.key = key
	return e
}

// appendDelta adds d to the deltas of e.
func appendDelta[K comparable, T any](b *buffer[K, T], e *entry[K, T], d *Delta[T]) {
	b.deltas++
	n := len(e.deltas)
	if n == cap(e.deltas) {
		extendDeltas(b, e)
	}
	e.deltas = e.deltas[:n+1]
	e.deltas[n] = *d
}

// extendDeltas makes room for more deltas of e. If they move to a new array, it clears the old one, whose
// chunk other entries may keep in memory.
//
//go:noinline
func extendDeltas[K comparable, T any](b *buffer[K, T], e *entry[K, T]) {
	before := e.deltas
	if len(before) == 0 {
		e.deltas = cut(b)
	} else {
		e.deltas = append(before, Delta[T]{})[:len(before)]
		clear(before)
	}
	b.room += cap(e.deltas) - len(before)
}

// appendAll is appendDelta for some deltas.
func appendAll[K comparable, T any](b *buffer[K, T], e *entry[K, T], deltas []Delta[T]) {
	for i := range deltas {
		appendDelta(b, e, &deltas[i])
	}
}

// prepend puts deltas, which were given back and are older, before the deltas of key. A key that
// has an entry keeps its place.
func prepend[K comparable, T any](b *buffer[K, T], key K, deltas []Delta[T]) {
	e := findOrAdd(b, key)
	newer := copyDeltas(e.deltas)
	appendAll(b, e, deltas)
	copy(e.deltas[copy(e.deltas, deltas):], newer)
	b.returned += len(deltas)
}

//go:noinline
func copyDeltas[T any](deltas []Delta[T]) []Delta[T] { return slices.Clone(deltas) }

// cut returns an empty slice with room for one delta. Nearly every key has only one in a batch.
func cut[K comparable, T any](b *buffer[K, T]) []Delta[T] {
	if len(b.chunk) == 0 {
		b.chunk = make([]Delta[T], min(max(len(b.entries), minChunk), maxChunk))
	}
	one := b.chunk[:0:1]
	b.chunk = b.chunk[1:]
	return one
}

// reserve makes room for n more keys.
func reserve[K comparable, T any](b *buffer[K, T], n int) {
	used, have := len(b.entries), cap(b.entries)
	if n <= have-used {
		return
	}
	entries := make([]entry[K, T], used+n)
	copy(entries, b.entries[:have])
	b.entries = entries[:used]
	at := make(map[K]int, used+n)
	maps.Copy(at, b.at)
	b.at = at
	b.chunk = make([]Delta[T], used+n-have)
}

// reset empties the buffer, so that it keeps no object alive and can be filled again without
// allocation. It returns nil if the buffer has room for more than most deltas, or for far more than
// it has had lately: a Go map never shrinks, so the buffer would waste memory. It also returns nil
// for a buffer without room, which would save nothing: one that had a list, or only a version.
func reset[K comparable, T any](b *buffer[K, T], most int) *buffer[K, T] {
	if tooLarge := b.full.TooLarge(b.room, b.deltas); b.room == 0 || b.room > most || tooLarge {
		return nil
	}
	clear(b.at)
	for i := range b.entries {
		clearEntry(&b.entries[i])
	}
	b.list, b.number, b.initial = nil, 0, false
	b.entries, b.settled = b.entries[:0], 0
	resetHeader(&b.header)
	return b
}
