package index

import (
	"maps"
	"slices"
)

// Funcs has index functions, by the names of their indexes. It is for programs that know their
// indexes only at run time, and takes the place of client-go's cache.Indexers:
//
//	indexes := index.Funcs[*corev1.Pod]{index.NamespaceIndex: index.NamespaceOf[*corev1.Pod]}
//	indexes["node"] = func(dst []string, pod *corev1.Pod) []string { return append(dst, pod.Spec.NodeName) }
//	pods, err := kinform.NewInformer(client, informer.Options[*corev1.Pod]{Indexes: indexes.Definitions()})
//	onNode, err := pods.Store().Indexer().ByIndex("node", "node-1")
//
// An [Index] is faster to read, and the compiler checks the type of its values.
type Funcs[T any] map[string]IndexFunc[T, string]

// Definitions returns an index for each function, in the order of the names. Each call returns new
// definitions: to a store they are other indexes, with the same names. The store to which they are
// added returns [ErrInvalid] for a nil function or an empty name, and [ErrDuplicate] if it has an
// index of that name.
func (f Funcs[T]) Definitions() []Definition[T] {
	defs := make([]Definition[T], 0, len(f))
	for _, name := range slices.Sorted(maps.Keys(f)) {
		defs = append(defs, New(name, f[name]))
	}
	return defs
}
