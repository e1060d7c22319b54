package controller

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/internal/logs"
	"github.com/kinform/kinform/queue"
)

var (
	// ErrNoKeys is returned by Watch if the function for keys is nil.
	ErrNoKeys = errors.New("controller: the function for keys is nil")

	// ErrNoInformer is returned by For and Watch for a nil informer.
	ErrNoInformer = errors.New("controller: the informer is nil")

	// ErrStarted is returned by a second call of Run, and by For and Watch after Run.
	ErrStarted = errors.New("controller: Run was called before")
)

// Options configures a [Controller]. The zero value works: one worker, a plain queue.
type Options[Q comparable] struct {
	// Queue configures the queue, and with it how failures are retried and reported.
	Queue queue.Options[Q]

	// Run configures how many keys are reconciled at once, and for how long each.
	Run queue.RunOptions

	// InitialPriority is the priority of keys from initial events. If it is negative, later
	// changes do not wait behind the objects that were there at the start. Zero is the
	// priority of all other events.
	InitialPriority int

	// Logger gets a record at level Debug when Run begins, when the handlers have seen the
	// initial lists, and when Run ends. If Queue.OnError is nil, it also gets a record at
	// level Warn for every key whose reconcile failed, with the key and the error as
	// attributes. Informers have their own loggers. Nil means slog.Default().
	Logger *slog.Logger
}

// Controller reconciles keys of type Q as informers report changes.
type Controller[Q comparable] struct {
	// Set by New and never changed.
	opts   Options[Q]
	queue  *queue.Queue[Q]
	logger logs.Log

	mu      sync.Mutex
	started bool
	inputs  []input
}

// input is an informer with the controller's handler on it.
type input struct {
	inf runner
	reg *informer.Registration
}

// runner is an *informer.Informer of any type.
type runner interface {
	Run(context.Context) error
	Done() <-chan struct{}
}

// New returns a controller without informers. It panics if Q cannot be a key, as queue.New
// does.
func New[Q comparable](opts Options[Q]) *Controller[Q] {
	c := &Controller[Q]{opts: opts, logger: logs.Log{To: opts.Logger, Part: "controller"}}
	if opts.Queue.OnError == nil {
		opts.Queue.OnError = func(key Q, err error) { c.logger.KeyError(fmt.Sprint(key), err) }
	}
	c.queue = queue.New(opts.Queue)
	return c
}

// Queue returns the queue. Use it to add keys from other places, and for its metrics.
func (c *Controller[Q]) Queue() *queue.Queue[Q] { return c.queue }

// For queues the key of every object of inf that is added, updated or deleted. If an object
// was deleted and created again while no watch saw it, its key is queued once: where the
// difference matters, reconcile must compare UIDs. It returns [ErrNoInformer], [ErrStarted],
// or the errors of inf.AddHandler.
func For[Q comparable, T any](c *Controller[Q], inf *informer.Informer[Q, T]) error {
	return add(c, inf, func(ev informer.Event[Q, T]) { c.enqueue(ev.Key, ev.Initial) })
}

// Watch calls keys for the object of every event of inf, and in an update or a deletion also
// for the old object, even if that was a different object (informer.Event.Replaced). It queues
// all keys that keys appends. keys runs in the handler's goroutine, one call at a time. Watch
// returns [ErrNoKeys], [ErrNoInformer], [ErrStarted], or the errors of inf.AddHandler.
func Watch[Q, K comparable, T any](c *Controller[Q], inf *informer.Informer[K, T], keys func(dst []Q, obj T) []Q) error {
	if keys == nil {
		return ErrNoKeys
	}
	var buf []Q // of the handler's goroutine
	enqueue := func(obj T, initial bool) {
		found := keys(buf[:0], obj)
		for _, key := range found {
			c.enqueue(key, initial)
		}
		// found may be a slice that keys owns, even a part of the object. It is not kept, and
		// buf grows separately.
		if len(found) > cap(buf) {
			buf = make([]Q, 0, len(found))
		}
	}
	return add(c, inf, func(ev informer.Event[K, T]) {
		enqueue(ev.Object, ev.Initial)
		if ev.Type != informer.Added {
			enqueue(ev.Old, false)
		}
	})
}

func add[Q, K comparable, T any](c *Controller[Q], inf *informer.Informer[K, T], handle func(informer.Event[K, T])) error {
	if inf == nil {
		return ErrNoInformer
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.started {
		return ErrStarted
	}
	reg, err := inf.AddHandler(informer.HandlerFunc[K, T](handle), informer.HandlerOptions[T]{})
	if err != nil {
		return err
	}
	c.inputs = append(c.inputs, input{inf: inf, reg: reg})
	return nil
}

func (c *Controller[Q]) enqueue(key Q, initial bool) {
	if initial && c.opts.InitialPriority != 0 {
		c.queue.AddWith(key, queue.AddOptions{Priority: c.opts.InitialPriority})
		return
	}
	c.queue.Add(key)
}

// Run runs the informers, and calls reconcile for keys as queue.Run does, until ctx is done or
// the queue is shut down. Then it returns nil. It returns the error of an informer that
// failed, informer.ErrStopped if an informer with another runner has stopped,
// queue.ErrNoHandler if reconcile is nil, and [ErrStarted] when called twice. If the queue is
// shut down before all informers have synced, Run only notices after that.
func (c *Controller[Q]) Run(ctx context.Context, reconcile func(context.Context, Q) error) error {
	if reconcile == nil {
		return queue.ErrNoHandler
	}
	inputs, err := c.start()
	if err != nil {
		return err
	}
	c.logger.Debug("runs")
	defer c.logger.Debug("has stopped")
	run, cancel := context.WithCancel(ctx)
	defer cancel()
	failed := make([]error, len(inputs))
	var wg sync.WaitGroup
	known := make(map[runner]bool, len(inputs)) // each runs once, no matter how many handlers it has
	for n, in := range inputs {
		if known[in.inf] {
			continue // otherwise it would seem to have another runner
		}
		known[in.inf] = true
		wg.Go(func() {
			failed[n] = runOrFollow(ctx, run, in.inf)
			cancel()
		})
	}
	err = c.work(run, inputs, reconcile)
	cancel()
	wg.Wait()
	c.queue.ShutDown()
	for _, in := range inputs {
		in.reg.Remove()
		<-in.reg.Done()
	}
	if cause := errors.Join(failed...); cause != nil {
		return cause
	}
	return err
}

// runOrFollow runs inf until run is done, which ends with ctx. If inf has another runner, it
// only waits for the end of inf, because a controller must not continue with a dead cache.
func runOrFollow(ctx, run context.Context, inf runner) error {
	// Not errors.Is: a handler may have panicked with an error from another Run.
	if err := inf.Run(run); err != informer.ErrRunning {
		return err
	}
	select {
	case <-run.Done():
	case <-inf.Done():
		// If ctx ends both, the informer may be done first.
		if run.Err() == nil && ctx.Err() == nil {
			return informer.ErrStopped
		}
	}
	return nil
}

func (c *Controller[Q]) start() ([]input, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.started {
		return nil, ErrStarted
	}
	c.started = true
	return c.inputs, nil
}

// work waits for the handlers to sync and then runs the workers.
func (c *Controller[Q]) work(ctx context.Context, inputs []input, reconcile func(context.Context, Q) error) error {
	for _, in := range inputs {
		select {
		case <-in.reg.Synced():
		case <-ctx.Done():
			return nil
		}
	}
	c.logger.Debug("caches are filled")
	return queue.Run(ctx, c.queue, c.opts.Run, reconcile)
}
