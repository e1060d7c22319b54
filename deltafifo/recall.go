package deltafifo

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/internal/compare"
	"github.com/kinform/kinform/internal/objid"
)

// Lookup serves reflectors with the objects in the queue's known store. It returns nil
// unless that store is an informer's, and K is the type of objects' names.
func (s *Sink[K, T]) Lookup() func(objid.Identity) (T, bool) { return recaller(s.fifo) }

// recaller returns the function that Lookup returns, nil if there are no objects.
func recaller[K comparable, T any](f *core[K, T]) func(objid.Identity) (T, bool) {
	known := f.comparer
	keyOf, named := any(nameOf).(func(types.NamespacedName) K)
	if known == nil || !named || known.Len() == 0 {
		return nil
	}
	return func(id objid.Identity) (obj T, ok bool) {
		key := keyOf(id.NamespacedName)
		f.mu.Lock()
		defer f.mu.Unlock()
		if hasKey(f.pending, key) || hasKey(f.inFlight, key) {
			return obj, false
		}
		obj, sum, ok := known.GetSum(key)
		if !ok || sum == 0 || sum != id.Sum || f.inFlight != nil && f.meta.Version(obj) == "" || !known.Same(key, obj, compare.State{UID: id.UID, ResourceVersion: id.ResourceVersion}) {
			return *new(T), false
		}
		return obj, true
	}
}

// nameOf is the function that gives an object's key if that is its name.
func nameOf(name types.NamespacedName) types.NamespacedName { return name }
