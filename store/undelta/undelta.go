package undelta

import (
	"errors"
	"sync"

	"github.com/kinform/kinform/store"
)

// ErrNoPush is returned by [New] without a function.
var ErrNoPush = errors.New("undelta store needs a function to push to")

// readSide gives Store the methods of store.Reader.
type readSide[K comparable, T any] = store.Reader[K, T]

// Store holds objects T by key K and pushes all of them on every change. It has the methods of a
// store.Reader, and the writes. Any number of goroutines may use it.
type Store[K comparable, T any] struct {
	*readSide[K, T]

	push  func(store.Snapshot[K, T]) // set once
	store *store.Store[K, T]         // set once

	// mu is held during a write and its push, so that pushes are in the order of writes.
	// Only writers take it.
	mu sync.Mutex
}

// New returns an empty store that calls push on every change.
//
// push runs in the goroutine of the write, before the write returns. It may read the store, which
// has the pushed contents, but must not write to it: the call would wait for itself. If push
// panics, so does the write; the change is then in the store, and nothing stays locked.
//
// Errors: [ErrNoPush], and the errors of store.New.
func New[K comparable, T any](key store.KeyFunc[K, T], push func(store.Snapshot[K, T]), opts store.Options[T]) (*Store[K, T], error) {
	if push == nil {
		return nil, ErrNoPush
	}
	s, err := store.New(key, opts)
	if err != nil {
		return nil, err
	}
	return &Store[K, T]{readSide: s.Reader(), push: push, store: s}, nil
}

// write calls change and, if it succeeds, push.
func (u *Store[K, T]) write(change func() error) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if err := change(); err != nil {
		return err
	}
	u.push(u.store.Snapshot())
	return nil
}

// Set stores obj, new or changed, under its key. Errors: the errors of store.Store.Set.
func (u *Store[K, T]) Set(obj T) error {
	return u.write(func() error { return u.store.Set(obj) })
}

// Delete removes the object under key and returns it. A missing object is no error, and push is
// called nevertheless. Errors: the errors of store.Store.Delete.
func (u *Store[K, T]) Delete(key K) (old T, had bool, err error) {
	err = u.write(func() error {
		old, had, err = u.store.Delete(key)
		return err
	})
	return old, had, err
}

// Replace makes objs the whole content, at resourceVersion rv, with one push. Errors: the errors of
// store.Store.Replace.
func (u *Store[K, T]) Replace(objs []T, rv string) error {
	return u.write(func() error { return u.store.Replace(objs, rv) })
}

// Commit makes many changes with one push, such as the changes of a batch of package deltafifo.
// Operations that cannot be done say so in their Err, as in store.Store.Commit. Errors:
// store.ErrClosed.
func (u *Store[K, T]) Commit(rv string, ops []store.Op[K, T]) error {
	return u.write(func() error { return u.store.Commit(rv, ops) })
}

// Close makes every later write fail with store.ErrClosed. Reads still work; push is not called
// any more. Close first waits for a write in progress, so it must not be called from push.
// Closing again does nothing.
func (u *Store[K, T]) Close() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.store.Close()
}
