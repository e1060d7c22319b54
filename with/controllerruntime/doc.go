// Package controllerruntime joins Kinform's caches to programs of controller-runtime, in two steps.
//
// The first step is one line. All informers of the manager's cache become Kinform's:
//
//	m, err := ctrl.NewManager(config, ctrl.Options{Cache: cache.Options{NewInformer: controllerruntime.NewInformer}})
//
// Package with/clientgo, which has the informer, lists what differs from client-go's.
//
// The second step moves a controller to a typed cache. Its events come from a Kinform informer or handle, and reconcile
// reads from that:
//
//	server, err := clientgo.Connection(config)
//	pods, err := kinform.Open(server, core.Pods)
//	err = m.Add(controllerruntime.Runnable(pods))
//	err = ctrl.NewControllerManagedBy(m).Named("pods").
//		WatchesRawSource(controllerruntime.Source(pods, &handler.TypedEnqueueRequestForObject[*corev1.Pod]{})).
//		Complete(reconciler)
//
// It is a separate module because it needs controller-runtime, which the rest of Kinform does not.
package controllerruntime
