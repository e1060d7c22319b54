// Package informer keeps a typed, indexed cache of one Kubernetes resource and tells
// handlers what changes.
//
//	Source[T] ─▶ Reflector[T] ─▶ DeltaFIFO[K,T] ─▶ Store[K,T] ─▶ event log ─▶ handlers
//	             └ goroutine 1 ┘                    └ goroutine 2 ┘            └ one each ┘
//
// # What a handler can rely on
//
// For each key it sees add (update)* delete, in the server's order, and the old object of
// an update is exactly the one it saw last. When it runs for an event, the store is at
// least as new as the event. An object that was deleted and made anew unseen is one update,
// flagged Replaced. A delete carries the last known object and says whether the
// final state is unknown. The objects of the initial list are flagged, and so are those
// that a late handler is given to begin with: a handler can be added at any time.
// [HandlerOptions] add a filter, resyncs, or [LagCoalesce] for a slow handler. [Informer.Events] is a handler in the form of a loop.
//
// Objects are shared by the store and all handlers: do not write to them.
//
// # Concurrency
//
// Each handler has a goroutine of its own and is called by it alone, one event at a time.
// It may call everything here, its own removal included; what waits ends with the informer
// or with a context. A slow handler delays nobody until it is [HandlerLag] events behind;
// then the informer stops taking in events, and so does the watch, until the handler has
// caught up. No event is dropped. A handler with [LagCoalesce] is not waited for: it is told
// of the difference when it goes on. A handler may wait for the store however far it is
// behind: the informer goes on meanwhile, or ends the wait with [ErrHandlerBehind], see
// [Informer.WaitForRV].
//
// Store reads are safe from any goroutine, at any time. A batch of changes is committed
// in one step, so a reader never sees half of one.
//
// Key and index functions run in the informer's goroutines, with locks held that readers
// of the store do not need but that AddHandler and Remove do: they must not call the
// informer.
//
// # Lifetime and failures
//
// [Informer.Run] returns when its context is done and every goroutine that it started has
// ended. It returns nil then, and an error only if the informer could not go on: a handler,
// the source or OnError panicked ([*PanicError]). It reports every other failure to
// [Options.OnError], panics of key and index functions included, with resource, key and
// resourceVersion. If OnError is nil, it logs them to [Options.Logger].
//
// Stats().Failing says since when requests fail, why, and when the next one follows. It is zero
// while all is well. Stats().LastEvent says when the watch last brought anything. WaitForSync
// returns the cause if the first list does not succeed in time.
//
// After the server was restored from a backup, OnError gets an error that matches
// reflector.ErrRestored, Stats().Restores grows, waits for versions that are lost end with
// store.ErrRewound, and recorded writes that are lost are reported as a *[LostWriteError].
//
// [Informer.Done] is closed when Run has ended.
//
// The store can still be read after Run, and Run be called again: the store is then brought
// up to date from where it stands, and handlers go on where they were. A handler first gets
// the events that it missed. It does not get the event again in which it panicked. It does get
// the event again in which its filter panicked. Waits on the store itself outlast the stop, those
// on the informer ([Informer.WaitForRV], [Informer.WaitFor]) end with it.
//
// # Reading, and reading your own writes
//
// Store() has what the watch brought: Get, iteration, indexes, snapshots. [Informer.Get] and a
// [Lister] also have the writes that were given to [Informer.RecordWrite] and
// [Informer.RecordDelete]; index reads and handlers do not. After a write, choose one:
//
//   - RecordWrite(answer, ""): nobody waits. Informer.Get and Lister return the answer from now
//     on.
//   - WaitForRV(ctx, answer.GetResourceVersion()) returns once the store has it. Index reads see
//     it too.
//   - After a deletion, WaitFor(ctx, key, func(_ T, exists bool) bool { return !exists }), since
//     a client's Delete returns no resourceVersion.
package informer
