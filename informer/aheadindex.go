package informer

import (
	"maps"
	"slices"

	"github.com/kinform/kinform/index"
)

// aheadIndex finds the recorded writes by the values of one index, so that a read does not call the
// index function for each of them.
type aheadIndex[K comparable, T any] interface {
	// values returns the values of obj, for the other two. It calls the index function, so no lock
	// is held.
	values(obj T) any
	// add and remove note that key has values, or has them no more. Called with the lock of written
	// held.
	add(key K, values any)
	remove(key K, values any)
}

// aheadBy is the aheadIndex of an index.
type aheadBy[K comparable, T any, V comparable] struct {
	of   *index.Index[T, V]
	keys map[V]map[K]struct{} // guarded by the lock of written
}

func (x *aheadBy[K, T, V]) values(obj T) any {
	values, err := x.of.ValuesOf(obj)
	if err != nil {
		return []V(nil) // the store's index has no values for it either
	}
	return slices.Clone(values) // which may be a part of obj
}

func (x *aheadBy[K, T, V]) add(key K, values any) {
	for _, v := range values.([]V) {
		if x.keys[v] == nil {
			x.keys[v] = map[K]struct{}{}
		}
		x.keys[v][key] = struct{}{}
	}
}

func (x *aheadBy[K, T, V]) remove(key K, values any) {
	for _, v := range values.([]V) {
		if delete(x.keys[v], key); len(x.keys[v]) == 0 {
			delete(x.keys, v)
		}
	}
}

// aheadOf returns the aheadBy of an index, which it makes if there is none yet.
func aheadOf[K comparable, T any, V comparable](w *written[K, T], of *index.Index[T, V]) *aheadBy[K, T, V] {
	if known := lookup(w.known(), of); known != nil {
		return known
	}
	by := &aheadBy[K, T, V]{of: of, keys: map[V]map[K]struct{}{}}
	for {
		changed, ahead := w.now()
		values := make(map[K]any, len(ahead))
		for key, a := range ahead {
			if !a.deleted {
				values[key] = by.values(a.obj)
			}
		}
		if by := join(w, by, values, changed); by != nil {
			return by
		}
		// Writes came or went meanwhile.
	}
}

// lookup returns the one for an index, nil if there is none.
func lookup[K comparable, T any, V comparable](indexes []aheadIndex[K, T], of *index.Index[T, V]) *aheadBy[K, T, V] {
	for _, x := range indexes {
		if known, ok := x.(*aheadBy[K, T, V]); ok && known.of == of {
			return known
		}
	}
	return nil
}

// join adds an index, with the values of all writes, and returns it, or the one that is there for
// the same index. It returns nil unless changed is still the number of changes of the writes.
func join[K comparable, T any, V comparable](w *written[K, T], by *aheadBy[K, T, V], values map[K]any, changed uint64) *aheadBy[K, T, V] {
	w.mu.Lock()
	defer w.mu.Unlock()
	if known := lookup(w.indexes, by.of); known != nil {
		return known
	}
	if w.changed != changed {
		return nil
	}
	w.indexes = append(w.indexes, by)
	for key, values := range values {
		a := w.ahead[key]
		a.values = append(slices.Clip(a.values), values)
		w.ahead[key] = a
		by.add(key, values)
	}
	return by
}

// now returns the writes that are ahead, and the number of writes that came or went so far.
func (w *written[K, T]) now() (changed uint64, copied map[K]ahead[T]) {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return w.changed, maps.Clone(w.ahead)
}

// known returns the indexes so far. No element of the result changes.
func (w *written[K, T]) known() []aheadIndex[K, T] {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return w.indexes
}

// evaluate returns the values of a write, one element for each index. A deletion has none.
func evaluate[K comparable, T any](a ahead[T], indexes []aheadIndex[K, T]) (values []any) {
	if a.deleted {
		return nil
	}
	for _, x := range indexes {
		values = append(values, x.values(a.obj))
	}
	return values
}

// put makes a the write of key. Called with w.mu held.
func (w *written[K, T]) put(key K, a ahead[T]) {
	w.unindex(key)
	w.changed++
	w.ahead[key] = a
	if w.oldest == "" || older(a.rv, w.oldest) {
		w.oldest = a.rv
	}
	for n, values := range a.values {
		w.indexes[n].add(key, values)
	}
}

// unindex removes the write of key from the indexes. Called with w.mu held.
func (w *written[K, T]) unindex(key K) {
	for n, values := range w.ahead[key].values {
		w.indexes[n].remove(key, values)
	}
}
