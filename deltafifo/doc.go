// Package deltafifo is the queue between a reflector and a store: a producer writes down
// what happened to which key, and a consumer takes all that is pending as one batch.
//
//	reflector ── Add, Update, Delete, Replace, Bookmark ──▶ DeltaFIFO[K,T] ── Pop ──▶ store
//	               a timer ── Resync ──▶                  ◀── Requeue ──
//
// [DeltaFIFO.Process] is the form for a consumer that takes key by key.
//
// # Ordering
//
// A batch has its keys in the order in which they first got a delta, and with each key
// all its deltas in the order in which they came. Between keys the order of single
// deltas is lost, which is why a batch must be committed as a whole: before and after it
// a store is as the server once was, in the middle it is not.
//
// A key that a consumer could not process it gives back with [DeltaFIFO.Requeue]: its
// deltas come again in the next batch, before those that came after them, so that a key's
// deltas are in order over all batches.
//
// # Knowing what was deleted
//
// [DeltaFIFO.Replace] is told only what exists. What is missing was deleted unseen, and
// gets a Deleted delta whose final state is unknown. Missing is judged against the newest
// state that there is of a key: pending here, else in the batch being processed, else in
// the [Known] store. A batch counts as being processed until the next Pop, or until the
// end of Process. Delete finds out in the same way whether there is something to delete.
//
// That holds as long as the batch ends up in the store or comes back: what a consumer
// neither commits nor gives back is not there for the next Replace.
//
// # Concurrency
//
// Any number of goroutines may produce; one consumes. [Known] and [List.Keep] are used
// under the lock; nothing else is called back. So a store's lock is taken within the
// queue's: whoever holds the former must not call the queue. Producers wait while the
// queue is at its limit, in no particular order, and the consumer while it is empty, both
// until their context is done or the queue is closed. A context that is done stops only
// who would have to wait, and Process.
//
// # Memory
//
// Deltas are pending up to the limit, and as many may be in flight, or come back from
// there. Two buffers change places between the two, so that in the long run an event
// allocates nothing. An object is let go of when its batch is done. The buffers themselves
// shrink some batches after a burst, and at once after a list much larger than the limit.
package deltafifo
