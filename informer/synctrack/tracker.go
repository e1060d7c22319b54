// Package synctrack tells when work that initial events started is done, and keeps values
// that are computed from a cache until the cache changes.
//
// An informer's or a handler's Synced says that the handler has been called for every
// object of the initial list. A handler that only puts a key into a queue needs a
// [Tracker] to say when those keys have been worked on; only then may a program take what
// it computed for complete.
package synctrack

import (
	"sync"

	"github.com/kinform/kinform/internal/mapkey"
)

// Tracker waits until the source of keys has synced and all keys that were started have
// been finished. The zero Tracker is ready to use, and must not be copied after that.
// All methods may be called at the same time. The first Start panics if K cannot be a key: if
// K is a float, a complex number, an interface, or an array or struct that holds one. Values
// of these may not equal themselves (NaN), or not compare.
//
//	Handle(event):   if event.Initial { tracker.Start(event.Key) }; queue.Add(event.Key)
//	after Synced():  tracker.SourceSynced()
//	reconcile(key):  defer tracker.Finish(key)
type Tracker[K comparable] struct {
	mu      sync.Mutex
	started map[K]struct{} // not finished; nil once synced
	source  bool           // has synced
	synced  chan struct{}  // nil until somebody asks
	done    bool
}

// Start says that key will be worked on. It must be called before the work can finish, and
// before SourceSynced. A key that is started again before it is finished is finished by
// one Finish, as it is one key in a queue. After the tracker has synced Start does nothing.
func (t *Tracker[K]) Start(key K) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.done {
		return
	}
	if t.started == nil {
		mapkey.Must[K]()
		t.started = map[K]struct{}{}
	}
	t.started[key] = struct{}{}
}

// Finish says that key has been worked on. For a key that was not started it does nothing,
// so that a worker need not know which keys are initial.
func (t *Tracker[K]) Finish(key K) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.started, key)
	t.settle()
}

// SourceSynced says that no more keys are started.
func (t *Tracker[K]) SourceSynced() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.source = true
	t.settle()
}

// Synced is closed once the source has synced and every key that was started has been
// finished.
func (t *Tracker[K]) Synced() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.synced == nil {
		t.synced = make(chan struct{})
		if t.done {
			close(t.synced)
		}
	}
	return t.synced
}

// settle finds out whether the tracker has synced. Called with the lock held.
func (t *Tracker[K]) settle() {
	if t.done || !t.source || len(t.started) > 0 {
		return
	}
	t.done, t.started = true, nil
	if t.synced != nil {
		close(t.synced)
	}
}
