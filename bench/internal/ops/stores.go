package ops

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/kinform/kinform/bench/internal/pods"
	"github.com/kinform/kinform/index"
	"github.com/kinform/kinform/store"
)

// key is the type of the keys of both sides, though client-go makes a string from it.
type key = types.NamespacedName

// The indexes of the kinform side. client-go's have the same names.
var (
	byNode = index.New("node", func(dst []string, p *corev1.Pod) []string { return append(dst, p.Spec.NodeName) })
	byNS   = index.Namespace[*corev1.Pod]()
	byApp  = index.Labels[*corev1.Pod]("app", pods.AppLabel)
)

// definitions returns the first n of the indexes.
func definitions(n int) []index.Definition[*corev1.Pod] {
	return []index.Definition[*corev1.Pod]{byNode, byNS, byApp}[:n]
}

// indexers returns the first n of the indexes in client-go's form.
func indexers(n int) cache.Indexers {
	all := []struct {
		name string
		f    cache.IndexFunc
	}{
		{"node", func(obj any) ([]string, error) { return []string{obj.(*corev1.Pod).Spec.NodeName}, nil }},
		{cache.NamespaceIndex, cache.MetaNamespaceIndexFunc},
		{"app", func(obj any) ([]string, error) { return []string{obj.(*corev1.Pod).Labels[pods.AppLabel]}, nil }},
	}
	out := cache.Indexers{}
	for _, x := range all[:n] {
		out[x.name] = x.f
	}
	return out
}

// newStore returns a kinform store with n indexes that holds all. Like client-go's, it does
// not compare versions.
func newStore(n int, all []*corev1.Pod) (*store.Store[key, *corev1.Pod], error) {
	s, err := store.New(store.ObjectKey, store.Options[*corev1.Pod]{Indexes: definitions(n)})
	if err != nil {
		return nil, err
	}
	return s, writeList(s, all)
}

// listPart is the number of objects that an informer writes at a time of a large batch.
const listPart = 256

// writeList writes all into s in one commit, as an informer writes a list.
func writeList[T metav1.Object](s *store.Store[key, T], all []T) error {
	ops := make([]store.Op[key, T], 0, listPart)
	return s.CommitChunks("1", len(all), func(yield func([]store.Op[key, T]) bool) {
		for part := range slices.Chunk(all, listPart) {
			ops = ops[:0]
			for _, obj := range part {
				ops = append(ops, store.Op[key, T]{Key: key{Namespace: obj.GetNamespace(), Name: obj.GetName()}, Object: obj})
			}
			if !yield(ops) {
				return
			}
		}
	})
}

// newIndexer returns a client-go store, of the kind used by informers, with n indexes that
// holds all.
func newIndexer(n int, all []*corev1.Pod) (cache.Indexer, error) {
	ix := cache.NewIndexer(cache.DeletionHandlingMetaNamespaceKeyFunc, indexers(n))
	return ix, ix.Replace(untyped(all), "1")
}

// both returns the two stores with n indexes, full of the world's pods.
func both(w *World, n int) (*store.Store[key, *corev1.Pod], cache.Indexer, error) {
	s, err := newStore(n, w.Fleet.Pods())
	if err != nil {
		return nil, nil, err
	}
	ix, err := newIndexer(n, w.Fleet.Pods())
	return s, ix, err
}

// received returns all as if fresh from a decoder: equal objects that share no memory with
// each other or with the store's objects.
func received(all []*corev1.Pod) ([]*corev1.Pod, error) {
	out := make([]*corev1.Pod, len(all))
	for i, p := range all {
		bytes, err := p.Marshal()
		if err != nil {
			return nil, err
		}
		out[i] = &corev1.Pod{}
		if err := out[i].Unmarshal(bytes); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// untyped returns all in the form of client-go's arguments.
func untyped(all []*corev1.Pod) []any {
	out := make([]any, len(all))
	for i, p := range all {
		out[i] = p
	}
	return out
}

// found returns an error unless got is want.
func found(got, want int) error {
	if got != want {
		return fmt.Errorf("found %d objects, want %d", got, want)
	}
	return nil
}

// podLister returns ix in the form that most programs use. They have the lister in a field,
// where the compiler cannot see the type in the interface; it must not see it here either.
//
//go:noinline
func podLister(ix cache.Indexer) corelisters.PodLister { return corelisters.NewPodLister(ix) }
