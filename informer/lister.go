package informer

import (
	"fmt"
	"iter"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/index"
	"github.com/kinform/kinform/internal/keytext"
)

// Lister reads an informer's store by namespace and label selector. Making one costs nothing. All methods are
// safe from any goroutine. The objects are shared: treat them as read-only.
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
	return *new(T), notFound(l, key)
}

func notFound[K comparable, T metav1.Object](l Lister[K, T], key K) error {
	name, ok := any(key).(types.NamespacedName)
	if !ok {
		name.Name = fmt.Sprint(key)
	}
	resource, _ := keytext.Resource(l.inf.Resource())
	return apierrors.NewNotFound(schema.ParseGroupResource(resource), name.Name)
}

// List returns the objects whose labels match selector, in no order, in a new slice. A nil selector
// matches everything. List uses the indexes of index.Namespace and index.Labels if the store has
// them: see index.Select. Without them it is O(store).
//
// If the store has 1,024 objects or more, the first list of one namespace adds an index of the
// namespaces, unless there is one: see index.AddNamespace. Nothing is committed meanwhile, and
// other lists do not wait. From then on a list of a namespace is O(result). A program that lists no
// namespace has no such index.
func (l Lister[K, T]) List(selector labels.Selector) []T {
	if l.namespace != "" && l.inf.engine.lacksNamespaces() {
		_, _ = index.AddNamespace(indexed[K, T]{l.inf}, namespaceOf[T]) // lists work without it
	}
	objs := index.Select(l.inf.Store(), l.namespace, selector)
	if len(objs) == 0 {
		l.inf.unread.missed()
	}
	return objs
}

func namespaceOf[T metav1.Object](obj T) (string, bool) { return obj.GetNamespace(), true }

// indexedFrom is the number of objects from which an index pays: to look at fewer takes some
// microseconds.
const indexedFrom = 1024

// lacksNamespaces reports, in one call, that a list of one namespace has to add an index of them. Lists
// in the meantime work without it.
func (i *core[K, T]) lacksNamespaces() bool {
	return !i.namespaced.Load() && i.store.Len() >= indexedFrom && !i.namespaced.Swap(true)
}

// indexed is an informer that takes an index.
type indexed[K comparable, T any] struct{ inf *Informer[K, T] }

func (x indexed[K, T]) Indexer() *index.Indexer[T] { return x.inf.reader.Indexer() }

func (x indexed[K, T]) AddIndexes(defs ...index.Definition[T]) error {
	return x.inf.AddIndexes(defs...)
}

// All iterates over the objects that List returns. Without a namespace and a selector it walks the
// store and allocates nothing.
func (l Lister[K, T]) All(selector labels.Selector) iter.Seq[T] {
	return func(yield func(T) bool) {
		if l.namespace == "" && (selector == nil || selector.Empty()) {
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

// List returns all objects, in no order, in a new slice. They are shared: treat them as read-only.
// O(store). For the objects of a namespace or selector, see [Lister].
func (i *Informer[K, T]) List() []T {
	n := i.reader.Len()
	if n == 0 {
		i.unread.missed()
	}
	return slices.AppendSeq(make([]T, 0, n), i.reader.Values())
}
