package synctrack

import (
	"sync"
	"sync/atomic"
)

// Lazy is a value that is computed when it is asked for and kept until Notify says that
// what it is computed from has changed: many changes in a row cost one computation.
// All methods may be called at the same time.
type Lazy[T any] struct {
	evaluate func() (T, error)
	current  atomic.Pointer[evaluation[T]]
}

// evaluation is a value, or the place for one. Notify puts a new one, so that a value that
// is still being computed from the old state goes to those only who asked before.
type evaluation[T any] struct {
	mu    sync.Mutex // held while the value is computed
	known atomic.Bool
	value T // written before known is set, never after
}

// NewLazy returns a value that has not been computed. evaluate runs in the goroutine of
// Get; it runs twice at the same time only if Notify was called in between.
func NewLazy[T any](evaluate func() (T, error)) *Lazy[T] {
	l := &Lazy[T]{evaluate: evaluate}
	l.Notify()
	return l
}

// Notify says that the value has changed. It computes nothing and waits for nobody, so it
// may be called from a handler, or from evaluate.
func (l *Lazy[T]) Notify() { l.current.Store(new(evaluation[T])) }

// Get returns the value as of the last Notify before the call, or newer. An error of
// evaluate is returned and not kept: the next Get tries again. A panic of it goes on to
// the caller and is not kept either. Cost, once the value is known: no lock.
func (l *Lazy[T]) Get() (T, error) {
	e := l.current.Load()
	if e.known.Load() {
		return e.value, nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.known.Load() {
		return e.value, nil
	}
	value, err := l.evaluate()
	if err == nil {
		e.value = value
		e.known.Store(true)
	}
	return value, err
}
