package informer

import (
	"context"
	"errors"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"github.com/kinform/kinform/deltafifo"
	"github.com/kinform/kinform/informer/pipeline"
	"github.com/kinform/kinform/reflector"
)

// session is what an informer needs anew for each Run.
type session[K comparable, T any] struct {
	// Set when it is made and never changed.
	fifo      *deltafifo.DeltaFIFO[K, T]
	reflector *reflector.Reflector[T]

	// life ends, with ErrStopped, when the session stops.
	life context.Context
	die  context.CancelCauseFunc

	done chan struct{} // closed, with the informer's mu held, when the session has stopped

	// Set by Run before any other goroutine can look.
	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup

	failed atomic.Pointer[error] // what ended ctx before Run's own context did; nil for nothing
}

// fail ends the session with err, unless it has ended.
func (s *session[K, T]) fail(err error) {
	if s.ctx.Err() == nil {
		s.failed.CompareAndSwap(nil, &err)
	}
	s.cancel()
}

// newSession returns a session that goes on from what the store has.
func (i *Informer[K, T]) newSession() (*session[K, T], error) {
	s := &session[K, T]{
		fifo: deltafifo.New(deltafifo.Known[K, T](i.store.Reader()), deltafifo.Options{Limit: i.opts.Pending}),
	}
	fetch := i.opts.Reflector
	fetch.OnError, fetch.Logger = i.requestFailed, i.opts.Logger
	if rv := i.store.ResourceVersion(); rv != "" {
		fetch.FirstVersion = &rv // or a server whose cache lags would take the store back in time
	}
	var err error
	s.reflector, err = reflector.New(i.source, &sink[K, T]{Sink: pipeline.NewSink(s.fifo, i.keyOf, i.badObject, i.unchangedAt), inf: i}, fetch)
	if err != nil {
		return nil, err
	}
	s.life, s.die = context.WithCancelCause(context.Background())
	s.done = make(chan struct{})
	return s, nil
}

// contain runs code that is not the informer's. If it panics, or ends its goroutine, that
// is reported and ends Run. about completes the error.
func (i *Informer[K, T]) contain(s *session[K, T], where string, about func(*PanicError), run func()) {
	returned := false
	defer func() {
		value := recover()
		if returned {
			return
		}
		if value == nil {
			value = errGoexit
		}
		err := i.panicked(where, "", value)
		about(err)
		s.fail(err)
		i.report(err)
	}()
	run()
	returned = true
}

// errGoexit stands for the value of a panic where there was none.
var errGoexit = errors.New("the call ended its goroutine")

// panicked is called in the deferred function that has recovered.
func (i *Informer[K, T]) panicked(where, key string, value any) *PanicError {
	return &PanicError{Where: where, Resource: i.Resource(), Key: key, Value: value, Stack: debug.Stack()}
}

// report tells OnError. A panic of that ends Run. Called while the informer runs.
func (i *Informer[K, T]) report(err error) {
	defer func() {
		if value := recover(); value != nil {
			i.session.Load().fail(i.panicked("OnError", "", value))
		}
	}()
	i.opts.OnError(err)
}

func noKey(*PanicError) {}
