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

// Registration is a handler's place at an informer. All methods may be called from any
// goroutine, the handler's included.
type Registration struct {
	// Set when it is made and never changed.
	name   string
	synced chan struct{}
	remove func(drain bool)

	removed atomic.Bool // the handler is not to be called any more

	mu     sync.Mutex
	done   chan struct{}
	ceased bool // done is closed
}

// Name returns the handler's name: HandlerOptions.Name, or the one made up for it.
func (r *Registration) Name() string { return r.name }

// Synced is closed once the handler has been called for every object that was there when
// it began: the informer's initial list, or the store for a handler added later.
func (r *Registration) Synced() <-chan struct{} { return r.synced }

// Done is closed once the handler is not being called: after it was removed, and that is
// for ever, or when the informer has stopped. If the informer is run again, Done returns
// another channel from then on.
func (r *Registration) Done() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.done
}

// Remove takes the handler off and drops what it has not been given. It does not wait: the
// event that is being filtered or handled, or is about to be, is handled to the end, and no
// other. Removing again does nothing.
// Where the end of the callback matters, Remove and then [Registration.Wait].
func (r *Registration) Remove() {
	if r.removed.CompareAndSwap(false, true) {
		r.remove(false)
	}
}

// Drain takes the handler off once it has been given all that the store had before the
// call. It does not wait. What an informer that is not running would have to give, or has
// not given when it stops, is dropped. Remove after Drain ends the handler at once.
func (r *Registration) Drain() { r.remove(true) }

// Wait returns nil once the handler is not being called, see [Registration.Done], or
// ctx's error. In a callback of the handler itself it can only return the latter.
func (r *Registration) Wait(ctx context.Context) error {
	select {
	case <-r.Done():
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// begin says that the handler is being called from now on.
func (r *Registration) begin() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ceased {
		r.done, r.ceased = make(chan struct{}), false
	}
}

// cease says that the handler is not being called.
func (r *Registration) cease() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.ceased {
		close(r.done)
		r.ceased = true
	}
}

// AddHandler registers h: before Run, while it runs, after it, or from a handler. Of
// several options the last one counts. A handler that is added after the initial list
// first gets an Added event, flagged Initial, for every object in the store, and then what
// has happened meanwhile; the informer waits for it as for any other. It returns
// [ErrNoHandler].
func (i *Informer[K, T]) AddHandler(h Handler[K, T], opts ...HandlerOptions[T]) (*Registration, error) {
	if isNil(h) {
		return nil, ErrNoHandler
	}
	l := &listener[K, T]{inf: i, handler: h, opts: lastOf(opts)}
	i.add(l)
	i.logger.Debug("handler is added", slog.String("handler", l.reg.name))
	return l.reg, nil
}

// add registers l and starts it if the informer runs.
func (i *Informer[K, T]) add(l *listener[K, T]) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.register(l)
	switch i.phase {
	case running:
		i.start(i.session.Load(), l)
	case stopping, stopped:
		l.reg.cease() // who waits for it would wait for the next Run
	}
}

// register makes l see the store and the log at one moment. Called with mu held.
func (i *Informer[K, T]) register(l *listener[K, T]) {
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
			i.remove(l, drain)
			i.logger.Debug("handler is removed", slog.String("handler", l.reg.name), slog.Bool("drain", drain))
		},
	}
	l.cursor = i.newCursor(l)
	if l.opts.Lag == LagCoalesce {
		i.coalescing = append(i.coalescing, l)
	}
	if l.opts.Unchanged {
		i.unchanged++
	}
	if i.hasSynced() {
		l.found = new(i.store.Snapshot())
	}
	i.listeners[l] = struct{}{}
}

func (i *Informer[K, T]) newCursor(l *listener[K, T]) *eventlog.Cursor[Event[K, T]] {
	if l.opts.Lag == LagCoalesce {
		return i.log.NewLossyCursor()
	}
	return i.log.NewCursor()
}

// remove ends l, for good if it is not being called.
func (i *Informer[K, T]) remove(l *listener[K, T], drain bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	l.leaving = true
	if drain {
		l.cursor.Finish()
	} else {
		l.cursor.Close()
	}
	if !l.active {
		i.forget(l)
		l.release()
	}
}
