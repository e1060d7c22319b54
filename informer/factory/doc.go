// Package factory shares informers: all users that ask for the same objects get the same
// informer, with one watch and one cache.
//
//	f := factory.New(conn, factory.Options{})
//	pods, err := factory.For(f, core.Pods, factory.Request[*corev1.Pod]{})
//	if err != nil {
//		return err
//	}
//	defer pods.Release()
//	pods.AddHandler(handler, informer.HandlerOptions[*corev1.Pod]{})
//	go f.Run(ctx)
//	err = f.WaitForSync(ctx)
//
// # When two requests share an informer
//
// Two requests get one informer if they agree on everything that decides the content of the
// cache: the Go type, the resource, the namespace and the selectors, however these are
// written. For [Project] they must also agree on the decoded type and the name of the
// projection, and for [ForSource] on the name of the source. *unstructured.Unstructured and
// *metav1.PartialObjectMetadata are types like any other.
//
// A factory does not share informers over namespaces, because one user could remove a
// namespace that another one needs. Pass such an informer on, or let package
// controller/manager run it.
//
// # Lifetime
//
// Each call of For or Project returns a new [Handle]. An informer runs while the factory runs
// and somebody holds a handle. When the last handle is released the watch ends, and the cache
// becomes garbage once nothing refers to it. So a program can stop one informer of many
// (kubernetes#79610) and ask for it again later.
//
// [Factory.Run] returns when its context is done and all goroutines of all informers have
// ended. An informer fails only if a handler, a source or OnError panics. Then Run ends the
// others too, because a program should not continue with only a part of its caches.
//
// If another runner, such as a controller.Controller, has started an informer before the
// factory does, the factory leaves the informer to that runner, and runs it once the runner
// has ended.
package factory
