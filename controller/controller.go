package controller

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kinform/kinform/controller/internal/loops"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/internal/logs"
	"github.com/kinform/kinform/internal/mistake"
	"github.com/kinform/kinform/internal/note"
	"github.com/kinform/kinform/internal/usercode"
	"github.com/kinform/kinform/queue"
)

// Options configures a [Controller]. The zero value works: one worker, a plain queue.
type Options[Q comparable] struct {
	// Queue configures the queue, and with it how failures are retried and reported.
	Queue queue.Options[Q]

	// Run configures how many keys are reconciled at once, and for how long each.
	Run queue.RunOptions

	// SyncTimeout is how long Run waits for the initial lists, and for the handlers to see
	// them. Then it returns a [*SyncError]. Zero and negative mean as long as it takes: a list
	// that is forbidden, or whose CustomResourceDefinition is missing, is tried again until it
	// succeeds, and every failure goes to the informer's OnError. A manager runs controllers
	// once their caches are filled: set manager.Options.SyncTimeout for the lists, and this for
	// the handlers.
	SyncTimeout time.Duration

	// OnError gets the errors of watches that are added while Run runs. The goroutine that calls
	// [For] or its like reports an error of that call. If the watch is not ready after SyncTimeout,
	// another goroutine reports a [*SyncError]; the watch then goes on trying, and [Unwatch]
	// removes it. Nil logs the error to Logger at level Warn.
	OnError func(error)

	// OwnEvents also queues a key for events that its own reconcile caused. Otherwise such events
	// queue nothing, because the call that wrote knows what it wrote: see the package
	// documentation.
	OwnEvents bool

	// Logger gets a record at level Debug when Run begins, when the handlers have seen the initial
	// lists, and when Run ends; one at level Warn if Run begins without a watch and without a queued
	// key, although both may come later. If Queue.OnError is nil, it also gets a record at level Warn for a
	// key whose reconcile failed, at most one per key and minute. The attributes are the key, the
	// error, the cause of the reconcile unless it panicked (see [CausesOf]), and the number of
	// failures omitted since the last record. Informers have their own loggers. Nil means slog.Default().
	Logger *slog.Logger
}

// Controller reconciles keys of type Q as informers report changes. [For] and its like do nothing with
// a nil Controller, and its Err and Run return [ErrInvalid].
type Controller[Q comparable] struct {
	// Set by New and never changed.
	name      string
	reconcile func(context.Context, Q) error
	opts      Options[Q]
	queue     *queue.Queue[Q]
	logger    logs.Log
	logs      bool // the errors of reconcile

	trace    atomic.Pointer[trace[Q]] // nil until Trace; set with mu held
	taken    takenNames[Q]
	writers  writers
	underway underway[Q]
	added    atomic.Uint64   // inputs, and so their last number
	loops    *loops.Detector // set by New

	mu      sync.Mutex
	phase   phase
	faults  []error // of the setup
	inputs  []input
	session *session // nil before Run
}

// Cache is an informer of any type, or a handle on one: *informer.Informer, *factory.Handle and
// [*Handle] implement it. Package controller/manager runs caches that controllers share.
type Cache interface {
	Run(context.Context) error
	Done() <-chan struct{}
	WaitForSync(context.Context) error
	Resource() string
	// Err returns what is wrong with its setup.
	Err() error
}

// input is an informer with the controller's handler on it.
type input struct {
	inf     Cache
	reg     *informer.Registration
	handle  watchedHandle // nil if it is no handle
	number  uint64        // among all inputs of the controller
	events  keptEvents    // that queued a key
	call    string        // that added it
	owners  Cache         // whose keys it queues, if For has to add it; nil for For and Watch
	removed chan struct{} // closed by Unwatch
}

// watchedHandle is a handle that was given to For or its like.
type watchedHandle interface {
	Cache
	writer
	writes() *ownWrites
}

// session is the call of Run.
type session struct {
	// Set by begin and never changed.
	outer context.Context // Run's
	ctx   context.Context // ends with outer, with the workers, or if an informer fails
	end   context.CancelFunc

	tasks sync.WaitGroup // none begins in phase stopped

	// Guarded by the controller's mu, until the tasks have ended.
	informers map[Cache]*informerRun
	failed    []error
}

// informerRun is a time in which the session runs one informer, or follows its run.
type informerRun struct {
	stop context.CancelFunc // nil if Unwatch has called it
	over chan struct{}      // closed at the end
}

// phase is a stage of a controller's life.
type phase uint8

const (
	phaseNotStarted phase = iota
	phaseRunning
	phaseStopped // Run ends or has ended
)

// New returns a controller without informers. Its name identifies it in its log, in its queue if
// Queue.Name is empty, in its handlers (informer.HandlerStats) and in errors. The name may be
// empty. Run calls reconcile for keys, as queue.Run does. Pass one Options, or none for the zero
// value.
//
// The result of reconcile decides what happens to its key: nil is success, [Again] asks for another
// call after a time, and [Terminal] gives the key up until it is queued again. Any other error, and
// a panic, repeat the call with growing delays (queue.Run).
//
// [Controller.Err] and Run return a mistake in the setup: [ErrInvalid] if reconcile is nil or
// there are several Options. New panics if Q cannot be a key, as queue.New does.
func New[Q comparable](name string, reconcile func(context.Context, Q) error, options ...Options[Q]) *Controller[Q] {
	c := &Controller[Q]{name: name, reconcile: reconcile, loops: loops.New()}
	if reconcile == nil {
		c.faults = append(c.faults, c.named(fmt.Errorf("controller: New: reconcile: %w", mistake.NoFunc)))
	}
	opts, err := oneOf(options)
	if err != nil {
		c.faults = append(c.faults, c.named(fmt.Errorf("controller: Options: %w", err)))
	}
	c.logger = logs.New(opts.Logger, "controller", "")
	if name != "" {
		c.logger.Part += " " + name
	}
	if opts.Queue.OnError == nil {
		opts.Queue.OnError, c.logs = c.logFailure, true
	}
	opts.Queue.Name = cmp.Or(opts.Queue.Name, name)
	c.opts = opts
	c.queue = queue.New(opts.Queue)
	return c
}

// oneOf returns the only one of options, or the zero value. The error is an [ErrInvalid].
func oneOf[O any](options []O) (opts O, err error) {
	switch len(options) {
	case 0:
		return opts, nil
	case 1:
		return options[0], nil
	}
	return opts, fmt.Errorf("%w: there are %d, give one at most", errOptions, len(options))
}

// Err returns every mistake in the setup of the controller so far, joined: the errors of [New],
// [For], [Owns], [Watch] and [References], and the errors of the handles and informers that it was
// given. Nil means that there is none. It is safe from any goroutine.
func (c *Controller[Q]) Err() error {
	if c == nil {
		return fmt.Errorf("controller: %w", errNil)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.wrong()
}

// wrong is Err with mu held.
func (c *Controller[Q]) wrong() error {
	all := slices.Clone(c.faults)
	seen := map[Cache]bool{}
	for _, in := range c.inputs {
		if !seen[in.inf] {
			seen[in.inf] = true
			all = append(all, in.inf.Err())
		}
		if err := c.checkOwners(in); err != nil && c.session == nil {
			all = append(all, c.named(err))
			if !seen[in.owners] {
				seen[in.owners] = true
				all = append(all, in.owners.Err())
			}
		}
	}
	return errors.Join(all...)
}

// refuse keeps an error of the setup. A nil Controller needs none.
func (c *Controller[Q]) refuse(err error) {
	if c == nil {
		return
	}
	err = c.named(err)
	c.mu.Lock()
	c.faults = append(c.faults, err)
	late := c.phase != phaseNotStarted
	c.mu.Unlock()
	if late {
		usercode.Report(c.logger, c.opts.OnError, err)
	}
}

// checkOwners returns an error unless For or Watch has added the owners of in, too. The caller holds mu.
func (c *Controller[Q]) checkOwners(in input) error {
	watched := func(other input) bool { return other.inf == in.owners && other.owners == nil }
	if in.owners == nil || slices.ContainsFunc(c.inputs, watched) {
		return nil
	}
	return fmt.Errorf("controller: %s of %s by %s: %w", in.call, in.inf.Resource(), in.owners.Resource(), errNoOwners)
}

// Queue returns the queue. Use it to add keys from other places, and for its metrics.
func (c *Controller[Q]) Queue() *queue.Queue[Q] { return c.queue }

// Untyped returns the queue for programs that look at all queues alike.
func (c *Controller[Q]) Untyped() queue.Untyped { return c.queue }

// Name returns the name that New got.
func (c *Controller[Q]) Name() string { return c.name }

// Informers returns the informers of all watches, each once, in the order of the watches.
func (c *Controller[Q]) Informers() (all []informer.Untyped) {
	for _, cache := range c.Caches() {
		if of, ok := cache.(interface{ Untyped() informer.Untyped }); ok {
			all = append(all, of.Untyped())
		}
	}
	return all
}

// Caches returns the caches that For and its like were given, each once, in the order of the calls.
// It returns a handle if one of the calls got the handle, and otherwise the informer.
func (c *Controller[Q]) Caches() (all []Cache) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := map[Cache]int{} // by informer
	for _, in := range c.inputs {
		n, known := at[in.inf]
		if !known {
			n = len(all)
			at[in.inf] = n
			all = append(all, in.inf)
		}
		if in.handle != nil {
			all[n] = in.handle
		}
	}
	return all
}

// Metrics returns the numbers of the queue and of the reconciles. Durations need Queue.Timing.
// Cost: see queue.Queue.Metrics.
func (c *Controller[Q]) Metrics() queue.Metrics { return c.queue.Metrics() }

// named adds the controller's name to an error, if it has one.
func (c *Controller[Q]) named(err error) error {
	if c.name == "" {
		return err
	}
	return fmt.Errorf("%s: %w", c.name, err)
}

// unchangedPriority is the priority of keys that nothing has changed for. It is the same as controller-runtime's.
const unchangedPriority = -100

// priority returns the priority of a key from an event.
func priority(initial, sync bool) int {
	if initial || sync {
		return unchangedPriority
	}
	return 0
}

// enqueue adds a key. One that waits with a lower priority gets this one.
func (c *Controller[Q]) enqueue(key Q, priority int, why note.Note) {
	if byOthers(why) && c.loops.Listens() {
		if hash := maphash.Comparable(c.loops.Seed, key); c.loops.Hears(hash) {
			hear(c.loops, hash, causeOf(c.present(), key, why))
		}
	}
	c.queue.AddWith(key, queue.AddOptions{Priority: priority, Note: why})
}
