// Package slots is the state that a store and its indexes share: objects in numbered slots, the
// keys that find a slot, the indexes over the slots, and the one lock that guards them.
//
// # Concurrency
//
// There is one writer. Only the writer changes a [State], so it may read it without the lock.
// Readers work between [Slots.Read] and [Slots.Done]. There they call no user code and copy a
// bounded number of objects. A longer read works on a frozen view after Done.
//
// A small change is made in place under the lock. A large change is made without the lock on a
// clone of the State, which is then swapped in, so that readers do not wait for it. A frozen
// State never changes: every change after a freeze is made on a clone too. Tables with copy-on-write pages
// would make that cheaper, and cost every lookup one more read.
//
// A table without a lock, with an atomic pointer per object, would cost an allocation per insertion, or
// race on the words of an entry. Readers hold the lock for a lookup of some 100 ns. Beside a writer at full
// speed they do twice the reads of client-go, because the writer holds it so briefly.
package slots
