package informer

import (
	"cmp"
	"context"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/kinform/kinform/internal/eventlog"
)

// Registration is a handler's registration with an informer. All methods may be called from
// any goroutine, including the handler's own.
type Registration struct {
	// Set when it is made and never changed.
	name   string
	synced chan struct{}
	remove func(drain bool)

	removed atomic.Bool // the handler must not be called any more

	mu     sync.Mutex
	done   chan struct{}
	ceased bool // done is closed
}

// Name returns the handler's name: HandlerOptions.Name, or the generated one.
func (r *Registration) Name() string { return r.name }

// Synced is closed once the handler has been called for every object that was there when it
// began: the informer's initial list or, for a handler added later, the store.
func (r *Registration) Synced() <-chan struct{} { return r.synced }

// Done is closed once the handler is not being called: after its removal, for good, or when
// the informer has stopped. If the informer runs again, Done returns a new channel from then
// on.
func (r *Registration) Done() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.done
}

// Remove removes the handler and drops the events that it has not got. Remove does not wait.
// An event whose filter or handler is running, or is about to run, is still handled, and no
// other. Calling Remove again does nothing. If the end of the callback matters, call Remove
// and then [Registration.Wait].
func (r *Registration) Remove() {
	if r.removed.CompareAndSwap(false, true) {
		r.remove(false)
	}
}

// Drain removes the handler once it has got all changes that the store had before the call.
// Drain does not wait. If the informer is not running, or stops before the handler is done,
// the remaining events are dropped. Remove after Drain ends the handler at once.
func (r *Registration) Drain() { r.remove(true) }

// Wait returns nil once the handler is not being called, see [Registration.Done], or ctx's
// error. Inside the handler's own callback it can only return the latter.
func (r *Registration) Wait(ctx context.Context) error {
	select {
	case <-r.Done():
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// begin records that the handler is being called from now on.
func (r *Registration) begin() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ceased {
		r.done, r.ceased = make(chan struct{}), false
	}
}

// cease records that the handler is not being called.
func (r *Registration) cease() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.ceased {
		close(r.done)
		r.ceased = true
	}
}

// AddHandler registers h: before Run, while it runs, after it, or from a handler. If the initial
// list is complete, the handler first gets an Added event, flagged Initial, for every object in the
// store, and then the changes since. The informer waits for it as for any other. AddHandler returns
// [ErrNoHandler] if h has nothing to call.
func (i *Informer[K, T]) AddHandler(h Handler[K, T], opts HandlerOptions[T]) (*Registration, error) {
	return i.typed.AddHandler(h, opts)
}

func (i *core[K, T]) AddHandler(h Handler[K, T], opts HandlerOptions[T]) (*Registration, error) {
	if isNil(h) {
		return nil, ErrNoHandler
	}
	l := &listener[K, T]{inf: i, handler: h, opts: opts}
	addListener(i, l)
	i.logger.Debug("handler is added", slog.String("handler", l.reg.name))
	return l.reg, nil
}

// addListener registers l and starts it if the informer runs.
func addListener[K comparable, T any](i *core[K, T], l *listener[K, T]) {
	i.mu.Lock()
	defer i.mu.Unlock()
	register(i, l)
	switch i.phase {
	case running:
		start(i, i.session.Load(), l)
	case stopping, stopped:
		l.reg.cease() // otherwise a waiter would wait for the next Run
	}
}

// register gives l a view of the store and the log at the same moment. Called with mu held.
func register[K comparable, T any](i *core[K, T], l *listener[K, T]) {
	i.named++
	if l.opts.Name == "" {
		l.opts.Name = "handler " + strconv.Itoa(i.named)
	}
	l.opts.Resync = min(cmp.Or(l.opts.Resync, i.opts.Resync), maxResync)
	l.reg = &Registration{
		name:   l.opts.Name,
		synced: make(chan struct{}),
		done:   make(chan struct{}),
		remove: func(drain bool) {
			remove(i, l, drain)
			i.logger.Debug("handler is removed", slog.String("handler", l.reg.name), slog.Bool("drain", drain))
		},
	}
	l.cursor = newCursor(i, l)
	traceFrom(i, l)
	if l.opts.Lag == LagCoalesce {
		i.coalescing = append(i.coalescing, l)
	}
	if l.opts.Unchanged {
		i.unchanged++
	}
	if hasSyncedAll(i) || i.store.Len() > 0 {
		l.found, l.early = new(i.store.Snapshot()), !hasSyncedAll(i)
	}
	i.listeners[l] = struct{}{}
}

func newCursor[K comparable, T any](i *core[K, T], l *listener[K, T]) *eventlog.Cursor[Event[K, T]] {
	if l.opts.Lag == LagCoalesce {
		return eventlog.NewLossyCursor(&i.log)
	}
	return eventlog.NewCursor(&i.log)
}

// remove ends l. If l is not being called, it is forgotten at once.
func remove[K comparable, T any](i *core[K, T], l *listener[K, T], drain bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	l.leaving = true
	if drain {
		eventlog.Finish(l.cursor)
	} else {
		eventlog.Close(l.cursor)
	}
	if !l.active {
		forgetRun(i, l)
		release(l)
	}
}
