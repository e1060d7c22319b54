package store

import (
	"iter"

	"github.com/kinform/kinform/internal/cowvec"
)

// Snapshot is a frozen state of a store: it never changes, needs no lock, and may be
// used by many goroutines for any time. It keeps its objects alive. It has no lookups by
// key or index, which is what makes it free to take: [Reader.Freeze] has.
type Snapshot[K comparable, T any] struct {
	view cowvec.View[T]
	key  KeyFunc[K, T]
	rv   string
}

// Len returns the number of objects.
func (s Snapshot[K, T]) Len() int { return s.view.Live() }

// ResourceVersion returns the store's resourceVersion at the time of the snapshot.
func (s Snapshot[K, T]) ResourceVersion() string { return s.rv }

// List returns all objects, in no order, in a slice of the caller's own.
func (s Snapshot[K, T]) List() []T {
	return s.view.AppendTo(make([]T, 0, s.view.Live()))
}

// All iterates over all keys and objects, in no order, any number of times.
func (s Snapshot[K, T]) All() iter.Seq2[K, T] {
	return func(yield func(K, T) bool) { s.each(yield) }
}

// Keys is All without the objects.
func (s Snapshot[K, T]) Keys() iter.Seq[K] {
	return func(yield func(K) bool) { s.eachKey(yield) }
}

// Values is All without the keys.
func (s Snapshot[K, T]) Values() iter.Seq[T] {
	return func(yield func(T) bool) { s.eachValue(yield) }
}

// Chunks iterates over all objects in stretches; see [Reader.Chunks].
func (s Snapshot[K, T]) Chunks() iter.Seq[[]T] {
	return func(yield func([]T) bool) { s.eachChunk(yield) }
}

// Difference iterates, in no order, over the keys and objects that are not, or not as the same
// object, in the same place of other, a snapshot of the same store. What is in s alone, or
// changed in between, is among them; so is now and then an object that the store moved to
// another place. Cost: a call of same for each object in a part of the store that was
// written in between, and one of the key function for each that is yielded.
func (s Snapshot[K, T]) Difference(other Snapshot[K, T], same func(a, b T) bool) iter.Seq2[K, T] {
	return func(yield func(K, T) bool) {
		for obj := range s.view.Difference(other.view, same) {
			if key, err := s.key(obj); err == nil && !yield(key, obj) {
				return
			}
		}
	}
}

// keyBatch is how many keys are taken before any is handed out: the key function reads
// every object from memory, and a batch lets the processor wait for many at a time.
const keyBatch = 16

func (s *Snapshot[K, T]) each(yield func(K, T) bool) {
	var keys [keyBatch]K
	var bad [keyBatch]bool
	var c cowvec.Cursor
	for run, ok := s.view.Next(&c); ok; run, ok = s.view.Next(&c) {
		for objs := run.Elems; len(objs) > 0; {
			n := min(len(objs), keyBatch)
			for i, obj := range objs[:n] {
				key, err := s.key(obj)
				keys[i], bad[i] = key, err != nil
			}
			for i, obj := range objs[:n] {
				if !bad[i] && !yield(keys[i], obj) {
					return
				}
			}
			objs = objs[n:]
		}
	}
}

func (s *Snapshot[K, T]) eachKey(yield func(K) bool) {
	s.each(func(key K, _ T) bool { return yield(key) })
}

func (s *Snapshot[K, T]) eachValue(yield func(T) bool) {
	var c cowvec.Cursor
	for run, ok := s.view.Next(&c); ok; run, ok = s.view.Next(&c) {
		for _, obj := range run.Elems {
			if !yield(obj) {
				return
			}
		}
	}
}

func (s *Snapshot[K, T]) eachChunk(yield func([]T) bool) {
	var c cowvec.Cursor
	for run, ok := s.view.Next(&c); ok; run, ok = s.view.Next(&c) {
		if !yield(run.Elems) {
			return
		}
	}
}
