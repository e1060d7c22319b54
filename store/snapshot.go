package store

import (
	"iter"

	"github.com/kinform/kinform/internal/cowvec"
	"github.com/kinform/kinform/internal/slots"
)

// Snapshot is a frozen state of a store: it never changes, needs no lock, and may be used by
// many goroutines for any length of time. It keeps its objects alive. It costs nothing to take
// because it has no lookups by key or index; [Reader.Freeze] has them.
type Snapshot[K comparable, T any] struct {
	view slots.View[T]
	key  KeyFunc[K, T]
	rv   string
}

// Len returns the number of objects.
func (s *Snapshot[K, T]) Len() int { return s.view.Live() }

// ResourceVersion returns the store's resourceVersion at the time of the snapshot.
func (s *Snapshot[K, T]) ResourceVersion() string { return s.rv }

// List returns all objects, in no order, in a new slice.
func (s *Snapshot[K, T]) List() []T {
	return slots.AppendTo(make([]T, 0, s.view.Live()), &s.view)
}

// All iterates over all keys and objects, in no order, any number of times.
func (s *Snapshot[K, T]) All() iter.Seq2[K, T] {
	snap := *s // so that s need not be on the heap
	return func(yield func(K, T) bool) {
		p := pairs[K, T]{snap: snap}
		for nextPairs(&p) {
			for i, obj := range p.objs[:p.n] {
				if !yield(p.keys[i], obj) {
					return
				}
			}
		}
	}
}

// Keys is All without the objects.
func (s *Snapshot[K, T]) Keys() iter.Seq[K] {
	snap := *s
	return func(yield func(K) bool) {
		eachKey(&snap, yield)
	}
}

// eachKey calls yield for each key of s until it returns false. The objects are read before, so that a call
// per key is no wait for memory.
func eachKey[K comparable, T any](s *Snapshot[K, T], yield func(K) bool) {
	p := pairs[K, T]{snap: *s}
	for nextPairs(&p) {
		for _, key := range p.keys[:p.n] {
			if !yield(key) {
				return
			}
		}
	}
}

// Values is All without the keys.
func (s *Snapshot[K, T]) Values() iter.Seq[T] {
	view := s.view
	return func(yield func(T) bool) {
		var c cowvec.Cursor
		for run, ok := view.Next(&c); ok; run, ok = view.Next(&c) {
			for _, obj := range run.Elems {
				if !yield(obj) {
					return
				}
			}
		}
	}
}

// Chunks iterates over all objects, a slice of some of them at a time; see [Reader.Chunks].
func (s *Snapshot[K, T]) Chunks() iter.Seq[[]T] {
	view := s.view
	return func(yield func([]T) bool) { eachChunk(&view, yield) }
}

// eachChunk calls yield for each slice of objects until it returns false.
func eachChunk[T any](view *slots.View[T], yield func([]T) bool) {
	var c cowvec.Cursor
	for run, ok := view.Next(&c); ok; run, ok = view.Next(&c) {
		if !yield(run.Elems) {
			return
		}
	}
}

// Diff iterates, in no order, over the keys and objects of s that differ from other, an earlier
// or later snapshot of the same store: those that other does not have, and those for which it
// has another object. It may also yield an unchanged object that the store moved to another
// slot in between, or packed into other bytes: those with equal bytes are the same, and same is not called.
//
// Cost: one call of same for each object in a chunk of the store that was written in between,
// and one call of the key function for each object yielded.
//
//go:noinline
func (s *Snapshot[K, T]) Diff(other Snapshot[K, T], same func(a, b T) bool) iter.Seq2[K, T] {
	snap := *s
	return func(yield func(K, T) bool) {
		slots.Diff(&snap.view, &other.view, same, func(obj T) bool {
			key, err := snap.key(obj)
			return err != nil || yield(key, obj)
		})
	}
}
