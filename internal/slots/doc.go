// Package slots is the shared body of a store and its indexes: objects in numbered
// slots, the keys that find a slot, the indexes over the slots, and the one lock in front
// of them.
//
// # Concurrency
//
// There is one writer. It alone changes a [State], so it may read it without the lock.
// Readers work between [Slots.Read] and [Slots.Done], call nothing of the user's there,
// and copy at most a bounded number of objects; whatever is longer works on a frozen view
// after Done.
//
// A small change is made in place under the lock. A large one is made on a clone of the
// State without it, and swapped in: readers never wait longer for it. So is any change of
// a State that was frozen, which stays as it is from then on.
package slots
