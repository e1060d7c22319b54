package controller

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/internal/mistake"
	"github.com/kinform/kinform/kind"
)

// namespaceClients are the sources of a handle over several namespaces.
type namespaceClients[T metav1.Object] struct {
	set  *informer.Namespaces // set once
	like *client.Resource[T]  // set once: each source is like it

	mu     sync.Mutex
	byName map[string]*client.Resource[T] // by namespace
	past   client.Stats                   // of namespaces that are no members any more
}

// located is a source of objects in a namespace, or in all if it is empty.
type located[T metav1.Object] struct {
	resource  *client.Resource[T]
	namespace string
}

// newNamespaceClients returns the sources for a set of namespaces, each of which is like a client.
func newNamespaceClients[T metav1.Object](like *client.Resource[T], set *informer.Namespaces, opts client.Options) (*namespaceClients[T], error) {
	of := like.Kind()
	if opts.Namespace != "" {
		return nil, fmt.Errorf("controller: %s: %w: Client.Namespace is %q and Namespaces is set: leave one of them out", of, errOptions, opts.Namespace)
	}
	if of.Scope == kind.ClusterScoped {
		return nil, fmt.Errorf("controller: %s: %w: Namespaces is set, but the kind is cluster-scoped: leave it out", of, mistake.Scope)
	}
	return &namespaceClients[T]{set: set, like: like, byName: map[string]*client.Resource[T]{}}, nil
}

// joinNamespace returns the source of a new namespace.
func joinNamespace[T metav1.Object](m *namespaceClients[T], namespace string) (*client.Resource[T], error) {
	source, err := client.InNamespace(m.like, namespace)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	prune(m, namespace)
	m.byName[namespace] = source
	return source, nil
}

// prune drops the sources of namespaces that have left the set, and of one that is new in it.
// Called with mu held.
func prune[T metav1.Object](m *namespaceClients[T], renewed string) {
	for namespace, source := range m.byName {
		if namespace == renewed || !hasNamespace(m, namespace) {
			m.past = plus(m.past, source.Stats())
			delete(m.byName, namespace)
		}
	}
}

// hasNamespace reports whether the handle is for a namespace.
func hasNamespace[T metav1.Object](m *namespaceClients[T], namespace string) bool {
	return m.set.Has(namespace)
}

// clientsOf returns the sources of the namespaces in the set, in the order of their names. But the
// sources of first come before the others, and the sources of the namespaces in last come after them.
func clientsOf[T metav1.Object](m *namespaceClients[T], first string, last []string) (all []*client.Resource[T]) {
	m.mu.Lock()
	defer m.mu.Unlock()
	namespaces := slices.Collect(maps.Keys(m.byName))
	sortNamespaces(namespaces, first, last)
	for _, namespace := range namespaces {
		if hasNamespace(m, namespace) {
			all = append(all, m.byName[namespace])
		}
	}
	return all
}

// clientsWithin returns the sources of the namespaces in some, or of all if it is nil. It leaves out the
// namespaces in without.
func clientsWithin[T metav1.Object](m *namespaceClients[T], some, without []string) (all []located[T]) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for namespace, source := range m.byName {
		asked := some == nil || slices.ContainsFunc(some, func(name string) bool { return overlap(name, namespace) })
		if asked && hasNamespace(m, namespace) && !slices.Contains(without, namespace) {
			all = append(all, located[T]{source, namespace})
		}
	}
	return all
}

// sortNamespaces orders them by name, but first comes before the others, and those in last after
// them.
func sortNamespaces(all []string, first string, last []string) {
	slices.SortFunc(all, func(a, b string) int {
		return cmp.Or(later(slices.Contains(last, a), slices.Contains(last, b)), later(a != first, b != first), cmp.Compare(a, b))
	})
}

// later compares two flags: false comes before true.
func later(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// stats returns the numbers of all sources so far.
func (m *namespaceClients[T]) stats() client.Stats {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := m.past
	for _, source := range m.byName {
		all = plus(all, source.Stats())
	}
	return all
}

func plus(a, b client.Stats) client.Stats {
	return client.Stats{
		Bytes: a.Bytes + b.Bytes, Objects: a.Objects + b.Objects,
		ObjectErrors: a.ObjectErrors + b.ObjectErrors, Recalled: a.Recalled + b.Recalled, DecodeTime: a.DecodeTime + b.DecodeTime,
	}
}

// outsideError says that a key is in no namespace of the handle.
func outsideError[T metav1.Object](m *namespaceClients[T], resource string, key types.NamespacedName) error {
	const most = 5
	names := m.set.Names()
	list := strings.Join(names[:min(len(names), most)], ", ")
	switch {
	case len(names) == 0:
		list = "none"
	case len(names) > most:
		list += fmt.Sprintf(" and %d more", len(names)-most)
	}
	in := fmt.Sprintf("namespace %q", key.Namespace)
	if key.Namespace == "" {
		in = "no namespace"
	}
	return fmt.Errorf("controller: %s: %w: %s of object %q; the handle is for %s: %w; add the namespace to OpenOptions.Namespaces, or use a client.Resource",
		resource, ErrOutside, in, key.Name, list, client.ErrNotSent)
}
