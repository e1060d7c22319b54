package pipeline

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/kinform/kinform/deltafifo"
	"github.com/kinform/kinform/internal/logs"
	"github.com/kinform/kinform/internal/mapkey"
	"github.com/kinform/kinform/internal/mistake"
	"github.com/kinform/kinform/internal/pace"
	"github.com/kinform/kinform/internal/pause"
	"github.com/kinform/kinform/internal/usercode"
	"github.com/kinform/kinform/reflector"
)

// Options configures a [Pipeline]. The zero value works.
type Options[K comparable, T any] struct {
	// KnownObjects holds the objects that the process function has processed. It is for a function
	// that keeps a store: the store must have the object when the function returns. With nil
	// the pipeline keeps the newest object of every key.
	KnownObjects deltafifo.KnownObjects[K, T]

	// Resync is the period after which the process function gets every known object again, as
	// a Sync delta, unless the object has other deltas pending. Zero or less means never.
	Resync time.Duration

	// Retry is how long all keys wait after a batch in which the process function failed,
	// before the failed keys come again. Zero means a second; negative means no wait. If you
	// want a delay per key, let the function put keys into a queue.Queue.
	Retry time.Duration

	// Limit is deltafifo.Options.Limit.
	Limit int

	// Reflector configures list and watch.
	Reflector reflector.Tuning

	// OnError gets every failure after which the pipeline continues: *reflector.RequestError,
	// *reflector.ObjectError, *deltafifo.ProcessError, *deltafifo.SlowError. It is called from
	// two goroutines, and for a *reflector.SlowListError or the *reflector.RequestError for a source that does not return, from a
	// third. Nil logs them to Logger as [reflector.Options.OnError] does.
	OnError func(error)

	// Logger gets a record at level Debug when Run begins and ends, and for everything that
	// reflector.Options.Logger lists. It gets errors only if OnError is nil. Events are never
	// logged. Nil means slog.Default().
	Logger *slog.Logger
}

// Pipeline passes the changes of a collection to a function.
type Pipeline[K comparable, T any] struct {
	// Set by New and never changed.
	resource  string
	process   func(K, []deltafifo.Delta[T]) error
	opts      Options[K, T]
	logger    logs.Log
	fifo      *deltafifo.DeltaFIFO[K, T]
	reflector *reflector.Reflector[T]

	running atomic.Bool

	// The batch in progress. Run's goroutine owns these.
	began time.Time // of the first call of the process function
	taken int       // number of deltas it got
	pace  pace.Meter
}

// New returns a pipeline that is not running. key returns an object's key, as store.KeyFunc
// does. process is called in the goroutine of Run. Its slice belongs to the pipeline and may
// be used until process returns. If process returns an error, it gets the key again.
//
// It returns [ErrNoProcess], [ErrNoKeyFunc], [ErrKeyType], or reflector.ErrInvalid.
func New[K comparable, T any](source reflector.Source[T], key func(T) (K, error), process func(K, []deltafifo.Delta[T]) error, opts Options[K, T]) (*Pipeline[K, T], error) {
	switch {
	case source == nil:
		return nil, mistake.NoSource
	case key == nil:
		return nil, ErrNoKeyFunc
	case process == nil:
		return nil, ErrNoProcess
	}
	if err := mapkey.Check[K](); err != nil {
		return nil, err
	}
	log := logs.New(opts.Logger, "pipeline", source.Resource())
	if opts.OnError == nil {
		opts.OnError = log.Error
	}
	if opts.Retry == 0 {
		opts.Retry = time.Second
	}
	if opts.KnownObjects == nil {
		kept := &known[K, T]{objects: map[K]T{}}
		opts.KnownObjects, process = kept, kept.after(process)
	}
	p := &Pipeline[K, T]{resource: source.Resource(), process: process, opts: opts, logger: log}
	p.fifo = deltafifo.New(opts.KnownObjects, deltafifo.Options{Limit: opts.Limit})
	fetch := reflector.Options{Tuning: opts.Reflector, OnError: opts.OnError, Logger: opts.Logger}
	var err error
	p.reflector, err = reflector.New(source, p.fifo.Sink(p.keys(key), p.badObject), fetch)
	return p, err
}

// Synced is closed once the initial list has been processed. Failed keys do not hold it up.
func (p *Pipeline[K, T]) Synced() <-chan struct{} { return p.fifo.Synced() }

// Stats returns the reflector's counters. It is safe from any goroutine.
func (p *Pipeline[K, T]) Stats() reflector.Stats { return p.reflector.Stats() }

// Pending returns the number of deltas that wait for the process function. It is safe from any
// goroutine.
func (p *Pipeline[K, T]) Pending() int { return p.fifo.Len() }

// Run lists, watches and processes until ctx is done. Then it drops the pending deltas and
// returns nil. It returns [ErrStarted] when called twice, and a *[PanicError] if the source,
// KnownObjects or OnError panicked. A panic of the process function reaches the caller of Run. In
// every case all goroutines that Run started have ended.
func (p *Pipeline[K, T]) Run(ctx context.Context) error {
	if !p.running.CompareAndSwap(false, true) {
		return ErrStarted
	}
	p.logger.Debug("runs")
	defer p.logger.Debug("has stopped")
	run := usercode.NewRun(ctx)
	defer run.Wait()
	defer p.fifo.Close()
	defer run.Cancel()
	run.Go(func() {
		p.contain(run, "source", func() { run.Fail(p.reflector.Run(run.Ctx)) })
	})
	if p.opts.Resync > 0 {
		run.Go(func() {
			p.contain(run, "known", func() { p.resync(run.Ctx) })
		})
	}
	p.consume(run)
	return run.Err()
}

// contain calls user code. A panic there, or a call of runtime.Goexit, ends the pipeline.
func (p *Pipeline[K, T]) contain(run *usercode.Run, where string, f func()) {
	usercode.Contain(where, f, func(err *PanicError) {
		err.Resource = p.resource
		run.Fail(err)
	})
}

// resync gives all known objects to the process function in every period, once there are some.
// Like the watch, it waits while the FIFO is full.
func (p *Pipeline[K, T]) resync(ctx context.Context) {
	select {
	case <-p.Synced():
	case <-ctx.Done():
		return
	}
	ticker := time.NewTicker(p.opts.Resync)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
		if p.fifo.Resync(ctx) != nil {
			return
		}
	}
}

// consume calls the process function until the run ends.
func (p *Pipeline[K, T]) consume(run *usercode.Run) {
	for run.Ctx.Err() == nil {
		p.began, p.taken = time.Time{}, 0
		err := p.fifo.Process(run.Ctx, p.timed)
		p.reportSlow(run)
		var failed *deltafifo.ProcessError[K]
		if errors.As(err, &failed) {
			p.contain(run, "OnError", func() { p.opts.OnError(failed) })
			_ = pause.For(run.Ctx, p.opts.Retry)
		}
	}
}

// timed calls the process function, and notes when the first call of a batch began.
func (p *Pipeline[K, T]) timed(key K, deltas []deltafifo.Delta[T]) error {
	if p.taken == 0 {
		p.began = time.Now()
	}
	p.taken += len(deltas)
	return p.process(key, deltas)
}

// reportSlow reports a batch that took too long while others came.
func (p *Pipeline[K, T]) reportSlow(run *usercode.Run) {
	pending := p.fifo.Len()
	if took, slow := p.pace.Slow(p.began, p.taken, pending); slow && p.taken > 0 {
		err := &deltafifo.SlowError{Resource: p.resource, Deltas: p.taken, Took: took, Pending: pending}
		p.contain(run, "OnError", func() { p.opts.OnError(err) })
	}
}
