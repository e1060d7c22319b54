// Package factory shares informers: all users that ask for the same objects get the same
// informer, with one watch and one cache.
//
//	f := factory.New(conn, factory.Options{})
//	pods, err := factory.For(f, corev1.SchemeGroupVersion.WithResource("pods"), factory.Request[*corev1.Pod]{})
//	if err != nil {
//		return err
//	}
//	defer pods.Release()
//	pods.AddHandler(...)
//	go f.Run(ctx)
//	err = f.WaitForSync(ctx)
//
// # What is the same
//
// Two requests get one informer if they agree in everything that decides what is in the
// cache: the Go type, the resource, the namespace, the selectors, however they are written,
// and for [Project] the type that is decoded and the name of the projection. *unstructured.Unstructured and
// *metav1.PartialObjectMetadata are types like any other.
//
// # Lifetime
//
// Each For or Project hands out a [Handle] of its own. An informer runs while the factory
// does and somebody holds a handle on it; when the last one is released the watch ends and
// the cache is garbage, once nobody refers to it. So a program can stop one informer of
// many (kubernetes#79610), and ask for it again later.
//
// [Factory.Run] returns when its context is done and all goroutines of all informers have
// ended. An informer that fails, which takes a panic in a handler or a source, ends the
// others too: a program should not go on with a part of what it knows.
//
// An informer that somebody else runs when the factory would, such as a
// controller.Controller that was started first, is left to them, and goes on in the factory
// when they have ended.
package factory
