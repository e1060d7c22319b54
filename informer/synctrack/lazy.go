package synctrack

import (
	"sync"
	"sync/atomic"
)

// Lazy is a value that is computed on demand and kept until Notify reports a change of its
// inputs. Many changes in a row cost one computation. All methods are safe from any goroutine.
type Lazy[T any] struct {
	evaluate func() (T, error)
	current  atomic.Pointer[evaluation[T]]
}

// evaluation is a value, or the place for one. Notify installs a new one. So a value that is
// still being computed from the old state only goes to callers who asked before Notify.
type evaluation[T any] struct {
	mu    sync.Mutex // held while the value is computed
	known atomic.Bool
	value T // written before known is set, never after
}

// NewLazy returns a value that has not been computed. evaluate runs in the goroutine of Get.
// Two calls of evaluate overlap only if Notify was called in between.
func NewLazy[T any](evaluate func() (T, error)) *Lazy[T] {
	l := &Lazy[T]{evaluate: evaluate}
	l.Notify()
	return l
}

// Notify says that the inputs have changed. It neither computes nor waits, so it may be called
// from a handler, or from evaluate.
func (l *Lazy[T]) Notify() { l.current.Store(new(evaluation[T])) }

// Get returns the value as of the last Notify before the call, or newer. It returns an error
// of evaluate without keeping it: the next Get tries again. A panic of evaluate reaches the
// caller and is not kept either. Once the value is known, Get takes no lock.
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
