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
	seq uint64 // of objects that compare equal, the lower one is first
}

// Heap keeps the newest object of each key until a consumer takes it, the least one
// first. See the package documentation.
type Heap[K comparable, T any] struct {
	// Set by NewHeap and never changed.
	compare func(a, b T) int

	door  door // guards what follows
	nodes []node[K, T]
	at    map[K]int // where in nodes a key is
	seq   uint64    // of the last key
}

// NewHeap returns an empty heap. compare orders objects as the functions of package cmp
// do: it returns a negative number if a comes before b, zero if the key that was added
// first does, and a positive one otherwise. It runs under the heap's lock, O(log n) times
// in an Add, Delete or Pop, and must neither use the heap nor change its mind: an object
// whose place changes must be added again. If it panics, so does the method, with no
// object lost and the order of the rest undefined.
// Errors: [ErrNoCompare], [ErrKeyType].
func NewHeap[K comparable, T any](compare func(a, b T) int) (*Heap[K, T], error) {
	if compare == nil {
		return nil, ErrNoCompare
	}
	if err := mapkey.Check[K](); err != nil {
		return nil, err
	}
	return &Heap[K, T]{compare: compare, door: newDoor(), at: map[K]int{}}, nil
}

// Add puts obj into the heap, instead of an older object of key if there is one.
// O(log n). Errors: [ErrClosed].
func (h *Heap[K, T]) Add(key K, obj T) error {
	_, err := h.add(key, obj, true)
	return err
}

// AddIfNotPresent puts obj into the heap unless that has an object of key, and reports
// whether it did: a consumer that could not process an object gives it back so, without
// undoing what came meanwhile. O(log n). Errors: [ErrClosed].
func (h *Heap[K, T]) AddIfNotPresent(key K, obj T) (added bool, err error) {
	return h.add(key, obj, false)
}

// AddAll is Add for many objects of which no consumer may see the first before the last
// is in. O(n log n). Errors: [ErrClosed]; then nothing is added.
func (h *Heap[K, T]) AddAll(items []Item[K, T]) error {
	h.door.Lock()
	defer h.door.Unlock()
	if h.door.closed {
		return ErrClosed
	}
	if len(items) > 0 {
		h.door.signal() // now, since compare may panic
	}
	for i := range items {
		h.put(items[i].Key, items[i].Object)
	}
	return nil
}

func (h *Heap[K, T]) add(key K, obj T, replace bool) (added bool, err error) {
	h.door.Lock()
	defer h.door.Unlock()
	if h.door.closed {
		return false, ErrClosed
	}
	if _, ok := h.at[key]; !ok {
		h.door.signal() // now, since compare may panic
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

// Delete takes the object of key out of the heap, also out of a closed one, and returns
// it; had is false if there is none. O(log n).
func (h *Heap[K, T]) Delete(key K) (old T, had bool) {
	h.door.Lock()
	defer h.door.Unlock()
	i, ok := h.at[key]
	if !ok {
		return old, false
	}
	return h.remove(i).obj, true
}

// Pop waits until there is an object and takes the least one. O(log n).
// Errors: [ErrClosed] or, if it would have to wait, ctx's.
func (h *Heap[K, T]) Pop(ctx context.Context) (key K, obj T, err error) {
	h.door.Lock()
	defer h.door.Unlock()
	for len(h.nodes) == 0 {
		if h.door.closed {
			return key, obj, ErrClosed
		}
		if err := h.door.wait(ctx); err != nil {
			return key, obj, err
		}
	}
	if len(h.nodes) > 1 {
		h.door.signal() // for the next one
	}
	least := h.remove(0)
	return least.key, least.obj, nil
}

// Get returns the object of key that is in the heap.
func (h *Heap[K, T]) Get(key K) (obj T, ok bool) {
	h.door.Lock()
	defer h.door.Unlock()
	i, ok := h.at[key]
	if !ok {
		return obj, false
	}
	return h.nodes[i].obj, true
}

// All iterates over all keys and objects, in no order, as they are when the loop begins:
// its body may use the heap. It can be used again and then shows the state of then.
// Cost: a copy of what is in the heap.
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
	h.door.Lock()
	defer h.door.Unlock()
	return slices.Clone(h.nodes)
}

// Len returns the number of objects.
func (h *Heap[K, T]) Len() int {
	h.door.Lock()
	defer h.door.Unlock()
	return len(h.nodes)
}

// Close lets no more in. Consumers get what is in the heap first, then [ErrClosed].
// Closing again does nothing.
func (h *Heap[K, T]) Close() { h.door.shut() }
