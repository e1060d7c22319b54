package deltafifo

import (
	"maps"
	"slices"
)

const (
	// The first deltas of keys are cut from chunks of such lengths.
	minChunk, maxChunk = 8, 256

	// A buffer with more than littleRoom that is filled to less than a quarter patience
	// times in a row is given up, since it was made for a burst that is over.
	littleRoom, patience = 64, 16
)

// entry is one key of a buffer with its deltas, oldest first.
type entry[K comparable, T any] struct {
	key    K
	list   uint64 // number of the Replace that listed the key, zero if none did; in flight, or givenBack
	deltas []Delta[T]
}

func (e *entry[K, T]) last() *Delta[T] { return &e.deltas[len(e.deltas)-1] }

// buffer is a batch in the making: entries in order of first arrival, and where they are.
type buffer[K comparable, T any] struct {
	entries     []entry[K, T] // those beyond the length are empty but keep room for deltas
	at          map[K]int
	chunk       []Delta[T] // rest of the last one, unused
	room        int        // number of deltas that the entries have room for, used or not
	deltas      int
	returned    int // of the deltas, the number of those that were given back
	rv          string
	moved       bool // the batch brings its store to rv
	endsInitial bool
	tooLarge    int // number of times in a row
}

func newBuffer[K comparable, T any]() *buffer[K, T] {
	return &buffer[K, T]{at: make(map[K]int)}
}

func (b *buffer[K, T]) empty() bool { return b.deltas == 0 && !b.moved }

// find returns the entry of key, or nil. It is valid until the next add.
func (b *buffer[K, T]) find(key K) *entry[K, T] {
	if i, ok := b.at[key]; ok {
		return &b.entries[i]
	}
	return nil
}

// push appends d to the deltas of key.
func (b *buffer[K, T]) push(key K, d Delta[T]) {
	e := b.find(key)
	if e == nil {
		e = b.add(key)
	}
	b.append(e, d)
}

// add returns a new entry for key, which must not have one and needs a delta.
func (b *buffer[K, T]) add(key K) *entry[K, T] {
	i := len(b.entries)
	b.at[key] = i
	if i < cap(b.entries) {
		b.entries = b.entries[:i+1]
	} else {
		b.entries = append(b.entries, entry[K, T]{})
	}
	e := &b.entries[i]
	e.key = key
	return e
}

// append puts d behind the deltas of e. What is left behind when they move must not pin
// objects: other entries may keep its chunk.
func (b *buffer[K, T]) append(e *entry[K, T], d Delta[T]) {
	b.deltas++
	before := e.deltas
	switch {
	case len(before) < cap(before):
		e.deltas = append(before, d)
	case len(before) == 0:
		e.deltas = append(b.cut(), d)
		b.room++
	default:
		e.deltas = append(before, d)
		b.room += cap(e.deltas) - len(before)
		clear(before)
	}
}

// prepend puts deltas before those of key, which were given back and are older. The key
// keeps its place, if it has one.
func (b *buffer[K, T]) prepend(key K, deltas []Delta[T]) {
	e := b.find(key)
	if e == nil {
		e = b.add(key)
	}
	newer := slices.Clone(e.deltas)
	for _, d := range deltas {
		b.append(e, d)
	}
	copy(e.deltas[copy(e.deltas, deltas):], newer)
	b.returned += len(deltas)
}

// cut returns room for one delta; nearly every key has no more in a batch.
func (b *buffer[K, T]) cut() []Delta[T] {
	if len(b.chunk) == 0 {
		b.chunk = make([]Delta[T], min(max(len(b.entries), minChunk), maxChunk))
	}
	one := b.chunk[:0:1]
	b.chunk = b.chunk[1:]
	return one
}

// reserve makes room for n keys more at once.
func (b *buffer[K, T]) reserve(n int) {
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

func (b *buffer[K, T]) moveTo(rv string) {
	if rv != "" {
		b.rv, b.moved = rv, true
	}
}

// reset empties the buffer, so that it pins no object and can be filled anew without
// allocating. It returns nil if the buffer has room for more than most deltas, or for
// far more than were in it lately: it would pin memory, as a Go map does not shrink.
func (b *buffer[K, T]) reset(most int) *buffer[K, T] {
	if b.room <= littleRoom || b.room <= 4*b.deltas {
		b.tooLarge = 0
	} else {
		b.tooLarge++
	}
	if b.room > most || b.tooLarge == patience {
		return nil
	}
	clear(b.at)
	for i := range b.entries {
		e := &b.entries[i]
		clear(e.deltas)
		*e = entry[K, T]{deltas: e.deltas[:0]}
	}
	*b = buffer[K, T]{
		entries: b.entries[:0], at: b.at, chunk: b.chunk,
		room: b.room, tooLarge: b.tooLarge,
	}
	return b
}
