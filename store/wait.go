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
	all  waiters
	keys map[K]bells // guarded by the lock of all
}

// waiters is the part of waits that needs no type of keys.
type waiters struct {
	count atomic.Int32 // of waits for keys and versions

	mu       sync.Mutex
	ended    error            // the error that ends all waits: ErrClosed or the one given to EndWaits; nil for none
	begun    broadcast.Signal // that a wait has begun
	rewinds  uint64           // commits after a Rewind
	versions map[chan struct{}]string
}

// bells are the channels of the waits for one key. Nil are none.
type bells map[chan struct{}]struct{}

func (b bells) with(ch chan struct{}) bells {
	if b == nil {
		b = bells{}
	}
	b[ch] = struct{}{}
	return b
}

func (b bells) without(ch chan struct{}) bells {
	if delete(b, ch); len(b) == 0 {
		return nil
	}
	return b
}

func (b bells) ring() {
	for ch := range b {
		wake(ch)
	}
}

func wake(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

// idle reports whether there are no waits. A wait that begins after the commit sees its result.
func (w *waiters) idle() bool { return w.count.Load() == 0 }

// begin begins a wait, and leaves the lock held for the caller to note it.
func (w *waiters) begin() {
	w.count.Add(1)
	w.mu.Lock()
	w.begun.Send()
}

// leave ends a wait, and leaves the lock held for the caller to forget it.
func (w *waiters) leave() {
	w.count.Add(-1)
	w.mu.Lock()
}

// rewound ends the waits for versions that were not reached. It counts the rewind before it
// wakes them, because they look at the count.
func (w *waiters) rewound() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.rewinds++
	for ch := range w.versions {
		wake(ch)
	}
}

func (w *waiters) rewindsSoFar() uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.rewinds
}

func (w *waiters) wakeVersions(rv string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for ch, wanted := range w.versions {
		if reached(rv, wanted) {
			wake(ch)
		}
	}
}

// end ends the present waits for versions and all later waits with err, see endWaits.
func (w *waiters) end(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended != ErrClosed {
		w.ended = err
	}
	for ch := range w.versions {
		wake(ch)
	}
}

// err returns the error that ends all waits, or nil.
func (w *waiters) err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.ended
}

// awaited returns a channel that is closed once there is a wait.
func (w *waiters) awaited() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.idle() {
		begun := make(chan struct{})
		close(begun)
		return begun
	}
	return w.begun.Wait()
}

func (w *waiters) addVersion(rv string, ch chan struct{}) {
	w.begin()
	defer w.mu.Unlock()
	if w.versions == nil {
		w.versions = map[chan struct{}]string{}
	}
	w.versions[ch] = rv
}

func (w *waiters) removeVersion(ch chan struct{}) {
	w.leave()
	defer w.mu.Unlock()
	delete(w.versions, ch)
	if len(w.versions) == 0 {
		w.versions = nil // maps never shrink
	}
}

// waitForVersion waits until the version that now returns is at or after rv.
func (w *waiters) waitForVersion(ctx context.Context, rv string, now func() string) error {
	if _, err := resourceversion.CompareResourceVersion(rv, rv); err != nil {
		return fmt.Errorf("%w: %w", ErrResourceVersion, err)
	}
	ch := make(chan struct{}, 1)
	w.addVersion(rv, ch)
	defer w.removeVersion(ch)
	rewinds, rewound := w.rewindsSoFar(), false
	err := w.wait(ctx, ch, func() bool {
		rewound = w.rewindsSoFar() != rewinds // before the look at the version
		return reached(now(), rv) || rewound
	})
	if err == nil && rewound && !reached(now(), rv) {
		return ErrRewound
	}
	return err
}

// wait waits until done returns true; it calls done again after each token in ch. ch must be
// registered before, so that no commit is missed.
func (w *waiters) wait(ctx context.Context, ch chan struct{}, done func() bool) error {
	for {
		if done() {
			return nil
		}
		if err := w.err(); err != nil {
			return err
		}
		select {
		case <-ch:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func wakeKey[K comparable](w *waits[K], key K) {
	w.all.mu.Lock()
	w.keys[key].ring()
	w.all.mu.Unlock()
}

func wakeAllKeys[K comparable](w *waits[K]) {
	w.all.mu.Lock()
	for _, chs := range w.keys {
		chs.ring()
	}
	w.all.mu.Unlock()
}

// endWaits ends all present and later waits with err. A nil err lets later waits wait again. ErrClosed
// is final. The error is set before the wake-ups, because the waits look at it.
func endWaits[K comparable](w *waits[K], err error) {
	w.all.end(err)
	wakeAllKeys(w)
}

func addKey[K comparable](w *waits[K], key K, ch chan struct{}) {
	w.all.begin()
	if w.keys == nil {
		w.keys = map[K]bells{}
	}
	w.keys[key] = w.keys[key].with(ch)
	w.all.mu.Unlock()
}

func removeKey[K comparable](w *waits[K], key K, ch chan struct{}) {
	w.all.leave()
	if w.keys[key].without(ch) == nil {
		delete(w.keys, key)
	}
	if len(w.keys) == 0 {
		w.keys = nil // maps never shrink
	}
	w.all.mu.Unlock()
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
	return r.waits.all.wait(ctx, ch, func() bool { return until(r.Get(key)) })
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
	return r.waits.all.waitForVersion(ctx, rv, r.ResourceVersion)
}

// Awaited returns a channel that is closed when a WaitFor or WaitForRV has to wait, or at once
// if one waits already. It is for a writer that is about to wait for code which may be blocked
// in such a call.
func (s *Store[K, T]) Awaited() <-chan struct{} { return s.waits.all.awaited() }

// EndWaits ends all waits with err. Later waits return err too unless their condition already
// holds. With a nil err, later waits wait again. It is for a writer that cannot go on before
// all waits have ended. After Close it does nothing.
func (s *Store[K, T]) EndWaits(err error) { endWaits(&s.waits, err) }

// reached reports whether resourceVersion rv is at or after wanted.
func reached(rv, wanted string) bool {
	if wanted == "" || rv == wanted {
		return true
	}
	cmp, err := resourceversion.CompareResourceVersion(rv, wanted)
	return err == nil && cmp >= 0
}

// moves reports whether a commit at rv moves a store at the resourceVersion at. rewound says that
// versions from before it do not compare.
func moves(at, rv string, rewound bool) bool {
	if rv == "" || rv == at {
		return false
	}
	cmp, err := resourceversion.CompareResourceVersion(rv, at)
	return err != nil || cmp > 0 || rewound
}
