package informer

import (
	"cmp"
	"log/slog"
	"strconv"
	"time"

	"github.com/kinform/kinform/internal/eventlog"
	"github.com/kinform/kinform/internal/mistake"
)

// AddHandler registers h: before Run, while it runs, after it, or from a handler. If the initial
// list is complete, the handler first gets an Added event, flagged Initial, for every object in the
// store, and then the changes since. The informer waits for it as for any other. AddHandler returns
// [ErrInvalid] if h has nothing to call.
func (i *Informer[K, T]) AddHandler(h Handler[K, T], opts HandlerOptions[T]) (*Registration, error) {
	return i.typed.AddHandler(h, opts)
}

func (i *core[K, T]) AddHandler(h Handler[K, T], opts HandlerOptions[T]) (*Registration, error) {
	if isNil(h) {
		return nil, mistake.NoHandler
	}
	l := &listener[K, T]{inf: i, handler: h, opts: opts}
	addListener(i, l)
	tellAdded(&i.base, l.reg)
	return l.reg, nil
}

// addListener registers l and starts it if the informer runs.
func addListener[K comparable, T any](i *core[K, T], l *listener[K, T]) {
	i.mu.Lock()
	defer i.mu.Unlock()
	register(i, l)
	switch i.phase {
	case phaseRunning:
		startListener(i, present(&i.base), l)
	case phaseStopping, phaseStopped:
		l.reg.cease() // otherwise a waiter would wait for the next Run
	}
}

// register gives l a view of the store and the log at the same moment. Called with mu held.
func register[K comparable, T any](i *core[K, T], l *listener[K, T]) {
	l.opts.Resync = min(cmp.Or(l.opts.Resync, i.opts.Resync), maxResync)
	l.reg = newRegistration(&i.base, l.opts.Name, func(drain bool) { removeListener(i, l, drain) })
	l.opts.Name = l.reg.name
	l.cursor = newCursor(i, l)
	traceFrom(i, l)
	if l.opts.Coalesce {
		i.coalescing = append(i.coalescing, l)
	}
	if l.opts.Unchanged {
		i.unchanged++
	}
	if hasSyncedAll(&i.base) || i.store.Len() > 0 {
		l.found, l.early = new(i.store.Snapshot()), !hasSyncedAll(&i.base)
	}
	i.listeners[l] = struct{}{}
}

// newRegistration makes what the user gets of a handler. Called with mu held.
func newRegistration(i *base, name string, remove func(drain bool)) *Registration {
	i.named++
	if name == "" {
		name = "handler " + strconv.Itoa(i.named)
	}
	return &Registration{
		name:   name,
		synced: make(chan struct{}),
		done:   make(chan struct{}),
		remove: func(drain bool) {
			remove(drain)
			i.logger.Debug("handler is removed", slog.String("handler", name), slog.Bool("drain", drain))
		},
	}
}

func tellAdded(i *base, to *Registration) {
	i.logger.Debug("handler is added", slog.String("handler", to.name))
}

// maxResync is the longest period. One and a half times of it must fit a Duration.
const maxResync = 100 * 365 * 24 * time.Hour

// removeListener ends l. If l is not being called, it is forgotten at once.
func removeListener[K comparable, T any](i *core[K, T], l *listener[K, T], drain bool) {
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
