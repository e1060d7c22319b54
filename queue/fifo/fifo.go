package fifo

import (
	"context"

	"github.com/kinform/kinform/internal/mapkey"
)

// Item is an object with its key.
type Item[K comparable, T any] struct {
	Key    K
	Object T

	// Initial is set by [FIFO.Pop] and [FIFO.Process] for an item of the initial list,
	// and not looked at elsewhere.
	Initial bool
}

// FIFO keeps the newest object of each key until a consumer takes it, in the order in
// which the keys arrived. Deleted objects are not seen by the consumer. See the package
// documentation.
type FIFO[K comparable, T any] struct {
	synced chan struct{} // set by New; closed, under the lock, after the initial list

	door   door // guards what follows
	line   line[K, T]
	owed   int  // items of the initial list that are in line or being processed
	popped bool // the item of the last Pop is one of them
	listed bool // there was a list
	done   bool // synced is closed
}

// New returns an empty queue. It panics if K cannot be a key, see [ErrKeyType].
func New[K comparable, T any]() *FIFO[K, T] {
	mapkey.Must[K]()
	f := &FIFO[K, T]{synced: make(chan struct{}), door: newDoor()}
	f.line.rebuild()
	return f
}

// Add puts obj into the queue, in the place of an older object of key if there is one.
// Errors: [ErrClosed].
func (f *FIFO[K, T]) Add(key K, obj T) error {
	_, err := f.add(key, obj, true)
	return err
}

// AddIfNotPresent puts obj at the end of the queue unless that has an object of key, and
// reports whether it did: a consumer that could not process an object gives it back so,
// without undoing what came meanwhile. Errors: [ErrClosed].
func (f *FIFO[K, T]) AddIfNotPresent(key K, obj T) (added bool, err error) {
	return f.add(key, obj, false)
}

func (f *FIFO[K, T]) add(key K, obj T, replace bool) (added bool, err error) {
	f.door.Lock()
	defer f.door.Unlock()
	if f.door.closed {
		return false, ErrClosed
	}
	if s := f.line.find(key); s == nil {
		f.line.add(Item[K, T]{Key: key, Object: obj})
		f.door.signal()
	} else if replace {
		s.item.Object = obj
	} else {
		return false, nil
	}
	return true, nil
}

// Delete takes the object of key out of the queue, also out of a closed one, and returns
// it; had is false if there is none.
func (f *FIFO[K, T]) Delete(key K) (old T, had bool) {
	f.door.Lock()
	defer f.door.Unlock()
	if f.line.find(key) == nil {
		return old, false
	}
	gone := f.line.remove(key)
	if gone.owed {
		f.settle(1)
	}
	return gone.item.Object, true
}

// Replace makes items the whole content of the queue, in their order. Of several with one
// key the last one's object counts, in the place of the first. Until a list has been
// processed (see [FIFO.Synced]) each one is the initial list. O(items).
// Errors: [ErrClosed]; then nothing is replaced.
func (f *FIFO[K, T]) Replace(items []Item[K, T]) error {
	f.door.Lock()
	defer f.door.Unlock()
	if f.door.closed {
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
		next.add(item).owed = !f.done
	}
	if !f.done {
		f.owed += len(next.at) - f.owedInLine()
	}
	f.line, f.listed = next, true
	f.settle(0)
	if len(f.line.at) > 0 {
		f.door.signal()
	}
	return nil
}

// owedInLine returns how many of the owed items are in line. Called with the lock held.
func (f *FIFO[K, T]) owedInLine() (n int) {
	for i := range f.line.slots {
		if f.line.slots[i].owed {
			n++
		}
	}
	return n
}

// settle notes that n items of the initial list are through. Called with the lock held.
func (f *FIFO[K, T]) settle(n int) {
	f.owed -= n
	if f.listed && f.owed == 0 && !f.done {
		f.done = true
		close(f.synced)
	}
}

// Get returns the object of key that is in the queue.
func (f *FIFO[K, T]) Get(key K) (obj T, ok bool) {
	f.door.Lock()
	defer f.door.Unlock()
	s := f.line.find(key)
	if s == nil {
		return obj, false
	}
	return s.item.Object, true
}

// Len returns the number of keys in the queue.
func (f *FIFO[K, T]) Len() int {
	f.door.Lock()
	defer f.door.Unlock()
	return len(f.line.at)
}

// Synced is closed once the initial list has been processed or deleted: all of the first
// Replace, or of the last one that came before all was. An item that was taken with Pop
// has been processed at the next Pop, so there may be only one consumer; with Process,
// when the function has returned, even if it failed. Synced is never closed if there is
// no list.
func (f *FIFO[K, T]) Synced() <-chan struct{} { return f.synced }

// Close lets no more in. Consumers get what is in the queue first, then [ErrClosed].
// Closing again does nothing.
func (f *FIFO[K, T]) Close() { f.door.shut() }

// take waits for the first item and takes it out. Called with the lock held.
func (f *FIFO[K, T]) take(ctx context.Context) (slot[K, T], error) {
	for len(f.line.at) == 0 {
		if f.door.closed {
			return slot[K, T]{}, ErrClosed
		}
		if err := f.door.wait(ctx); err != nil {
			return slot[K, T]{}, err
		}
	}
	s := f.line.remove(f.line.first())
	if len(f.line.at) > 0 {
		f.door.signal()
	}
	return s, nil
}

// Pop waits until there is an item and takes the one whose key came first. It also says
// that the item of the last Pop has been processed, even if it returns an error. That is
// [ErrClosed] or, if it would have to wait, ctx's.
func (f *FIFO[K, T]) Pop(ctx context.Context) (Item[K, T], error) {
	f.door.Lock()
	defer f.door.Unlock()
	if f.popped {
		f.popped = false
		f.settle(1)
	}
	s, err := f.take(ctx)
	f.popped = s.owed
	return s.item, err
}
