package informer

import "time"

// HandlerOptions configure one handler. With the zero value the handler gets every change and
// nothing else, and the informer waits for it when it is slow.
type HandlerOptions[T any] struct {
	// Name identifies the handler in logs, errors and [HandlerStats]. Empty means "handler 1",
	// "handler 2" and so on, in the order of addition.
	Name string

	// Filter selects the objects that the handler gets. An object that begins to pass is Added for
	// the handler. An object that ceases to pass is Deleted, with the last state that passed. An
	// Updated event stays flagged Replaced if both objects pass. Filter must always return the same
	// answer for the same object. It runs in the handler's goroutine. Nil lets all objects pass.
	Filter func(obj T) bool

	// Resync is the period after which the handler gets every object again, as an Updated event
	// that is flagged Sync. The first resync comes after 0.5 to 1.5 periods, so that handlers which
	// began together do not resync together. A resync does not hold up changes. Zero means
	// Options.Resync, negative means never.
	Resync time.Duration

	// Unchanged also delivers the objects that a relist found unchanged, as Updated events
	// that are flagged Sync. client-go always does so. Unchanged does not cause relists.
	Unchanged bool

	// Coalesce lets the handler fall behind. Otherwise the informer waits for a handler that is 4,096
	// events behind. The watch waits too, and so do all other handlers once they have got the events
	// before that point; the handler misses no state. While any goroutine waits for the store, the
	// limit is four times as high: see [Informer.WaitForRV].
	//
	// When a handler with Coalesce is so far behind and continues, it gets the
	// difference since then: one event per key, without the states in between. An object that
	// was deleted and created again meanwhile is Updated, flagged Replaced. An object that
	// came and went is left out. The usual rules hold: add (update)* delete, and the old
	// object of an update is the one seen last. A Deleted event of this kind says that the
	// final state is unknown. A handler that does not move keeps up to two old copies of the
	// collection in memory, as far as they differ from the current one. Catching up costs time
	// for each object written since, and a comparison of pointers for its neighbours in
	// memory.
	Coalesce bool
}
