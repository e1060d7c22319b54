package slots

import "github.com/kinform/kinform/internal/posting"

// Index is one index over the slots, without naming the type of its values. The writer stages
// the values of new objects without the lock, because the user's function may take long or
// panic, and puts them under a slot later.
type Index[T any] interface {
	// Name returns the name for [Lookup].
	Name() string

	// Stage evaluates the index function for obj and keeps the values as value set n. The sets
	// before n must exist. Set n and all later ones are replaced; their values must be gone, by
	// Unstage or Prepare. If the function panics, Stage panics too and keeps nothing.
	Stage(n int, obj T)
	// Prepare does the part of Put for value set n that needs no lock, and reports whether Put
	// must follow. It need not if slot has the values already; then Prepare lets go of the values
	// of the set if it is the last one. It must be called before Put. stored says that the set is
	// for slot, whose values do not change before the Put. Prepare panics if a value cannot be
	// hashed.
	Prepare(n int, slot uint32, stored bool) (changed bool)
	// ReadAhead reads the values of set n and all later ones from memory, and changes nothing.
	// Without it, Prepare waits for the values of each set. Call it for many sets: for a single one
	// it costs more than it saves.
	ReadAhead(n int)
	// Unstage drops all value sets except the first n, and lets go of what they refer to.
	Unstage(n int)

	// Put makes value set n the values of slot.
	Put(slot uint32, n int)
	// Drop removes all values of slot.
	Drop(slot uint32)
	// Move renames a slot.
	Move(from, to uint32)
	// Truncate gives back memory of slots at and above n, none of which is in use.
	Truncate(n int)

	// Warm reads the memory that Drop will read for slot, and changes nothing. The result
	// depends on the bytes read, so that the compiler keeps the reads.
	Warm(slot uint32) uint32

	// Shape returns the number of distinct values, the number of the slots in their lists, and the
	// length of the longest of the lists that it looks at: up to 1,024 of them.
	Shape() (values, slots, longest int)

	// Use makes column col of rows the place of the index's back-references. It must hold the same
	// ones as the present place. An index that never got rows has its own rows.
	Use(rows *posting.Rows, col int)
	// Clone returns a copy that shares only the staged values. rows is a clone of those in use.
	Clone(rows *posting.Rows) Index[T]
	// Check compares the index with the results of its function for objs.
	Check(objs View[T]) error
}
