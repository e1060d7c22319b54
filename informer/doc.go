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
// [HandlerOptions] say what else it wants: a filter, resyncs, or to be left behind when it is
// slow. [Informer.Events] is a handler in the form of a loop.
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
// the source or OnError panicked ([*PanicError]). What it can go on from is reported to
// [Options.OnError], key and index functions that panic included, or else logged, with
// resource, key and resourceVersion, to [Options.Logger].
//
// [Informer.Done] is closed when Run has ended.
//
// The store can still be read after Run, and Run be called again: the store is then brought
// up to date from where it stands, and handlers go on where they were. What a handler had
// not been given when the informer stopped it is given then; the event that a handler
// panicked on counts as given, one that its filter panicked on does not. Waits on the store itself outlast the stop, those on the
// informer ([Informer.WaitForRV], [Informer.WaitFor]) end with it.
package informer
