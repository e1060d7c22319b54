package informer

import (
	"context"
	"sync"

	"github.com/kinform/kinform/deltafifo"
	"github.com/kinform/kinform/internal/usercode"
	"github.com/kinform/kinform/reflector"
)

// session holds everything that an informer needs anew for each Run.
type session[K comparable, T any] struct {
	// Set when it is made and never changed.
	fifo      *deltafifo.DeltaFIFO[K, T]
	reflector *reflector.Reflector[T] // nil in a Union
	changes   changes[K, T]           // of the batch in flight; owned by the goroutine that commits it
	committer committer               // not in a Union
	commits   bool                    // the reflector's goroutine, which owns it, commits
	waits     sync.Once               // in a Union: begins to wait for the members that have not listed

	// life ends, with ErrStopped, when the session stops.
	life context.Context
	die  context.CancelCauseFunc

	done chan struct{} // closed, with the informer's mu held, when the session has stopped

	*usercode.Run // set by Informer.Run before any other goroutine can look
}

// newSession returns a session that continues from the store's state.
func newSession[K comparable, T any](i *core[K, T]) (*session[K, T], error) {
	s := &session[K, T]{
		fifo: deltafifo.New(deltafifo.KnownObjects[K, T](&cache[K, T]{i.store.Reader(), i}), deltafifo.Options{Limit: i.opts.Pending}),
	}
	s.life, s.die = context.WithCancelCause(context.Background())
	s.done = make(chan struct{})
	if i.union != nil {
		return s, nil
	}
	fetch := reflector.Options{Tuning: i.opts.Reflector, OnError: i.requestFailed, Logger: i.opts.Logger}
	if rv := i.store.ResourceVersion(); rv != "" {
		fetch.FirstVersion = &rv // otherwise a lagging server cache would take the store back in time
	}
	var err error
	to := &sink[K, T]{to: deltafifo.NewSink(s.fifo, i.keyOf, i.badObject), inf: i, session: s}
	to.to.Keep(i.keeps)
	to.commit = func(batch deltafifo.Batch[K, T]) error {
		s.commits, to.committed = true, true
		err := commit(i, &s.changes, batch)
		s.commits = false // not after a panic
		return err
	}
	s.committer.commit = func() error {
		err := context.Canceled // if commitPending does not return
		contain(i, s, "commit", noKey, func() {
			if err = commitPending(i, s); err != nil {
				s.Fail(err)
			}
		})
		return err
	}
	s.reflector, err = reflector.New(i.source, to, fetch)
	return s, err
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
