// Package kinform is the starting point for programs that use Kinform, a library for Kubernetes
// controllers. It names Kinform's parts with the key type that most programs use.
//
// [Open] returns a handle: a cache of one kind, and requests to the server. [Index] adds an index to
// that cache. Package controller has the loop that calls your function for each key, and helpers for
// the usual writes:
//
//	pods := kinform.Open(server, core.Pods)
//	byNode := kinform.Index(pods, "node", func(pod *corev1.Pod) string { return pod.Spec.NodeName })
//	c := controller.New("pods", func(ctx context.Context, key kinform.Key) error {
//		pod, ok := pods.Cached(key)
//		...
//		neighbours := byNode.Get(pod.Spec.NodeName)
//		...
//	})
//	controller.For(c, pods)
//	err := c.Run(ctx) // or manager.Run(ctx, c, others...)
//
// These calls return no errors. Run returns every mistake in the setup before it starts anything.
//
// Package client has connections, with/kubeconfig makes one from a kubeconfig, with/kubernetes has
// the kinds of Kubernetes itself, and package fake is a server for tests.
//
// # The way of an object
//
//	API server ─▶ client.Resource[T] or fake.Source[T]          a reflector.Source[T]: list and watch
//	                  │ objects and events, decoded one by one
//	                  ▼
//	              reflector.Reflector[T]                        list, watch, resume, relist
//	                  │ Listed, Replace, Apply
//	                  ▼
//	              deltafifo.DeltaFIFO[K,T]                      deltas per key, bounded
//	                  │ one batch
//	                  ▼
//	informer      store.Store[K,T] ◀── reads: Get, List, indexes  holds an index.Indexer[T]
//	.Informer         │ events
//	[K,T]             ▼
//	              informer.Handler[K,T] …                       one goroutine each
//	                  │ keys
//	                  ▼
//	              queue.Queue[K] ─▶ queue.Run ─▶ your reconcile function
//
// All parts use the same key type K. So if two resources have different key types, the compiler
// refuses a key of one in the store of the other. No key is ever printed and parsed again.
//
// The types of this package fix K to [types.NamespacedName] and leave T to you:
// kinform.Informer[*corev1.Pod] is informer.Informer[types.NamespacedName, *corev1.Pod]. They are
// aliases, and their packages document them.
//
// # Words
//
// List, watch, relist, bookmark, resourceVersion, delta, indexer, handler and tombstone mean what
// they mean in Kubernetes and in client-go. Kinform adds these words:
//
//   - key: identifies an object. Its type is comparable. Usually it is the namespace and the name.
//   - source: a typed lister-watcher.
//   - sink: the target of a reflector's writes.
//   - batch: all deltas that were pending at one moment, committed in one step.
//
// # Contracts
//
// The tests check these contracts under faults.
//
//   - A handler sees, for each key, add (update)* delete, in the server's order. The old object of an
//     update is exactly the one that the handler saw last. If an object was deleted and created again
//     while no watch saw it, the handler gets an update, flagged Replaced.
//   - When a handler runs for an event, the store is at least as new as the event.
//   - A delete carries the last known object and says whether the final state is unknown.
//   - Objects of the initial list are flagged. Each informer and each handler has a channel Synced.
//     Nothing polls.
//   - Once the server is quiet, the store equals the server's list, even after dropped watches, 410s,
//     429s, 5xx, truncated and garbled bodies, duplicates and restarts. The contents are equal, not
//     only the versions: a list brings the new defaults and conversions of a kind. Package reflector
//     says when that list follows.
//   - An object that cannot be used is reported, with its key if that is known, and counted.
//     Everything else goes on. The object cached under its key stays.
//   - A panic in your code is reported with its stack and the object's key. In a key or index
//     function only that object is skipped. In a handler the panic ends Run with a *PanicError, and
//     the process goes on.
//   - Reads through a controller.Handle include every write that was made through it, in lists and
//     indexes too.
//   - Objects returned from the cache are shared: treat them as read-only.
//   - Run returns after its context is done and every goroutine that it started has ended.
//
// # Logs
//
// Everything logs through log/slog, to Options.Logger or else to slog.Default(). Events of objects
// are never logged.
//
//   - Errors go to OnError if you set it, and otherwise to the logger at Warn. The message says what
//     happened, such as "informer: watch failed", and is the same for all errors of a kind. Resource,
//     key, resourceVersion, verb, handler and error are attributes. The error's LogValue holds them,
//     so logger.Warn("…", "cache", err) in your OnError logs them too. A repeated error is written
//     once a minute, with the number of those omitted.
//   - Rare events are logged at Debug: Run, lists and watches begin and end, a collection is listed
//     again and why, caches are filled, handlers are added and removed.
//   - With logr (klog, zap), pass slog.New(logr.ToSlogHandler(yours)). In the other direction, use
//     logr.FromSlogHandler. Folder examples/docs has an example.
package kinform
