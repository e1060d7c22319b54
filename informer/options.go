package informer

import "time"

// HandlerOptions are what a handler can ask for. The zero value gets every change, and
// nothing else, and makes the informer wait when the handler is slow.
type HandlerOptions[T any] struct {
	// Name says which handler it is, in logs, errors and [HandlerStats]. Empty stands for
	// "handler 1" and so on, in the order in which they were added.
	Name string

	// Filter selects the objects that the handler gets. An object that begins to pass is Added
	// to the handler. One that ceases to pass is Deleted, with the last state that passed. An
	// Updated event stays flagged Replaced if both objects pass. Filter must always give the
	// same answer for the same object. It runs in the handler's goroutine. Nil passes all.
	Filter func(obj T) bool

	// Resync is how often the handler is told of every object anew, as an Updated event
	// that is flagged Sync. The first time comes after half of it to one and a half, so
	// that handlers which began together do not resync together. It does not hold up
	// changes: those come in between. Zero is what [Options] say, negative is never.
	Resync time.Duration

	// Unchanged tells the handler also of the objects that a relist has found unchanged,
	// as Updated events that are flagged Sync; client-go does so. It does not ask for
	// relists.
	Unchanged bool

	// Lag is what happens when the handler is [HandlerLag] events behind.
	Lag LagPolicy
}

// LagPolicy is what happens when a handler is too slow.
type LagPolicy uint8

const (
	// LagWait makes the informer wait, and with it the watch and all other handlers, when
	// they have got what came before. The handler misses no state.
	LagWait LagPolicy = iota

	// LagCoalesce lets the handler fall behind. Once it is able to go on, it is told of
	// what is different since, once per key, and misses the states between: an object that
	// was deleted and made anew meanwhile is Updated, flagged Replaced, one that came and went is not told
	// of. The kind's own rules hold: add (update)* delete, with an update's old object being
	// the one seen last. A Deleted event so found says that the final state is unknown. A
	// handler that stands still holds on to two copies of the collection at most, as far as
	// they differ from the present one. Coming back costs time for the objects that were
	// written since, and a comparison of pointers for their neighbours in memory.
	LagCoalesce
)

// lastOf returns the options that count, of those given.
func lastOf[T any](opts []HandlerOptions[T]) HandlerOptions[T] {
	if len(opts) == 0 {
		return HandlerOptions[T]{}
	}
	return opts[len(opts)-1]
}
