package controller

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/internal/keytext"
	"github.com/kinform/kinform/internal/logs"
	"github.com/kinform/kinform/queue"
)

// Options configures a [Controller]. The zero value works: one worker, a plain queue.
type Options[Q comparable] struct {
	// Name identifies the controller in its log, its queue if Queue.Name is empty, and its handlers
	// (informer.HandlerStats). Empty means no name.
	Name string

	// Queue configures the queue, and with it how failures are retried and reported.
	Queue queue.Options[Q]

	// Run configures how many keys are reconciled at once, and for how long each.
	Run queue.RunOptions

	// SyncTimeout is how long Run waits for the initial lists, and for the handlers to see
	// them. Then it returns a [*SyncError]. Zero and negative mean as long as it takes: a list
	// that is forbidden, or whose CustomResourceDefinition is missing, is tried again until it
	// succeeds, and every failure goes to the informer's OnError.
	SyncTimeout time.Duration

	// OnError gets the [*SyncError] of a watch that was added while Run runs, and is not ready
	// SyncTimeout after that. The watch goes on trying; [Unwatch] removes it. OnError is called by
	// a goroutine of its own. Nil logs the error to Logger at level Warn.
	OnError func(error)

	// InitialPriority is the priority of keys from initial events. If it is negative, later
	// changes do not wait behind the objects that were there at the start. Zero is the
	// priority of all changes; resyncs have -100, see [For].
	InitialPriority int

	// Logger gets a record at level Debug when Run begins, when the handlers have seen the
	// initial lists, and when Run ends. If Queue.OnError is nil, it also gets a record at
	// level Warn for a key whose reconcile failed, at most one per key and minute, with the key,
	// the error and the number of failures omitted since the one before as attributes. Informers
	// have their own loggers. Nil means slog.Default().
	Logger *slog.Logger
}

// Controller reconciles keys of type Q as informers report changes.
type Controller[Q comparable] struct {
	// Set by New and never changed.
	opts   Options[Q]
	queue  *queue.Queue[Q]
	logger logs.Log

	trace   atomic.Pointer[trace[Q]] // nil until Trace; set with mu held
	taken   takenNames[Q]
	writers writers

	mu      sync.Mutex
	phase   phase
	inputs  []input
	session *session // nil before Run
}

// phase is a stage of a controller's life.
type phase uint8

const (
	notStarted phase = iota
	running
	stopped // Run ends or has ended
)

// New returns a controller without informers. It panics if Q cannot be a key, as queue.New
// does.
func New[Q comparable](opts Options[Q]) *Controller[Q] {
	c := &Controller[Q]{opts: opts, logger: logs.New(opts.Logger, "controller", "")}
	if opts.Name != "" {
		c.logger.Part += " " + opts.Name
	}
	if opts.Queue.OnError == nil {
		opts.Queue.OnError = func(key Q, err error) { c.logger.KeyError(keytext.Of(key), "reconcile failed", err) }
	}
	opts.Queue.Name = cmp.Or(opts.Queue.Name, opts.Name)
	c.queue = queue.New(opts.Queue)
	return c
}

// Queue returns the queue. Use it to add keys from other places, and for its metrics.
func (c *Controller[Q]) Queue() *queue.Queue[Q] { return c.queue }

// Untyped returns the queue for programs that look at all queues alike.
func (c *Controller[Q]) Untyped() queue.Untyped { return c.queue }

// Name returns Options.Name.
func (c *Controller[Q]) Name() string { return c.opts.Name }

// Informers returns the informers of all watches, each once, in the order of the watches.
func (c *Controller[Q]) Informers() (all []informer.Untyped) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, in := range c.inputs {
		if of, ok := in.inf.(interface{ Untyped() informer.Untyped }); ok && !slices.Contains(all, of.Untyped()) {
			all = append(all, of.Untyped())
		}
	}
	return all
}

// Metrics returns the numbers of the queue and of the reconciles. Their durations need
// Queue.Timing. Cost: see queue.Queue.Metrics.
func (c *Controller[Q]) Metrics() queue.Metrics { return c.queue.Metrics() }

// Run runs the informers, and calls reconcile for keys as queue.Run does, until ctx is done or
// the queue is shut down. Then it returns nil. It returns the error of an informer that
// failed, informer.ErrGoexit if the source or OnError of an informer ended the goroutine that ran
// it, informer.ErrStopped if an informer with another runner has stopped, [ErrNoOwners] after [Owns]
// without [For], a [*SyncError] after
// Options.SyncTimeout, queue.ErrNoFunc if reconcile is nil, and [ErrStarted] when called twice. If
// the queue is shut down before all informers have synced, Run only notices after that.
//
// The result of reconcile decides about its key: nil is success, [Again] asks for another call
// after a time, [Terminal] gives the key up until it is queued again, and any other error and a
// panic repeat the call with growing delays (queue.Run).
func (c *Controller[Q]) Run(ctx context.Context, reconcile func(context.Context, Q) error) error {
	if reconcile == nil {
		return c.named(queue.ErrNoFunc)
	}
	s, inputs, err := c.begin(ctx)
	if err != nil {
		return err
	}
	c.logger.Debug("runs")
	defer c.logger.Debug("has stopped")
	err = c.work(s.ctx, inputs, reconcile)
	inputs = c.finish()
	s.end()
	s.tasks.Wait()
	c.queue.ShutDown()
	for _, in := range inputs {
		in.reg.Remove()
		<-in.reg.Done()
	}
	if cause := errors.Join(s.failed...); cause != nil {
		return cause
	}
	return err
}

// named adds the controller's name to an error, if it has one.
func (c *Controller[Q]) named(err error) error {
	if c.opts.Name == "" {
		return err
	}
	return fmt.Errorf("%s: %w", c.opts.Name, err)
}

// work waits for the handlers to sync and then runs the workers.
func (c *Controller[Q]) work(ctx context.Context, inputs []input, reconcile func(context.Context, Q) error) error {
	if synced, err := c.sync(ctx, inputs); !synced {
		return err
	}
	c.logger.Debug("caches are filled")
	return queue.Run(c.writers.inContext(ctx), c.queue, c.opts.Run, caughtUp(c, noted(&c.taken, traced(c, reconcile), c.queue.Add)))
}
