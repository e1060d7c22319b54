// Package synctrack tells when the work for initial events is done, and keeps values that are
// computed from a cache until the cache changes.
//
// The Synced channel of an informer or a handler says that the handler has been called for
// every object of the initial list. If the handler only puts keys into a queue, use a
// [Tracker] to learn when these keys have been processed. Until then a result computed from
// them may be incomplete.
package synctrack

import (
	"sync"

	"github.com/kinform/kinform/internal/mapkey"
)

// Tracker waits until the source of keys has synced and every started key is finished. The
// zero Tracker is ready to use; do not copy it after its first use. All methods are safe from
// any goroutine. The first Start panics if K cannot be a key: if K is a float, a complex
// number, an interface, or an array or struct that holds one. Values of these types may differ
// from themselves (NaN), or panic when compared.
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

// Start says that key will be processed. Call it before the processing can finish, and before
// SourceSynced. If a key is started again before it is finished, one Finish is enough, as a
// queue holds such a key once. After the tracker has synced Start does nothing.
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

// Finish says that key has been processed. It ignores keys that were not started, so a worker
// need not know which keys are initial.
func (t *Tracker[K]) Finish(key K) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.started, key)
	t.settle()
}

// SourceSynced says that no more keys will be started.
func (t *Tracker[K]) SourceSynced() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.source = true
	t.settle()
}

// Synced is closed once the source has synced and every started key is finished.
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

// settle checks whether the tracker has synced, and closes Synced if so. Called with the lock
// held.
func (t *Tracker[K]) settle() {
	if t.done || !t.source || len(t.started) > 0 {
		return
	}
	t.done, t.started = true, nil
	if t.synced != nil {
		close(t.synced)
	}
}
