package informer

import (
	"context"
	"sync"

	"github.com/kinform/kinform/internal/usercode"
)

// session holds what an informer needs anew for each Run. What each part needs is its feed.
type session[K comparable, T any] struct {
	feeding sync.WaitGroup // of the namespaces' reflectors

	// life ends, with ErrStopped, when the session stops.
	life context.Context
	die  context.CancelCauseFunc

	done chan struct{} // closed, with the informer's mu held, when the session has stopped

	returned bool // what Run does itself has returned, and not panicked

	*usercode.Run // set by Informer.Run before any other goroutine can look
}

// newSession returns a session that continues from the store's state. Called with mu held, or before the
// informer is given out.
func newSession[K comparable, T any](i *core[K, T]) (*session[K, T], error) {
	s := &session[K, T]{done: make(chan struct{})}
	s.life, s.die = context.WithCancelCause(context.Background())
	if i.only == nil {
		return s, nil
	}
	return s, newReflector(newFeed(i.only, s))
}

// contain calls user code. It reports a panic or a call of runtime.Goexit there, and ends Run.
// about completes the error.
func contain[K comparable, T any](i *core[K, T], s *session[K, T], where string, about func(*PanicError), run func()) {
	usercode.Contain(where, run, func(err *PanicError) {
		about(err)
		runFailed(i, s, err)
	})
}

// runFailed ends Run because of err, and reports it.
func runFailed[K comparable, T any](i *core[K, T], s *session[K, T], err *PanicError) {
	err.Resource = i.Resource()
	s.Fail(err)
	i.report(err)
}

// report calls OnError. A panic there ends Run. Called while the informer runs.
func (i *core[K, T]) report(err error) {
	defer func() {
		if value := recover(); value != nil {
			i.session.Load().Fail(located(i, usercode.Panicked("OnError", value)))
		}
	}()
	i.opts.OnError(err)
}

// located adds the collection's name to an error.
func located[K comparable, T any](i *core[K, T], err *PanicError) *PanicError {
	err.Resource = i.Resource()
	return err
}

func noKey(*PanicError) {}
