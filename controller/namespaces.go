package controller

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/kind"
	"github.com/kinform/kinform/reflector"
)

// members are the sources of a handle over several namespaces.
type members[T metav1.Object] struct {
	set  *informer.Namespaces // set once
	like *client.Resource[T]  // set once: each source is like it

	mu     sync.Mutex
	byName map[string]*client.Resource[T] // by namespace
	past   client.Stats                   // of namespaces that are no members any more
}

// newMembers returns the sources for a set of namespaces, each of which is like a client.
func newMembers[T metav1.Object](like *client.Resource[T], set *informer.Namespaces, opts client.Options) (*members[T], error) {
	of := like.Kind()
	if opts.Namespace != "" {
		return nil, fmt.Errorf("controller: %s: %w: Client.Namespace is %q and Namespaces is set: leave one of them out", of, ErrInvalid, opts.Namespace)
	}
	if of.Scope == kind.ClusterScoped {
		return nil, fmt.Errorf("controller: %s: %w: Namespaces is set, but the kind is cluster-scoped: leave it out", of, client.ErrScope)
	}
	return &members[T]{set: set, like: like, byName: map[string]*client.Resource[T]{}}, nil
}

// joinNamespace returns the source of a new namespace.
func joinNamespace[T metav1.Object](m *members[T], namespace string) (*client.Resource[T], error) {
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
func prune[T metav1.Object](m *members[T], renewed string) {
	for namespace, source := range m.byName {
		if namespace == renewed || !hasNamespace(m, namespace) {
			m.past = plus(m.past, source.Stats())
			delete(m.byName, namespace)
		}
	}
}

// hasNamespace reports whether the handle is for a namespace.
func hasNamespace[T metav1.Object](m *members[T], namespace string) bool {
	return m.set.Has(namespace)
}

// clientsOf returns the sources of the namespaces in the set, in the order of their names, except that
// those of first come before the others, and those of the namespaces in last after them.
func clientsOf[T metav1.Object](m *members[T], first string, last []string) (all []*client.Resource[T]) {
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

// clientsWithin returns the sources of the namespaces in some, or of all if it is nil, without those of the
// namespaces in without.
func clientsWithin[T metav1.Object](m *members[T], some, without []string) (all []located[T]) {
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
func (m *members[T]) stats() client.Stats {
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

// outside says that a key is in no namespace of the handle.
func outside[T metav1.Object](m *members[T], resource string, key types.NamespacedName) error {
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

// check returns why no request for a key is sent: the error of Open, or an [ErrOutside] if the handle is not for its
// namespace.
func (r *requests[T]) check(key types.NamespacedName) error {
	if r.invalid != nil {
		return r.invalid
	}
	if r.members == nil || hasNamespace(r.members, key.Namespace) {
		return nil
	}
	return outside(r.members, r.client.Resource(), key)
}

// checkObject is check for an object that is to be written. It returns an [ErrNoObject] for nil.
func checkObject[T metav1.Object](r *requests[T], obj T) error {
	switch {
	case r.invalid != nil:
		return r.invalid
	case isNil(obj):
		return noObject(r.resource(), obj)
	}
	return r.check(keyOf(obj))
}

// sourcesOf returns the sources of the handle's objects. Those of namespace come first. Those that
// fail come last, because a server that does not answer one of them would hold up the others.
func sourcesOf[T metav1.Object](r *requests[T], namespace string) []*client.Resource[T] {
	if r.members == nil {
		return []*client.Resource[T]{r.client}
	}
	return clientsOf(r.members, namespace, r.cache.stale())
}

// sourcesWithin returns the sources for some namespaces, nil for all of the handle. It leaves out those of
// the namespaces in without.
func sourcesWithin[T metav1.Object](r *requests[T], some, without []string) (all []located[T]) {
	if r.members == nil {
		return []located[T]{{r.client, r.namespace}}
	}
	return clientsWithin(r.members, some, without)
}

// versionNow returns a resourceVersion that is not older than any change so far in a namespace or, if it
// is empty, in all. Versions compare across namespaces, so if one cannot answer soon, another one
// can. It is empty if the handle is for none.
func versionNow[T metav1.Object](ctx context.Context, r *requests[T], namespace string) (rv string, err error) {
	all := sourcesOf(r, namespace)
	for n, source := range all {
		last := n == len(all)-1
		if rv, err = nowOf(ctx, source, last); err == nil {
			return rv, nil
		}
	}
	return "", err
}

// askAfter is how long one source may take to tell the version if another one can.
const askAfter = 2 * time.Second

// nowOf returns the version of a list of one object. It does not wait long unless the source is the
// last one to be asked.
func nowOf[T metav1.Object](ctx context.Context, source *client.Resource[T], last bool) (string, error) {
	if !last {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, askAfter)
		defer cancel()
	}
	meta, err := source.List(ctx, metav1.ListOptions{Limit: 1}, func(reflector.Event[T], error) bool { return true })
	return meta.ResourceVersion, err
}

// deleteCollection deletes what each source of the handle selects.
func deleteCollection[T metav1.Object](ctx context.Context, r *requests[T], opts metav1.DeleteOptions, list metav1.ListOptions) error {
	var failed []error
	for _, source := range sourcesOf(r, "") {
		failed = append(failed, source.DeleteCollection(ctx, opts, list))
	}
	if len(failed) == 1 {
		return failed[0] // as it is
	}
	return errors.Join(failed...)
}

// Covers reports whether the cache has all objects of a namespace that the handle selects. If so,
// an object that the cache lacks did not exist at the version that the watch has reached. It is
// false for a namespace that is not in OpenOptions.Namespaces, that is refused, that has failed for
// 10 seconds, that is behind the others since, or whose first list has not come: see
// informer.Coverage.
//
// Reconciles of keys in such a namespace wait for its first list: see the package documentation. If
// a reconcile reads a namespace other than that of its key, it has to call Covers. O(1).
//
//go:noinline
func (h *Projected[T, P]) Covers(namespace string) bool {
	return h.engine.covers(namespace)
}

func (r *requests[T]) covers(namespace string) bool {
	if r.members == nil {
		return r.cache.version() != "" && (r.namespace == "" || r.namespace == namespace)
	}
	return r.cache.covers(namespace)
}

func (r *requests[T]) awaits(namespace string) bool {
	if r.cache.listing(namespace) {
		return true
	}
	blind := r.debt.stillBlind(func(name string) bool { return !hasNamespace(r.members, name) || r.cache.covers(name) })
	return slices.ContainsFunc(blind, func(name string) bool { return overlap(name, namespace) && r.cache.waits(name) })
}
