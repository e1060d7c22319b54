package controller

import (
	"context"
	"sync/atomic"

	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/internal/note"
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
	from  keyOrigin[Q]
	notes note.Notes
	over  atomic.Bool // reconcile has returned: what still writes with the context is somebody else
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

func (c *callContext[Q]) causes() ([]Cause, int) {
	return causesOf(c.from.controller, c.from.key, &c.notes)
}

// attributed calls reconcile with a context that says which key it is for.
func attributed[Q comparable](c *Controller[Q], reconcile func(context.Context, Q) error) func(context.Context, Q) error {
	return func(ctx context.Context, key Q) error {
		call := &callContext[Q]{Context: ctx, from: keyOrigin[Q]{c, key}, notes: note.Of(ctx)}
		c.underway.begin(key)
		defer func() {
			call.over.Store(true)
			for _, ev := range c.underway.end(key) {
				if why, own := ev.settle(); !own {
					c.enqueue(key, ev.priority, why)
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
// reconcile caused the event. The events that queue a key are kept.
func unauthored[Q, K comparable, T any](c *Controller[Q], from informer.Informed[K, T], kept *events[K, T], handle func(informer.Event[K, T], func(Q, int))) func(informer.Event[K, T]) {
	handles, ok := from.(authored[K, T])
	author := func(ev informer.Event[K, T]) any { return nil }
	if ok {
		author = handles.author
	}
	own := func(by any, key Q) bool {
		is, ok := by.(keyOrigin[Q])
		return ok && !c.opts.OwnEvents && is == keyOrigin[Q]{c, key}
	}
	var now informer.Event[K, T] // which is handled: the handler has one goroutine
	var why note.Note            // now's, zero if it is not kept
	enqueue := func(key Q, priority int) {
		by := author(now)
		if own(by, key) {
			return
		}
		if ok && !c.opts.OwnEvents && c.underway.room(key) { // asked first: what hold gets is allocated
			ev := now
			settle := func() (note.Note, bool) {
				if by := author(ev); !own(by, key) {
					return kept.add(&ev, by != nil), false
				}
				return 0, true
			}
			if c.underway.hold(key, heldEvent{settle, priority}) {
				return
			}
			if by = author(now); own(by, key) { // the call has ended since
				return
			}
		}
		if why == 0 {
			why = kept.add(&now, by != nil)
		}
		c.enqueue(key, priority, why)
	}
	return func(ev informer.Event[K, T]) {
		now, why = ev, 0
		handle(ev, enqueue)
		now = informer.Event[K, T]{} // keeps nothing alive
	}
}
