package controller

import (
	"context"

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
}

type callKey struct{}

// Value implements context.Context.
func (c *callContext[Q]) Value(key any) any {
	if key == (callKey{}) {
		return c
	}
	return c.Context.Value(key)
}

func (c *callContext[Q]) origin() any       { return c.from }
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
		return reconcile(&callContext[Q]{ctx, origin[Q]{c, key}}, key)
	}
}

// authored is a handle, which knows who wrote what an event brings.
type authored[K comparable, T any] interface {
	author(ev informer.Event[K, T]) any
}

// unauthored returns a handler that calls handle with a function that queues keys, but not a key whose own
// reconcile caused the event.
func unauthored[Q, K comparable, T any](c *Controller[Q], from informer.Informed[K, T], handle func(informer.Event[K, T], func(Q, int))) func(informer.Event[K, T]) {
	handles, ok := from.(authored[K, T])
	if !ok || c.opts.OwnEvents {
		return func(ev informer.Event[K, T]) { handle(ev, c.enqueue) }
	}
	var by origin[Q] // of the event at hand: the handler has one goroutine
	enqueue := func(key Q, priority int) {
		if by != (origin[Q]{c, key}) {
			c.enqueue(key, priority)
		}
	}
	return func(ev informer.Event[K, T]) {
		by, _ = handles.author(ev).(origin[Q])
		handle(ev, enqueue)
	}
}
