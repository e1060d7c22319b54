package informer

import (
	"errors"
	"fmt"

	"github.com/kinform/kinform/index"
)

// Index is an index of an informer's cache. Unlike reads of the store, its reads include the
// writes of this process that [Informer.RecordWrite] and its like recorded. Make one with
// [Bind]. All methods are safe from any goroutine. The objects are shared: treat them as
// read-only.
//
// While no write is ahead of the watch, a read costs the same as that of the index.Index.
// Otherwise it also takes O(objects found), since the values of a write are remembered when it is
// recorded. If the index function panics for such a write, the write has no values.
type Index[K comparable, T any, V comparable] struct {
	inf   *Informer[K, T]
	of    *index.Index[T, V]
	ahead *aheadBy[K, T, V]
}

// Bind binds an index to the informer that holds it:
//
//	podsOf, err := informer.Bind(pods, byNode)
//	...
//	podsOf.Get("node-1")
//
// It returns index.ErrUnknownIndex, with the name of the resource and of the index, if the
// informer does not have this *index.Index, and [ErrNoInformer].
func Bind[K comparable, T any, V comparable](from Informed[K, T], of *index.Index[T, V]) (Index[K, T, V], error) {
	var inf *Informer[K, T]
	if from != nil {
		inf = from.AsInformer()
	}
	switch {
	case inf == nil && of == nil:
		return Index[K, T, V]{}, fmt.Errorf("an index of %T: %w", *new(T), ErrNoInformer)
	case inf == nil:
		return Index[K, T, V]{}, fmt.Errorf("index %q of %T: %w", of.Name(), *new(T), ErrNoInformer)
	case of == nil:
		return Index[K, T, V]{}, inf.about(errors.New("the index is nil"))
	}
	if err := of.Check(inf.Store()); err != nil {
		return Index[K, T, V]{}, inf.about(err)
	}
	return Index[K, T, V]{inf: inf, of: of, ahead: aheadOf(&inf.written, of)}, nil
}

// Get returns the objects that have value, in no order, in a new slice.
func (x Index[K, T, V]) Get(value V) []T {
	w := &x.inf.written
	for {
		taken, some := w.takenSoFar()
		objs := x.of.Get(x.inf.store, value)
		if !some {
			return objs // writes removed earlier are in the store
		}
		if objs, ok := x.overlay(objs, value, taken); ok {
			return objs
		}
		// The store has caught up with some writes, perhaps after the read: read again.
	}
}

// overlay replaces those objects that the store found for value and that have a write ahead of the
// store. It reports false unless taken is still the number of writes removed.
func (x Index[K, T, V]) overlay(objs []T, value V, taken uint64) ([]T, bool) {
	keys := make([]K, len(objs)) // first, since the key function is the user's
	known := make([]bool, len(objs))
	for n, obj := range objs {
		key, err := x.inf.key(obj)
		keys[n], known[n] = key, err == nil
	}
	w := &x.inf.written
	w.mu.RLock()
	defer w.mu.RUnlock()
	if w.taken != taken {
		return nil, false
	}
	kept := objs[:0]
	for n, obj := range objs {
		if _, ahead := w.ahead[keys[n]]; !known[n] || !ahead {
			kept = append(kept, obj)
		}
	}
	clear(objs[len(kept):])
	for key := range x.ahead.keys[value] {
		kept = append(kept, w.ahead[key].obj)
	}
	return kept, true
}

// Keys returns the keys of the objects that have value, in no order, in a new slice.
func (x Index[K, T, V]) Keys(value V) []K {
	objs := x.Get(value)
	keys := make([]K, 0, len(objs))
	for _, obj := range objs {
		if key, err := x.inf.key(obj); err == nil {
			keys = append(keys, key)
		}
	}
	return keys
}

// Count returns the number of objects that have value. It is O(1) while no write is ahead of
// the watch.
func (x Index[K, T, V]) Count(value V) int {
	if x.inf.written.count.Load() == 0 {
		return x.of.Count(x.inf.store, value)
	}
	return len(x.Get(value))
}
