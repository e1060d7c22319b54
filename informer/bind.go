package informer

import (
	"errors"
	"fmt"

	"github.com/kinform/kinform/index"
)

// Index is an index of an informer's store. Make one with [Bind]. All methods are safe from any
// goroutine, and cost what those of the index.Index do. The objects are shared: treat them as
// read-only.
type Index[K comparable, T any, V comparable] struct {
	inf *Informer[K, T]
	of  *index.Index[T, V]
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
		return Index[K, T, V]{}, about(inf.Resource(), errors.New("the index is nil"))
	}
	if err := of.Check(inf.Store()); err != nil {
		return Index[K, T, V]{}, about(inf.Resource(), err)
	}
	return Index[K, T, V]{inf: inf, of: of}, nil
}

// Get returns the objects that have value, in no order, in a new slice.
func (x Index[K, T, V]) Get(value V) []T { return x.of.Get(x.inf.reader, value) }

// Keys returns the keys of the objects that have value, in no order, in a new slice.
func (x Index[K, T, V]) Keys(value V) []K {
	objs, keyOf := x.Get(value), x.inf.typed.keyFunc()
	keys := make([]K, 0, len(objs))
	for _, obj := range objs {
		if key, err := keyOf(obj); err == nil {
			keys = append(keys, key)
		}
	}
	return keys
}

// Count returns the number of objects that have value. O(1).
func (x Index[K, T, V]) Count(value V) int { return x.of.Count(x.inf.reader, value) }
