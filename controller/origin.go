package controller

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/kinform/kinform/informer"
)

// origin is who makes a write: the reconcile of a key.
type origin[Q comparable] struct {
	controller *Controller[Q]
	key        Q
}

// callContext is the context of one call of reconcile. It tells the handles that the call writes through whose
// writes these are.
type callContext[Q comparable] struct {
	context.Context
	from origin[Q]
	over atomic.Bool // reconcile has returned: what still writes with the context is somebody else
}

type callKey struct{}

// Value implements context.Context.
func (c *callContext[Q]) Value(key any) any {
	if key == (callKey{}) {
		return c
	}
	return c.Context.Value(key)
}

func (c *callContext[Q]) origin() any {
	if c.over.Load() {
		return nil
	}
	return c.from
}

func (c *callContext[Q]) writers() *writers { return &c.from.controller.writers }

// anyCall is a callContext of any type of keys.
type anyCall interface {
	origin() any
	writers() *writers
}

// callOf returns the call of reconcile to which a context belongs, nil if there is none.
func callOf(ctx context.Context) anyCall {
	call, _ := ctx.Value(callKey{}).(anyCall)
	return call
}

// originOf returns the origin of the writes with a context, nil if it is of no reconcile.
func originOf(ctx context.Context) any {
	if call := callOf(ctx); call != nil {
		return call.origin()
	}
	return nil
}

// attributed calls reconcile with a context that says which key it is for.
func attributed[Q comparable](c *Controller[Q], reconcile func(context.Context, Q) error) func(context.Context, Q) error {
	return func(ctx context.Context, key Q) error {
		call := &callContext[Q]{Context: ctx, from: origin[Q]{c, key}}
		c.underway.begin(key)
		defer func() {
			call.over.Store(true)
			for _, ev := range c.underway.end(key) {
				if !ev.own() {
					c.enqueue(key, ev.priority)
				}
			}
		}()
		return reconcile(call, key)
	}
}

// underway are the reconciles that run, each with the events that came meanwhile. The watch may bring what a write made
// before the write is answered, so whose an event is can be told when reconcile has returned. That delays nothing,
// because the queue does not hand a key out while its reconcile runs. The zero value has none.
type underway[Q comparable] struct {
	mu   sync.Mutex
	held map[Q][]heldEvent // a key that is not there does not run
}

// heldEvent is an event that queues a key unless it is the key's own.
type heldEvent struct {
	own      func() bool
	priority int
}

// maxHeld is the number of events that a call holds. The next one queues its key.
const maxHeld = 64

func (u *underway[Q]) begin(key Q) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.held == nil {
		u.held = map[Q][]heldEvent{}
	}
	u.held[key] = nil
}

func (u *underway[Q]) end(key Q) []heldEvent {
	u.mu.Lock()
	defer u.mu.Unlock()
	held := u.held[key]
	delete(u.held, key)
	return held
}

// room reports whether the reconcile of key runs and can hold an event.
func (u *underway[Q]) room(key Q) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	held, runs := u.held[key]
	return runs && len(held) < maxHeld
}

// hold keeps an event if the reconcile of key runs. Otherwise it returns false.
func (u *underway[Q]) hold(key Q, ev heldEvent) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	held, runs := u.held[key]
	if runs {
		u.held[key] = append(held, ev)
	}
	return runs
}

// authored is a handle, which knows who wrote what an event brings.
type authored[K comparable, T any] interface {
	author(ev informer.Event[K, T]) any
	forget(ev informer.Event[K, T])
}

// forgetting returns a handler that has the handle forget the writes of an object that begins anew, and then calls
// handle.
func forgetting[K comparable, T any](from informer.Informed[K, T], handle func(informer.Event[K, T])) func(informer.Event[K, T]) {
	handles, ok := from.(authored[K, T])
	if !ok {
		return handle
	}
	return func(ev informer.Event[K, T]) {
		handles.forget(ev)
		handle(ev)
	}
}

// unauthored returns a handler that calls handle with a function that queues keys, but not a key whose own
// reconcile caused the event.
func unauthored[Q, K comparable, T any](c *Controller[Q], from informer.Informed[K, T], handle func(informer.Event[K, T], func(Q, int))) func(informer.Event[K, T]) {
	handles, ok := from.(authored[K, T])
	if !ok || c.opts.OwnEvents {
		return func(ev informer.Event[K, T]) { handle(ev, c.enqueue) }
	}
	own := func(ev informer.Event[K, T], key Q) bool {
		by, ok := handles.author(ev).(origin[Q])
		return ok && by == origin[Q]{c, key}
	}
	var now informer.Event[K, T] // which is handled: the handler has one goroutine
	enqueue := func(key Q, priority int) {
		if own(now, key) {
			return
		}
		if c.underway.room(key) { // asked first: what hold gets is allocated
			ev := now
			if c.underway.hold(key, heldEvent{func() bool { return own(ev, key) }, priority}) {
				return
			}
		}
		if !own(now, key) { // the call may have ended since
			c.enqueue(key, priority)
		}
	}
	return func(ev informer.Event[K, T]) {
		now = ev
		handle(ev, enqueue)
		now = informer.Event[K, T]{} // keeps nothing alive
	}
}
