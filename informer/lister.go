package informer

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/index"
)

// Lister reads an informer's cache by namespace and label selector. It includes the writes of
// this process that [Informer.RecordWrite] recorded. It is a value that costs nothing to make.
// All methods are safe from any goroutine. The objects are shared: treat them as read-only.
type Lister[K comparable, T metav1.Object] struct {
	inf       *Informer[K, T]
	namespace string // empty for all namespaces
}

// NewLister returns a lister of all objects of inf.
func NewLister[K comparable, T metav1.Object](inf Informed[K, T]) Lister[K, T] {
	return Lister[K, T]{inf: inf.AsInformer()}
}

// In returns a lister of one namespace, or of all namespaces if namespace is empty.
func (l Lister[K, T]) In(namespace string) Lister[K, T] {
	l.namespace = namespace
	return l
}

// Get returns the object under key. If there is none in the lister's namespace, it returns
// a *errors.StatusError of k8s.io/apimachinery/pkg/api/errors, for which IsNotFound holds.
// Cost: see [Informer.Get].
func (l Lister[K, T]) Get(key K) (T, error) {
	obj, ok := l.inf.Get(key)
	if ok && (l.namespace == "" || l.namespace == obj.GetNamespace()) {
		return obj, nil
	}
	return *new(T), l.notFound(key)
}

func (l Lister[K, T]) notFound(key K) error {
	name, ok := any(key).(types.NamespacedName)
	if !ok {
		name.Name = fmt.Sprint(key)
	}
	resource, _, _ := strings.Cut(l.inf.Resource(), " ") // "pods in namespace prod"
	return apierrors.NewNotFound(schema.ParseGroupResource(resource), name.Name)
}

// List returns the objects whose labels match selector, in no order, in a new slice. A nil
// selector matches everything. List uses the indexes of index.Namespace and index.Labels if
// the store has them, see index.Select. Without them it is O(store).
//
// The first list of one namespace while the store has 1,024 objects or more adds an index of the
// namespaces, unless there is one: see index.AddNamespace. Nothing is committed meanwhile, and other
// lists do not wait. So a list of a namespace is O(result), and a program that lists none has no
// such index.
func (l Lister[K, T]) List(selector labels.Selector) []T {
	l.indexNamespaces()
	return l.inf.overlaid(
		func() []T { return index.Select(l.inf.Store(), l.namespace, selector) },
		func(obj T) bool {
			return (l.namespace == "" || l.namespace == obj.GetNamespace()) &&
				(selector == nil || selector.Matches(labels.Set(obj.GetLabels())))
		})
}

// indexedFrom is the number of objects from which an index pays: to look at fewer takes some
// microseconds.
const indexedFrom = 1024

// indexNamespaces adds an index of the namespaces for a list of one. Only one call does, and lists
// in the meantime work without it.
func (l Lister[K, T]) indexNamespaces() {
	i := l.inf
	if l.namespace == "" || i.namespaced.Load() || i.store.Len() < indexedFrom || i.namespaced.Swap(true) {
		return
	}
	_, _ = index.AddNamespace(i.store) // lists work without it
}

// All iterates over the objects that List returns. Without a namespace, a selector and writes
// ahead of the store it walks the store and allocates nothing.
func (l Lister[K, T]) All(selector labels.Selector) iter.Seq[T] {
	return func(yield func(T) bool) {
		if l.namespace == "" && (selector == nil || selector.Empty()) && l.inf.written.count.Load() == 0 {
			l.inf.Store().Values()(yield)
			return
		}
		for _, obj := range l.List(selector) {
			if !yield(obj) {
				return
			}
		}
	}
}

// List returns all objects, in no order, in a new slice. It includes the writes that
// [Informer.RecordWrite] recorded, for objects without metadata too. They are shared: treat them as
// read-only. O(store). See [Lister] for those of a namespace or selector.
func (i *Informer[K, T]) List() []T {
	all := func() []T { return slices.AppendSeq(make([]T, 0, i.store.Len()), i.store.Values()) }
	return i.overlaid(all, func(T) bool { return true })
}

// overlaid returns the objects that read returns from the store, with those replaced that have a
// write ahead of the store. match reports whether read would return a written object.
func (i *Informer[K, T]) overlaid(read func() []T, match func(T) bool) []T {
	w := &i.written
	for {
		taken, ahead := w.copyOf()
		objs := read()
		if ahead == nil {
			return objs // writes removed earlier are in the store
		}
		if w.takenStill(taken) {
			return i.overlay(objs, ahead, match)
		}
		// The store has caught up with some writes, perhaps after read: read again.
	}
}

func (i *Informer[K, T]) overlay(objs []T, ahead map[K]ahead[T], match func(T) bool) []T {
	kept := objs[:0]
	for _, obj := range objs {
		key, err := i.key(obj)
		if _, ok := ahead[key]; err != nil || !ok {
			kept = append(kept, obj)
		}
	}
	clear(objs[len(kept):])
	for _, a := range ahead {
		if !a.deleted && match(a.obj) {
			kept = append(kept, a.obj)
		}
	}
	return kept
}

// copyOf returns the writes that are ahead of the store, nil if there are none, and the number
// of writes removed so far.
func (w *written[K, T]) copyOf() (taken uint64, copied map[K]ahead[T]) {
	if w.count.Load() == 0 {
		return 0, nil
	}
	w.mu.RLock()
	defer w.mu.RUnlock()
	return w.taken, maps.Clone(w.ahead)
}

// takenSoFar returns the number of writes removed so far, and whether some are ahead of the store.
func (w *written[K, T]) takenSoFar() (taken uint64, some bool) {
	if w.count.Load() == 0 {
		return 0, false
	}
	w.mu.RLock()
	defer w.mu.RUnlock()
	return w.taken, len(w.ahead) > 0
}

// takenStill reports whether no write was removed since.
func (w *written[K, T]) takenStill(taken uint64) bool {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return w.taken == taken
}
