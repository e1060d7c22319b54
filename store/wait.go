package store

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// waits holds who waits for a key or a resourceVersion. A wake-up is a hint: the woken
// looks at the store again.
type waits[K comparable] struct {
	count atomic.Int32 // of waits in keys and versions

	mu       sync.Mutex
	closed   bool
	keys     map[K]map[chan struct{}]struct{}
	versions map[chan struct{}]string
}

// idle says that nobody waits. A wait that begins after the commit sees its result.
func (w *waits[K]) idle() bool { return w.count.Load() == 0 }

func wake(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

func (w *waits[K]) wakeKey(key K) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for ch := range w.keys[key] {
		wake(ch)
	}
}

func (w *waits[K]) wakeAllKeys() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, chs := range w.keys {
		for ch := range chs {
			wake(ch)
		}
	}
}

func (w *waits[K]) wakeVersions(rv string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for ch, wanted := range w.versions {
		if reached(rv, wanted) {
			wake(ch)
		}
	}
}

// close ends all waits. Who is woken must find closed set, so that comes first.
func (w *waits[K]) close() {
	w.mu.Lock()
	w.closed = true
	for ch := range w.versions {
		wake(ch)
	}
	w.mu.Unlock()
	w.wakeAllKeys()
}

func (w *waits[K]) isClosed() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.closed
}

func (w *waits[K]) addKey(key K, ch chan struct{}) {
	w.count.Add(1)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.keys == nil {
		w.keys = map[K]map[chan struct{}]struct{}{}
	}
	if w.keys[key] == nil {
		w.keys[key] = map[chan struct{}]struct{}{}
	}
	w.keys[key][ch] = struct{}{}
}

func (w *waits[K]) removeKey(key K, ch chan struct{}) {
	w.count.Add(-1)
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.keys[key], ch)
	if len(w.keys[key]) == 0 {
		delete(w.keys, key)
	}
	if len(w.keys) == 0 {
		w.keys = nil // maps never shrink
	}
}

func (w *waits[K]) addVersion(rv string, ch chan struct{}) {
	w.count.Add(1)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.versions == nil {
		w.versions = map[chan struct{}]string{}
	}
	w.versions[ch] = rv
}

func (w *waits[K]) removeVersion(ch chan struct{}) {
	w.count.Add(-1)
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.versions, ch)
	if len(w.versions) == 0 {
		w.versions = nil
	}
}

// WaitFor returns nil once until holds for what is stored under key: at once, or after
// one of the next commits. until gets the zero T where exists is false. It sees the
// latest state, not every one in between. It runs in the caller's goroutine with no lock
// held. Nothing is polled.
// Errors: ErrUnequalKey; ErrClosed; the cause of ctx's end.
func (r *Reader[K, T]) WaitFor(ctx context.Context, key K, until func(obj T, exists bool) bool) error {
	if key != key {
		return ErrUnequalKey // nothing can be stored under it, nor would the wait be found again
	}
	ch := make(chan struct{}, 1)
	r.waits.addKey(key, ch)
	defer r.waits.removeKey(key, ch)
	return r.wait(ctx, ch, func() bool { return until(r.Get(key)) })
}

// WaitForRV returns nil once the store holds the server's changes up to rv, so that a
// program reads its own writes. An empty rv is there already. Nothing is polled.
// Errors: ErrClosed; ErrResourceVersion when rv cannot be compared; the cause of ctx's end.
func (r *Reader[K, T]) WaitForRV(ctx context.Context, rv string) error {
	if reached(r.ResourceVersion(), rv) {
		return nil
	}
	if _, err := resourceversion.CompareResourceVersion(rv, rv); err != nil {
		return fmt.Errorf("%w: %w", ErrResourceVersion, err)
	}
	ch := make(chan struct{}, 1)
	r.waits.addVersion(rv, ch)
	defer r.waits.removeVersion(ch)
	return r.wait(ctx, ch, func() bool { return reached(r.ResourceVersion(), rv) })
}

// wait looks at done whenever ch is woken. ch must be registered already, so that no
// commit is missed.
func (r *Reader[K, T]) wait(ctx context.Context, ch chan struct{}, done func() bool) error {
	for {
		if done() {
			return nil
		}
		if r.waits.isClosed() {
			return ErrClosed
		}
		select {
		case <-ch:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// reached says that a store at resourceVersion rv has what a wait for wanted is after.
func reached(rv, wanted string) bool {
	if wanted == "" || rv == wanted {
		return true
	}
	cmp, err := resourceversion.CompareResourceVersion(rv, wanted)
	return err == nil && cmp >= 0
}

// rvMoves says that a commit at rv moves the store's resourceVersion. It is the writer's.
func (s *Store[K, T]) rvMoves(rv string) bool {
	if rv == "" || rv == s.rv {
		return false
	}
	cmp, err := resourceversion.CompareResourceVersion(rv, s.rv)
	return err != nil || cmp > 0 || s.rewound
}
