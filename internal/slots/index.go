package slots

import "github.com/kinform/kinform/internal/cowvec"

// Keys is what finds slots by key, whatever the type of the keys: a *keytable.Map. Whoever
// inserts into the State and knows that type adds the key.
type Keys interface {
	// Len returns the number of slots that have a key.
	Len() int
	// Reserve makes room for n more slots.
	Reserve(n int)
	// Remove takes the key from slot.
	Remove(slot uint32)
	// Move renames a slot.
	Move(from, to uint32)
	// Truncate says that slots at and above n are gone.
	Truncate(n int)
	// Clone returns keys of their own.
	Clone() Keys
}

// Index is one index over the slots, whatever the type of its values. The writer stages
// the values of new objects without the lock, where the user's function may take its
// time or panic, and puts them under a slot later.
type Index[T any] interface {
	// Name is what [State.Lookup] finds.
	Name() string

	// Stage evaluates the index function for obj and keeps the values as number Staged.
	// It panics when the function does, and then keeps nothing.
	Stage(obj T)
	// Prepare does for value set n what a Put needs not do under the lock, and must come
	// before it. With stored, the set is for slot, and the values that slot has now are
	// those that it has when the set is put: if they are the same, Put does nothing. It
	// panics when a value cannot be hashed. What it returns means nothing; see Warm.
	Prepare(n int, slot uint32, stored bool) uint32
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

	// Warm reads what Drop will read of slot, while the writer waits for other memory, and
	// changes nothing. It returns something that depends on what it read.
	Warm(slot uint32) uint32

	// Clone returns an index of its own, which shares only what is staged.
	Clone() Index[T]
	// Check compares the index with what its function says of objs.
	Check(objs cowvec.View[T]) error
}
