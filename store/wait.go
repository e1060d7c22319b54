package store

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/kinform/kinform/internal/broadcast"
)

// waits holds the waits for keys and for resourceVersions. A wake-up is only a hint: the
// goroutine then looks at the store again.
type waits[K comparable] struct {
	count atomic.Int32 // of waits in keys and versions

	mu       sync.Mutex
	ended    error            // the error that ends all waits: ErrClosed or the one given to EndWaits; nil for none
	begun    broadcast.Signal // that a wait has begun
	rewinds  uint64           // commits after a Rewind
	keys     map[K]map[chan struct{}]struct{}
	versions map[chan struct{}]string
}

// idle reports whether there are no waits. A wait that begins after the commit sees its result.
func idle[K comparable](w *waits[K]) bool { return w.count.Load() == 0 }

func wake(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

func wakeKey[K comparable](w *waits[K], key K) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for ch := range w.keys[key] {
		wake(ch)
	}
}

func wakeAllKeys[K comparable](w *waits[K]) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, chs := range w.keys {
		for ch := range chs {
			wake(ch)
		}
	}
}

// rewound ends the waits for versions that were not reached. It counts the rewind before it
// wakes them, because they look at the count.
func (w *waits[K]) rewound() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.rewinds++
	for ch := range w.versions {
		wake(ch)
	}
}

func rewindsSoFar[K comparable](w *waits[K]) uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.rewinds
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

// end ends all present and later waits with err. A nil err lets later waits wait again. ErrClosed
// is final. ended is set before the wake-ups, because the waits look at it.
func (w *waits[K]) end(err error) {
	w.mu.Lock()
	if w.ended != ErrClosed {
		w.ended = err
	}
	for ch := range w.versions {
		wake(ch)
	}
	w.mu.Unlock()
	wakeAllKeys(w)
}

// err returns the error that ends all waits, or nil.
func (w *waits[K]) err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.ended
}

// awaited returns a channel that is closed once there is a wait.
func (w *waits[K]) awaited() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.keys)+len(w.versions) > 0 {
		begun := make(chan struct{})
		close(begun)
		return begun
	}
	return w.begun.Wait()
}

func addKey[K comparable](w *waits[K], key K, ch chan struct{}) {
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
	w.begun.Send()
}

func removeKey[K comparable](w *waits[K], key K, ch chan struct{}) {
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

func addVersion[K comparable](w *waits[K], rv string, ch chan struct{}) {
	w.count.Add(1)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.versions == nil {
		w.versions = map[chan struct{}]string{}
	}
	w.versions[ch] = rv
	w.begun.Send()
}

func removeVersion[K comparable](w *waits[K], ch chan struct{}) {
	w.count.Add(-1)
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.versions, ch)
	if len(w.versions) == 0 {
		w.versions = nil
	}
}

// WaitFor waits until the object stored under key meets a condition: until returns true. It
// calls until at once and after commits that change the key. until gets the zero T if exists is
// false. It sees the latest state, not every state in between. It runs in the caller's goroutine
// with no lock held. Nothing is polled.
// Errors: ErrClosed; the error given to [Store.EndWaits]; the cause of ctx's end.
//
//go:noinline
func (r *Reader[K, T]) WaitFor(ctx context.Context, key K, until func(obj T, exists bool) bool) error {
	ch := make(chan struct{}, 1)
	addKey(&r.waits, key, ch)
	defer removeKey(&r.waits, key, ch)
	return wait(ctx, r, ch, func() bool { return until(r.Get(key)) })
}

// WaitForRV waits until the store has the server's changes up to rv, so that a program can read
// its own writes. For an empty rv it returns at once. Nothing is polled.
// Errors: ErrClosed; ErrResourceVersion if rv cannot be compared; ErrRewound if the server goes
// back in time during the wait, to before rv; the error given to [Store.EndWaits]; the cause of
// ctx's end.
//
//go:noinline
func (r *Reader[K, T]) WaitForRV(ctx context.Context, rv string) error {
	if reached(r.ResourceVersion(), rv) {
		return nil
	}
	if _, err := resourceversion.CompareResourceVersion(rv, rv); err != nil {
		return fmt.Errorf("%w: %w", ErrResourceVersion, err)
	}
	ch := make(chan struct{}, 1)
	addVersion(&r.waits, rv, ch)
	defer removeVersion(&r.waits, ch)
	rewinds, rewound := rewindsSoFar(&r.waits), false
	err := wait(ctx, r, ch, func() bool {
		rewound = rewindsSoFar(&r.waits) != rewinds // before the look at the version
		return reached(r.ResourceVersion(), rv) || rewound
	})
	if err == nil && rewound && !reached(r.ResourceVersion(), rv) {
		return ErrRewound
	}
	return err
}

// Awaited returns a channel that is closed when a WaitFor or WaitForRV has to wait, or at once
// if one waits already. It is for a writer that is about to wait for code which may be blocked
// in such a call.
func (s *Store[K, T]) Awaited() <-chan struct{} { return s.waits.awaited() }

// EndWaits ends all waits with err. Later waits return err too unless their condition already
// holds. With a nil err, later waits wait again. It is for a writer that cannot go on before
// all waits have ended. After Close it does nothing.
func (s *Store[K, T]) EndWaits(err error) { s.waits.end(err) }

// wait waits until done returns true; it calls done again after each token in ch. ch must be
// registered before, so that no commit is missed.
func wait[K comparable, T any](ctx context.Context, r *Reader[K, T], ch chan struct{}, done func() bool) error {
	for {
		if done() {
			return nil
		}
		if err := r.waits.err(); err != nil {
			return err
		}
		select {
		case <-ch:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// reached reports whether resourceVersion rv is at or after wanted.
func reached(rv, wanted string) bool {
	if wanted == "" || rv == wanted {
		return true
	}
	cmp, err := resourceversion.CompareResourceVersion(rv, wanted)
	return err == nil && cmp >= 0
}

// rvMoves reports whether a commit at rv moves the store's resourceVersion. Only the writer may
// call it.
func rvMoves[K comparable, T any](s *Store[K, T], rv string) bool {
	if rv == "" || rv == s.rv {
		return false
	}
	cmp, err := resourceversion.CompareResourceVersion(rv, s.rv)
	return err != nil || cmp > 0 || s.rewound
}
