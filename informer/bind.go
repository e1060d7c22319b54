package informer

import (
	"fmt"

	"github.com/kinform/kinform/index"
	"github.com/kinform/kinform/internal/logs"
	"github.com/kinform/kinform/internal/mistake"
)

// Index is an index of an informer's store. Make one with [AddIndex]. All methods are safe from any
// goroutine, and cost as much as the methods of the index.Index. The objects are shared: treat them
// as read-only. The zero Index belongs to no informer and finds nothing.
type Index[K comparable, T any, V comparable] struct {
	inf *Informer[K, T]
	of  *index.Index[T, V]
}

// AddIndex adds an index to an informer and returns it for reads:
//
//	podsOf := informer.AddIndex(pods, index.By("node", func(pod *corev1.Pod) string { return pod.Spec.NodeName }))
//	...
//	podsOf.Get("node-1")
//
// If the informer already has the index, for example because of Options.Indexes, AddIndex only
// returns it. Call it before Run if you can, because later it visits every object: see
// [Informer.AddIndexes].
//
// [Informer.Err] and Run return a mistake, with the name of the resource and of the index:
// index.ErrInvalid, or index.ErrDuplicate if the name is taken. If Run was called before,
// Options.OnError gets the error, too. If the informer is nil, nothing can keep an error. AddIndex
// then logs it to slog.Default() at level Warn and returns the zero Index.
func AddIndex[K comparable, T any, V comparable](to Informed[K, T], of *index.Index[T, V]) Index[K, T, V] {
	var inf *Informer[K, T]
	if to != nil {
		inf = to.AsInformer()
	}
	switch {
	case inf == nil:
		logs.New(nil, "informer", "").Error(fmt.Errorf("AddIndex: an index of %T: %w", *new(T), mistake.NoInformer))
		return Index[K, T, V]{}
	case of == nil:
		inf.engine.refuse(about(inf.Resource(), fmt.Errorf("AddIndex: %w: the index is nil: make it with index.New or index.By", mistake.Index)))
		return Index[K, T, V]{}
	}
	if err := inf.AddIndexes(of); err != nil && of.Check(inf.Store()) != nil {
		inf.engine.refuse(err)
	}
	return Index[K, T, V]{inf: inf, of: of}
}

// AsInformer returns the informer of the index, nil for the zero Index. With it an index is an [Informed].
func (x Index[K, T, V]) AsInformer() *Informer[K, T] { return x.inf }

// Get returns the objects that have value, in no order, in a new slice.
func (x Index[K, T, V]) Get(value V) []T {
	if x.inf == nil {
		return nil
	}
	objs := x.of.Get(x.inf.reader, value)
	if len(objs) == 0 {
		x.inf.unread.missed()
	}
	return objs
}

// Keys returns the keys of the objects that have value, in no order, in a new slice.
func (x Index[K, T, V]) Keys(value V) []K {
	objs := x.Get(value)
	if len(objs) == 0 {
		return nil
	}
	keys, keyOf := make([]K, 0, len(objs)), x.inf.typed.keyFunc()
	for _, obj := range objs {
		if key, err := keyOf(obj); err == nil {
			keys = append(keys, key)
		}
	}
	return keys
}

// Values appends the values of an object to dst. Pass it to controller.Watch if the values are keys: a change of an
// object then queues its values. It appends nothing if the index function panics.
func (x Index[K, T, V]) Values(dst []V, obj T) []V {
	if x.inf == nil {
		return dst
	}
	values, _ := x.of.ValuesOf(obj)
	return append(dst, values...)
}

// Count returns the number of objects that have value. O(1).
func (x Index[K, T, V]) Count(value V) int {
	if x.inf == nil {
		return 0
	}
	n := x.of.Count(x.inf.reader, value)
	if n == 0 {
		x.inf.unread.missed()
	}
	return n
}
