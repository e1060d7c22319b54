// Package controllerruntime brings Kinform's caches to programs that use controller-runtime.
//
// One line gives a manager Kinform's cache. In the measurements (bench/RESULTS.md), the first sync
// of 10,000 pods is more than twice as fast, and a pod takes 4.3 KB in memory instead of 9.5 KB:
//
//	m, err := ctrl.NewManager(config, ctrl.Options{NewCache: controllerruntime.NewCache})
//
// If the manager must keep controller-runtime's cache, clientgo.NewSharedIndexInformer of package
// with/clientgo gives that cache Kinform's informers. You gain their behaviour under faults, and
// neither speed nor memory, because client-go still decodes:
//
//	m, err := ctrl.NewManager(config, ctrl.Options{Cache: cache.Options{NewInformer: clientgo.NewSharedIndexInformer}})
//
// Then controllers can move to typed caches, one at a time. The events of such a controller come
// from a Kinform informer or handle, and reconcile reads from that:
//
//	server, err := clientgo.Connection(config)
//	pods := kinform.Open(server, core.Pods)
//	err = m.Add(controllerruntime.Runnable(pods))
//	err = ctrl.NewControllerManagedBy(m).Named("pods").
//		WatchesRawSource(controllerruntime.Source(pods, &handler.TypedEnqueueRequestForObject[*corev1.Pod]{})).
//		Complete(reconciler)
//
// Independently of its cache, a controller can use Kinform's queue:
//
//	builder.WithOptions(controller.Options{NewQueue: controllerruntime.NewQueue[ctrl.Request]})
//
// # Several replicas
//
// [Divide] divides the requests of a controller among replicas, by package shard.
// docs/sharding.md has an example.
//
// # NewCache
//
// The cache has all methods of controller-runtime's cache and honours all of cache.Options but
// NewInformer: with that, NewCache returns an error, because the cache makes its informers
// itself. It decodes the objects itself too, in protobuf if their type has it. Equal parts of the
// objects of a kind are in memory once, and [CacheOptions] can drop their managed fields. So
// handlers and index functions must not write to an object, as with controller-runtime's cache.
// Reads return copies, unless they or the options ask for the cache's objects.
//
// A list begins with the rarest of the values that it asks for: of its fields, its namespace and
// its labels. When someone lists a kind of 1,024 objects or more by the value of a label, the
// cache makes an index for that label, for up to eight labels. That list pays by one look at each
// object. A label's index takes about 12 bytes per object.
//
// What differs from controller-runtime's cache:
//
//   - A panic in a handler makes Start return an error, so that the manager ends.
//     controller-runtime ends the process.
//   - An object is left out and logged if it cannot be decoded, if the transform function refuses
//     it, or if an index function panics on it. An index function's error is logged.
//   - A read of a kind that was removed meanwhile, or that nobody asked for before the end of
//     Start, returns an error that matches informer.ErrStopped. controller-runtime waits for the
//     end of the read's context.
//   - Typed objects in handlers, and objects that are not copied, have their kind and apiVersion.
//   - Without watch bookmarks there are no streaming lists either. controller-runtime's informers
//     ask for a stream that never ends its list, and do not sync.
//   - The informers are no toolscache.SharedIndexInformers. What AddIndexers adds takes memory,
//     and no method reads it.
//   - A transform function may write to its object, so objects with a transform function share no
//     parts. Prefer CacheOptions.DropManagedFields to cache.TransformStripManagedFields.
//   - The encodings of the rest.Config are not used: package client chooses.
//   - If a read waits in vain for the first list, the error says which request fails.
//
// The cache does not know of writes. controller-runtime's client can wait for its own, with this
// cache as with any.
//
// # Tests
//
// Package simulated, below this one, lets fake/sim explore a program with a manager: it looks for a schedule of crashes,
// refusals and late events in which a controller goes wrong.
//
// This is a separate module because it needs controller-runtime, which the rest of Kinform does
// not.
package controllerruntime
