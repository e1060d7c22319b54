// Package kinform names the parts of Kinform with the key that most programs use.
//
// A controller begins with [Open], which returns a handle: a cache of one kind, and its requests.
// [Index] adds an index to that cache. Package controller has the loop that calls your function
// for each key, and helpers for the usual writes:
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
// These calls return no errors: Run returns everything that is wrong with the setup, before it
// starts anything.
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
// All parts use the same key type K. So a key of one resource's queue cannot be used by mistake
// on another resource's store if the types differ, and no key is ever printed and parsed again.
// The types of this package fix K to [types.NamespacedName] and leave T to the user:
// kinform.Informer[*corev1.Pod] is informer.Informer[types.NamespacedName, *corev1.Pod]. They are
// aliases; the packages with their names have the documentation. NewInformer and the like make
// values of them with this key.
//
// # Words
//
// List, watch, relist, bookmark, resourceVersion, delta, indexer, handler and tombstone
// mean what they mean in Kubernetes and in client-go. Kinform's own words:
//
//   - key: identifies an object; of a comparable type, usually its namespace and name.
//   - source: a typed lister-watcher.
//   - sink: the target of a reflector's writes.
//   - batch: all deltas that were pending at one moment, committed in one step.
//
// # Contracts
//
// They hold everywhere, and the tests check them under faults.
//
//   - A handler sees, for each key, add (update)* delete, in the server's order; the old
//     object of an update is exactly the one it saw last. An object that was deleted and
//     made anew while no watch saw it is an update, flagged Replaced.
//   - When a handler runs for an event, the store is at least as new as the event.
//   - A delete carries the last known object and says whether the final state is unknown.
//   - Objects of the initial list are flagged. Synced is a channel, for each informer and each
//     handler; nothing polls.
//   - Once the server is quiet, the store equals the server's list, even after dropped watches,
//     410s, 429s, 5xx, truncated and garbled bodies, duplicates and restarts. It does so in contents,
//     not only in versions: a list brings the new defaults and conversions of a kind. Package
//     reflector says when that list follows.
//   - An object that cannot be used is reported, with its key if that is known, and counted. The
//     rest goes on. The object cached under its key stays.
//   - A panic in your code is reported with its stack and the object's key. In a key or index
//     function it costs one object. In a handler it ends Run with a *PanicError; the process goes
//     on.
//   - Reads through a controller.Handle have every write that was made through it, in lists and
//     indexes too.
//   - Objects returned from the cache are shared: treat them as read-only.
//   - Run returns after its context is done and every goroutine that it started has ended.
//
// # Logs
//
// Everything logs by log/slog, to Options.Logger or else to slog.Default(). Events of objects are not logged
// at any level.
//
//   - Errors go to OnError if it is set, and otherwise to the logger at Warn: a program that counts or
//     filters errors decides itself which of them to log. The message says what happened, such as
//     "informer: watch failed", and is the same for all errors of a kind; resource, key, resourceVersion,
//     verb, handler and error are attributes. They are those of the error's LogValue, so that
//     logger.Warn("…", "cache", err) in an OnError has them too. What repeats is written once a minute,
//     with the number of those omitted.
//   - Rare events are logged at Debug: Run begins and ends, lists and watches begin and end, a collection is
//     listed again and why, caches are filled, handlers are added and removed.
//   - Users of logr (klog, zap) pass slog.New(logr.ToSlogHandler(theirs)). If a library needs a logr.Logger
//     of a program that logs by slog, use logr.FromSlogHandler. Folder examples/docs has an example.
package kinform
