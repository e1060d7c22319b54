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
// [Controller.Run] runs the informers and waits until the handlers have seen the initial
// lists. Only then does it call reconcile, so reconcile always finds complete caches.
//
// # Keys
//
// The function that maps an object to the keys it concerns has the form of an index function:
// func(dst []Q, obj T) []Q. In an update or a deletion it is called for the new and for the
// old object, so that both owners are reconciled when a reference moves. To find all objects
// that refer to an object, look them up in an index of the other informer's store: see the
// example of [Watch].
//
// # Lifetime
//
// Run returns when its context is done, when the queue was shut down, or when an informer
// failed. By then everything that it started has ended. Run does not start informers that run
// already, and does not stop them. When one of them stops, Run returns an error. If two
// controllers share an informer, run it yourself (go inf.Run(ctx)), or get it from package
// informer/factory, and start it before the controllers. Pass the Informer of a factory's
// handle to For and Watch.
//
// Run waits for the initial lists as long as they take. If a list is forbidden, or a CRD is
// missing, no key is reconciled: the informer reports the cause to its OnError, and retries.
// To fail at start instead, call each informer's WaitForSync with a deadline in another
// goroutine.
package controller
