package slots

import "github.com/kinform/kinform/internal/cowvec"

// Index is one index over the slots, whatever the type of its values. The writer stages
// the values of new objects without the lock, where the user's function may take its
// time or panic, and puts them under a slot later.
type Index[T any] interface {
	// Name is what [State.Lookup] finds.
	Name() string

	// Stage evaluates the index function for obj and keeps the values as number Staged.
	// It panics when the function does, and then keeps nothing.
	Stage(obj T)
	// Staged returns the number of value sets staged.
	Staged() int
	// Unstage forgets all but the first n value sets.
	Unstage(n int)

	// Put makes value set n the values of slot.
	Put(slot uint32, n int)
	// Drop takes all values from slot.
	Drop(slot uint32)
	// Move renames a slot.
	Move(from, to uint32)
	// Truncate says that slots at and above n are gone.
	Truncate(n int)

	// Warm reads what Put, or with leaving Drop, will read of slot, and changes nothing.
	Warm(slot uint32, leaving bool) uint32

	// Clone returns an index of its own, which shares only what is staged.
	Clone() Index[T]
	// Check compares the index with what its function says of objs.
	Check(objs cowvec.View[T]) error
}
