package pipeline

import (
	"iter"
	"maps"
	"sync"

	"github.com/kinform/kinform/deltafifo"
)

// known stands in for the store of a process function without one. It holds the newest object
// of every key that the function returned nil for.
type known[K comparable, T any] struct {
	mu      sync.RWMutex
	objects map[K]T
}

// Get implements deltafifo.KnownObjects.
func (k *known[K, T]) Get(key K) (T, bool) {
	k.mu.RLock()
	defer k.mu.RUnlock()
	object, ok := k.objects[key]
	return object, ok
}

// Len implements deltafifo.KnownObjects.
func (k *known[K, T]) Len() int {
	k.mu.RLock()
	defer k.mu.RUnlock()
	return len(k.objects)
}

// All implements deltafifo.KnownObjects.
func (k *known[K, T]) All() iter.Seq2[K, T] {
	k.mu.RLock()
	defer k.mu.RUnlock()
	return maps.All(maps.Clone(k.objects))
}

// after returns process, extended to record in k each object that it processed.
func (k *known[K, T]) after(process func(K, []deltafifo.Delta[T]) error) func(K, []deltafifo.Delta[T]) error {
	return func(key K, deltas []deltafifo.Delta[T]) error {
		if err := process(key, deltas); err != nil {
			return err
		}
		k.mu.Lock()
		defer k.mu.Unlock()
		if last := deltas[len(deltas)-1]; last.Type == deltafifo.Deleted {
			delete(k.objects, key)
		} else {
			k.objects[key] = last.Object
		}
		return nil
	}
}
