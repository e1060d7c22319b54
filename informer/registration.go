package informer

import "sync/atomic"

// Registration is a handler's place at an informer.
type Registration struct {
	synced  chan struct{}
	done    chan struct{}
	removed atomic.Bool
	remove  func()
}

// Synced is closed once the handler has been called for every object that was there when
// it began: the informer's initial list, or the store for a handler added later.
func (r *Registration) Synced() <-chan struct{} { return r.synced }

// Done is closed once the handler is not being called and never will be again: after
// Remove, or when the informer has stopped.
func (r *Registration) Done() <-chan struct{} { return r.done }

// Remove takes the handler off. It does not wait: a callback that is running may go on,
// and no other begins. Wait on Done where that matters, though not in the callback
// itself. Removing again does nothing.
func (r *Registration) Remove() {
	if r.removed.CompareAndSwap(false, true) {
		r.remove()
	}
}

// AddHandler registers h: before Run, while it runs, or from a handler. A handler that is
// added after the initial list first gets an Added event, flagged Initial, for every
// object in the store, and then what has happened meanwhile; the informer waits for it as
// for any other, if it falls [HandlerLag] events behind. It returns [ErrNilHandler],
// or [ErrStopped] after Run.
func (i *Informer[K, T]) AddHandler(h Handler[K, T]) (*Registration, error) {
	if isNil(h) {
		return nil, ErrNilHandler
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.phase == stopped {
		return nil, ErrStopped
	}
	l := &listener[K, T]{inf: i, handler: h, cursor: i.log.NewCursor()}
	l.reg = &Registration{
		synced: make(chan struct{}),
		done:   make(chan struct{}),
		remove: func() { i.remove(l) },
	}
	if i.hasSynced() {
		l.late, l.found = true, i.store.Snapshot()
	}
	i.listeners[l] = struct{}{}
	if i.phase == running {
		i.start(l)
	}
	return l.reg, nil
}

// remove ends l, for good if it has not been started.
func (i *Informer[K, T]) remove(l *listener[K, T]) {
	l.cursor.Close()
	i.mu.Lock()
	defer i.mu.Unlock()
	if _, there := i.listeners[l]; there && i.phase == notStarted {
		delete(i.listeners, l)
		close(l.reg.done)
	}
}
