package fifo

import (
	"context"

	"github.com/kinform/kinform/internal/mapkey"
)

// Item is an object with its key.
type Item[K comparable, T any] struct {
	Key    K
	Object T

	// Initial is set by [FIFO.Pop] and [FIFO.Process] for an item of the initial list. All other
	// methods ignore it.
	Initial bool
}

// FIFO keeps the newest object of each key until a consumer takes it, in the order in
// which the keys arrived. The consumer does not see deleted objects. See the package documentation.
type FIFO[K comparable, T any] struct {
	synced chan struct{} // set by New; closed, under the lock, after the initial list

	gate     gate // guards what follows
	line     line[K, T]
	unsynced int  // items of the initial list that are in the line or being processed
	popped   bool // the item of the last Pop is one of these
	listed   bool // there was a list
	done     bool // synced is closed
}

// New returns an empty queue. It panics if K cannot be a key, see [ErrKeyType].
func New[K comparable, T any]() *FIFO[K, T] {
	mapkey.Must[K]()
	f := &FIFO[K, T]{synced: make(chan struct{}), gate: newGate()}
	f.line.rebuild()
	return f
}

// Add adds obj to the queue, or replaces the older object of key.
// Errors: [ErrClosed].
func (f *FIFO[K, T]) Add(key K, obj T) error {
	_, err := f.add(key, obj, true)
	return err
}

// AddIfNotPresent adds obj at the end of the queue and returns true, unless the queue has an object
// of key. A consumer that could not process an object can give it back with this method, because it
// never replaces a newer object. Errors: [ErrClosed].
func (f *FIFO[K, T]) AddIfNotPresent(key K, obj T) (added bool, err error) {
	return f.add(key, obj, false)
}

func (f *FIFO[K, T]) add(key K, obj T, replace bool) (added bool, err error) {
	f.gate.Lock()
	defer f.gate.Unlock()
	if f.gate.closed {
		return false, ErrClosed
	}
	if s := f.line.find(key); s == nil {
		f.line.add(Item[K, T]{Key: key, Object: obj})
		f.gate.signal()
	} else if replace {
		s.item.Object = obj
	} else {
		return false, nil
	}
	return true, nil
}

// Delete removes the object of key, even from a closed queue, and returns it. had is false if there
// is none.
func (f *FIFO[K, T]) Delete(key K) (old T, had bool) {
	f.gate.Lock()
	defer f.gate.Unlock()
	if f.line.find(key) == nil {
		return old, false
	}
	gone := f.line.remove(key)
	if gone.unsynced {
		f.settle(1)
	}
	return gone.item.Object, true
}

// Replace makes items the whole content of the queue, in their order. If several items have one
// key, the object of the last one counts, in the place of the first. Until a list has been
// processed (see [FIFO.Synced]), each list is the initial one. O(items). Errors: [ErrClosed]; then
// nothing is replaced.
func (f *FIFO[K, T]) Replace(items []Item[K, T]) error {
	f.gate.Lock()
	defer f.gate.Unlock()
	if f.gate.closed {
		return ErrClosed
	}
	next := line[K, T]{}
	next.rebuild()
	for _, item := range items {
		item.Initial = !f.done
		if s := next.find(item.Key); s != nil {
			s.item.Object = item.Object
			continue
		}
		next.add(item).unsynced = !f.done
	}
	if !f.done {
		f.unsynced += len(next.at) - f.unsyncedInLine()
	}
	f.line, f.listed = next, true
	f.settle(0)
	if len(f.line.at) > 0 {
		f.gate.signal()
	}
	return nil
}

// unsyncedInLine returns the number of unsynced items in the line. Called with the lock held.
func (f *FIFO[K, T]) unsyncedInLine() (n int) {
	for i := range f.line.slots {
		if f.line.slots[i].unsynced {
			n++
		}
	}
	return n
}

// settle records that n items of the initial list were processed or removed. Called with the lock
// held.
func (f *FIFO[K, T]) settle(n int) {
	f.unsynced -= n
	if f.listed && f.unsynced == 0 && !f.done {
		f.done = true
		close(f.synced)
	}
}

// Get returns the object of key that is in the queue.
func (f *FIFO[K, T]) Get(key K) (obj T, ok bool) {
	f.gate.Lock()
	defer f.gate.Unlock()
	s := f.line.find(key)
	if s == nil {
		return obj, false
	}
	return s.item.Object, true
}

// Len returns the number of keys in the queue.
func (f *FIFO[K, T]) Len() int {
	f.gate.Lock()
	defer f.gate.Unlock()
	return len(f.line.at)
}

// Synced returns a channel that is closed once all items of the initial list have been processed or
// deleted. If Replace is called again before that, the newer list counts. An item taken with Pop
// has been processed at the next Pop, so there may be only one consumer. An item of Process has
// been processed when the function has returned, even if it failed. Without a list, the channel is
// never closed.
func (f *FIFO[K, T]) Synced() <-chan struct{} { return f.synced }

// Close makes Add, AddIfNotPresent and Replace fail. Consumers get the items in the queue first,
// then [ErrClosed]. Closing again does nothing.
func (f *FIFO[K, T]) Close() { f.gate.shut() }

// take waits for an item, and removes and returns the first one. Called with the lock held.
func (f *FIFO[K, T]) take(ctx context.Context) (slot[K, T], error) {
	for len(f.line.at) == 0 {
		if f.gate.closed {
			return slot[K, T]{}, ErrClosed
		}
		if err := f.gate.wait(ctx); err != nil {
			return slot[K, T]{}, err
		}
	}
	s := f.line.remove(f.line.first())
	if len(f.line.at) > 0 {
		f.gate.signal()
	}
	return s, nil
}

// Pop waits for an item, and takes the one whose key came first. The call also marks the item of
// the last Pop as processed, even if it returns an error. Errors: [ErrClosed]; ctx's, if Pop would
// have to wait.
func (f *FIFO[K, T]) Pop(ctx context.Context) (Item[K, T], error) {
	f.gate.Lock()
	defer f.gate.Unlock()
	if f.popped {
		f.popped = false
		f.settle(1)
	}
	s, err := f.take(ctx)
	f.popped = s.unsynced
	return s.item, err
}
