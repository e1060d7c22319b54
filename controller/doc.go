// Package controller ties informers, a queue and a reconcile function together.
//
//	c := controller.New(controller.Options[types.NamespacedName]{})
//	err := errors.Join(
//		controller.For(c, deployments),                          // its own key
//		controller.Watch(c, pods, ownerKeys),                    // the keys of what it belongs to
//	)
//	...
//	err = c.Run(ctx, func(ctx context.Context, key types.NamespacedName) error { ... })
//
// [Controller.Run] runs the informers, waits until the handlers have seen the initial
// lists, so that reconcile finds the caches whole, and then hands out keys.
//
// # Keys
//
// A function from an object to the keys that it concerns has the shape of an index
// function: func(dst []Q, obj T) []Q. It is asked for the new and for the old object of
// an update or a deletion, so that both the former and the present owner are reconciled when a
// reference moves. "All that refer to this object" is a lookup in an index of the other
// informer's store; see the example of [Watch].
//
// # Lifetime
//
// Run returns when its context is done, the queue was shut down, or an informer failed,
// and everything that it started has ended. Run does not start informers that run already, and
// does not stop them. When one of them stops, Run returns an error. If two controllers share an
// informer, run it yourself (go inf.Run(ctx)), or get it from package informer/factory, and start
// it before the controllers. Pass the Informer of a factory's handle to For and Watch.
//
// Run waits for the initial lists for as long as they take. If a list is forbidden, or a CRD is
// missing, no key is reconciled: the informer reports the cause to its OnError, and retries. To
// fail at start instead, call WaitForSync of each informer, with a deadline, in another
// goroutine.
package controller
