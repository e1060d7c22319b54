package controller

import (
	"context"
	"sync/atomic"

	"github.com/kinform/kinform/informer"
)

// keyOrigin is who makes a write: the reconcile of a key.
type keyOrigin[Q comparable] struct {
	controller *Controller[Q]
	key        Q
}

// callContext is the context of one call of reconcile. It tells the handles that the call writes through whose
// writes these are.
type callContext[Q comparable] struct {
	context.Context
	from keyOrigin[Q]
	over atomic.Bool // reconcile has returned: what still writes with the context is somebody else
}

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

// attributed calls reconcile with a context that says which key it is for.
func attributed[Q comparable](c *Controller[Q], reconcile func(context.Context, Q) error) func(context.Context, Q) error {
	return func(ctx context.Context, key Q) error {
		call := &callContext[Q]{Context: ctx, from: keyOrigin[Q]{c, key}}
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
		by, ok := handles.author(ev).(keyOrigin[Q])
		return ok && by == keyOrigin[Q]{c, key}
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
