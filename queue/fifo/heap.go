package fifo

import (
	"context"
	"iter"
	"slices"

	"github.com/kinform/kinform/internal/mapkey"
)

// node is one object of a heap.
type node[K comparable, T any] struct {
	key K
	obj T
	seq uint64 // orders objects that compare equal: the lower one is first
}

// Heap keeps the newest object of each key until a consumer takes it; the least object is taken
// first. See the package documentation.
type Heap[K comparable, T any] struct {
	// Set by NewHeap and never changed.
	compare func(a, b T) int

	gate  gate // guards what follows
	nodes []node[K, T]
	at    map[K]int // index in nodes of each key
	seq   uint64    // of the last key
}

// NewHeap returns an empty heap. compare orders objects as the functions of package cmp do: it
// returns a negative number if a comes before b, a positive number if b comes before a, and zero if
// the key that was added first comes first. It runs under the heap's lock, O(log n) times in an
// Add, Delete or Pop. It must not use the heap, and must always return the same result for the same
// objects: to change an object's place, add the object again. If compare panics, so does the
// method; no object is lost, but the order of the rest is undefined. Errors: [ErrNoCompare],
// [ErrKeyType].
func NewHeap[K comparable, T any](compare func(a, b T) int) (*Heap[K, T], error) {
	if compare == nil {
		return nil, ErrNoCompare
	}
	if err := mapkey.Check[K](); err != nil {
		return nil, err
	}
	return &Heap[K, T]{compare: compare, gate: newGate(), at: map[K]int{}}, nil
}

// Add adds obj to the heap, or replaces the older object of key.
// O(log n). Errors: [ErrClosed].
func (h *Heap[K, T]) Add(key K, obj T) error {
	_, err := h.add(key, obj, true)
	return err
}

// AddIfNotPresent adds obj to the heap and returns true, unless the heap has an object of key. A
// consumer that could not process an object can give it back with this method, because it never
// replaces a newer object. O(log n). Errors: [ErrClosed].
func (h *Heap[K, T]) AddIfNotPresent(key K, obj T) (added bool, err error) {
	return h.add(key, obj, false)
}

// AddAll is Add for many objects. No consumer can take one of them before all are added. O(n
// log n). Errors: [ErrClosed]; then nothing is added.
func (h *Heap[K, T]) AddAll(items []Item[K, T]) error {
	h.gate.Lock()
	defer h.gate.Unlock()
	if h.gate.closed {
		return ErrClosed
	}
	if len(items) > 0 {
		h.gate.signal() // now, since compare may panic
	}
	for i := range items {
		h.put(items[i].Key, items[i].Object)
	}
	return nil
}

func (h *Heap[K, T]) add(key K, obj T, replace bool) (added bool, err error) {
	h.gate.Lock()
	defer h.gate.Unlock()
	if h.gate.closed {
		return false, ErrClosed
	}
	if _, ok := h.at[key]; !ok {
		h.gate.signal() // now, since compare may panic
	} else if !replace {
		return false, nil
	}
	h.put(key, obj)
	return true, nil
}

// put adds or replaces an object. Called with the lock held.
func (h *Heap[K, T]) put(key K, obj T) {
	if i, ok := h.at[key]; ok {
		h.nodes[i].obj = obj
		h.fix(i, len(h.nodes))
		return
	}
	h.seq++
	i := len(h.nodes)
	h.nodes = append(h.nodes, node[K, T]{key: key, obj: obj, seq: h.seq})
	h.at[key] = i
	h.up(i)
}

// Delete removes the object of key, even from a closed heap, and returns it. had is false if there
// is none. O(log n).
func (h *Heap[K, T]) Delete(key K) (old T, had bool) {
	h.gate.Lock()
	defer h.gate.Unlock()
	i, ok := h.at[key]
	if !ok {
		return old, false
	}
	return h.remove(i).obj, true
}

// Pop waits for an object, and takes the least one. O(log n).
// Errors: [ErrClosed]; ctx's, if Pop would have to wait.
func (h *Heap[K, T]) Pop(ctx context.Context) (key K, obj T, err error) {
	h.gate.Lock()
	defer h.gate.Unlock()
	for len(h.nodes) == 0 {
		if h.gate.closed {
			return key, obj, ErrClosed
		}
		if err := h.gate.wait(ctx); err != nil {
			return key, obj, err
		}
	}
	if len(h.nodes) > 1 {
		h.gate.signal() // for the next one
	}
	least := h.remove(0)
	return least.key, least.obj, nil
}

// Get returns the object of key that is in the heap.
func (h *Heap[K, T]) Get(key K) (obj T, ok bool) {
	h.gate.Lock()
	defer h.gate.Unlock()
	i, ok := h.at[key]
	if !ok {
		return obj, false
	}
	return h.nodes[i].obj, true
}

// All iterates over all keys and objects, in no order, as they are when the loop begins, so the
// loop's body may use the heap. The sequence can be used again; each loop sees the state at its own
// beginning. Cost: a copy of the keys and references.
func (h *Heap[K, T]) All() iter.Seq2[K, T] {
	return func(yield func(K, T) bool) {
		for _, n := range h.copy() {
			if !yield(n.key, n.obj) {
				return
			}
		}
	}
}

func (h *Heap[K, T]) copy() []node[K, T] {
	h.gate.Lock()
	defer h.gate.Unlock()
	return slices.Clone(h.nodes)
}

// Len returns the number of objects.
func (h *Heap[K, T]) Len() int {
	h.gate.Lock()
	defer h.gate.Unlock()
	return len(h.nodes)
}

// Close makes Add, AddIfNotPresent and AddAll fail. Consumers get the objects in the heap first,
// then [ErrClosed]. Closing again does nothing.
func (h *Heap[K, T]) Close() { h.gate.shut() }
