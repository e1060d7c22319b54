package deltafifo

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/reflector"
)

// Lookup implements reflector.Recaller with the objects in the queue's known store. It returns nil
// unless that store is a [Comparer], and K is the type of objects' names.
func (s *Sink[K, T]) Lookup() func(reflector.Identity) (T, bool) { return s.fifo.recaller(nil) }

// recaller returns the function of reflector.Recaller for the objects that may be recalled; nil
// stands for all. may is called with the lock held. The function is nil if there are no objects.
func (f *DeltaFIFO[K, T]) recaller(may func(K) bool) func(reflector.Identity) (T, bool) {
	known, ok := f.known.(Comparer[K, T])
	keyOf, named := any(nameOf).(func(types.NamespacedName) K)
	if !ok || !named || known.Len() == 0 {
		return nil
	}
	return func(id reflector.Identity) (obj T, ok bool) {
		key, state := keyOf(id.NamespacedName), State{UID: id.UID, ResourceVersion: id.ResourceVersion}
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.pending.has(key) || f.inFlight.has(key) || may != nil && !may(key) {
			return obj, false
		}
		obj, sum, ok := known.GetSum(key)
		if !ok || sum == 0 || sum != id.Sum || f.inFlight != nil && f.meta.Version(obj) == "" || !known.Same(key, obj, state) {
			return *new(T), false
		}
		return obj, true
	}
}

// nameOf is the function that gives an object's key if that is its name.
func nameOf(name types.NamespacedName) types.NamespacedName { return name }

// Lookup implements reflector.Recaller with the objects that the member has.
func (m *Member[K, T]) Lookup() func(reflector.Identity) (T, bool) {
	return m.merge.queue().recaller(m.mayRecall)
}

// mayRecall reports whether the store has the newest object of key, and has it from this member. An
// object from another member says nothing about this one, whose source may refuse that state or
// make another T of it. Called with the queue's lock held.
func (m *Member[K, T]) mayRecall(key K) bool {
	m.merge.mu.Lock()
	defer m.merge.mu.Unlock()
	_, has := m.keys[key]
	if mine := has && m.merge.held[key].by == m.number; !mine || m.merge.initial == nil {
		return mine
	}
	m.merge.initial.settle()
	_, listed := m.merge.initial.number(key)
	return !listed
}
