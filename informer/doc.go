// Package informer keeps a typed, indexed cache of one Kubernetes resource and calls handlers for
// its changes.
//
//	Source[T] ─▶ Reflector[T] ─▶ DeltaFIFO[K,T] ─▶ Store[K,T] ─▶ event log ─▶ handlers
//	             └ goroutine 1 ┘                    └ goroutine 2 ┘            └ one each ┘
//
//	pods, err := informer.New(source, store.ObjectKey, informer.Options[*corev1.Pod]{})
//	...
//	go pods.Run(ctx)
//	err = pods.WaitForSync(ctx)
//	pod, ok := pods.Get(types.NamespacedName{Namespace: "prod", Name: "web-0"})
//
// Goroutine 1 is the caller of [Informer.Run]. It also commits a watch event that no other event
// follows at once, because waking another goroutine takes longer. Goroutine 2 runs only while there
// is more to commit. In an informer over namespaces ([NewNamespaced]), each namespace has both, and
// the caller of Run waits.
//
// # What a handler can rely on
//
// For each key a handler sees add (update)* delete, in the server's order. The old object of an
// update is exactly the one that the handler saw last. When the handler runs for an event, the
// store is at least as new as the event.
//
// After each list, the store has the contents of the list. An object gets no event if its version
// and contents are unchanged. If the contents have changed at an old version, handlers get an
// update. [Event] says how the informer notices that.
//
// If an object was deleted and created again while no watch saw it, the handler gets one update,
// flagged Replaced. A delete carries the last known object and says whether the final state is
// unknown.
//
// You can add a handler at any time. It first gets all existing objects, flagged Initial.
// [HandlerOptions] add a filter, resyncs, or [HandlerOptions].Coalesce for a slow handler. [Informer.Events] is
// a handler in the form of a loop.
//
// The store and all handlers share the objects: treat them as read-only. With Options.Packed, reads return
// new objects, but the handlers still share those of an event. To keep only a part of
// each object, wrap the source with reflector.Map.
//
// # Concurrency
//
// Each handler has its own goroutine, which calls it for one event at a time. A handler may call
// every method of this package, including its own removal. A call that waits ends when the informer
// stops or its context is done.
//
// A slow handler delays nobody until it is 4,096 events behind. Then the informer, and with
// it the watch, stops taking events until the handler has caught up. No event is dropped. If that
// takes long, or if a handler does not return from a call, OnError gets a [*SlowHandlerError] that
// names the handler. The informer never waits for a handler with [HandlerOptions].Coalesce. A handler may wait
// for the store, however far it is behind: see [Informer.WaitForRV].
//
// Store reads are safe from any goroutine at any time. A batch of changes is committed in one step,
// so a reader never sees half of one.
//
// Key and index functions run in the informer's goroutines. They must not call the informer,
// because they run with locks held that AddHandler and Remove need. Readers of the store do not
// need these locks.
//
// # Lifetime and failures
//
// [Informer.Run] returns when its context is done and every goroutine that it started has ended. It
// then returns nil. It returns an error only if the informer cannot continue because a handler, the
// source or OnError panicked ([*PanicError]). A panic never leaves its goroutine, and OnError gets
// it even if Run has another reason to end. Every other failure goes to [Options.OnError] with
// resource, key and resourceVersion, including panics of key and index functions. If OnError is
// nil, the informer logs the failures to [Options.Logger].
//
// Stats().Failing says since when requests fail, and why. If the cache does not fill,
// [Informer.WaitForSync] returns the cause.
//
// When the server was restored from a backup, OnError gets an error that matches
// reflector.ErrRestored, and Stats().Restores grows. Waits for lost versions end with
// store.ErrRewound. Each lost write that was recorded is reported as a [*LostWriteError]. In an
// informer over namespaces, all other namespaces then list again.
//
// [Informer.Done] is closed when Run has ended. You can still read the store then, and call Run
// again. The second run updates the store from its last state, and handlers continue where they
// stopped: each first gets the events that it missed. A handler that panicked does not get the
// event again that it panicked on, but it does if its filter panicked. Waits on the store outlast
// the stop. Waits on the informer ([Informer.WaitForRV], [Informer.WaitFor]) end with it.
//
// # Several namespaces
//
// [NewNamespaced] makes an informer of a set of namespaces, which can come and go. Each is a part
// of the collection with a separate source, reflector and version. A key belongs to one part.
//
// # Reading, and reading your own writes
//
// Store() has the newest known state of each object, whether a list, the watch, or the server's
// answer to a write of this process brought it ([Informer.RecordWrite], [Informer.RecordGone]).
// Get, lists, iteration, indexes and snapshots read the same store. Only list and watch move its
// resourceVersion. After a write, choose one:
//
//   - RecordWrite(answer, "") does not wait. When it returns, all reads have the answer, and
//     handlers are about to get it.
//   - WaitForRV(ctx, answer.GetResourceVersion()) returns once the watch has brought the write.
//   - WaitFor(ctx, key, func(_ T, exists bool) bool { return !exists }) is for a deletion: a
//     client's Delete returns no resourceVersion.
package informer
