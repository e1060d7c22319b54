// Package deltafifo provides the queue between a reflector and a store. A producer adds a delta for
// each change to a key, and a consumer takes all pending deltas as one batch.
//
//	reflector ── Add, Update, Delete, Replace, Bookmark ──▶ DeltaFIFO[K,T] ── Pop ──▶ store
//	               a timer ── Resync ──▶                  ◀── Requeue ──
//
// A consumer that handles one key at a time uses [DeltaFIFO.Process] in place of Pop. A [Sink] puts
// what a reflector brings into a queue.
//
// # Ordering
//
// The keys of a batch are in the order of their first deltas. Each key has all its deltas, in the
// order in which they were added. The order of deltas of different keys is lost. So commit a batch
// as a whole: the store has a state that the server once had before and after the batch, but not in
// the middle.
//
// A consumer that fails to process a key gives it back with [DeltaFIFO.Requeue]. The key's deltas
// come again in the next batch, before all newer deltas of the key.
//
// # Finding deletions
//
// The list given to [DeltaFIFO.Replace] contains only the objects that exist. If a known object is
// not in it, the object was deleted unseen, and its key gets a Deleted delta whose final state is
// unknown. The queue looks for a known object in the newest state of the key: its last pending
// delta, else its last delta in the batch being processed, else its object in the [KnownObjects]
// store. A batch is being processed until the next Pop or TryPop, or until Process returns. Delete
// uses the same rule to find out whether there is an object to delete.
//
// The consumer must commit each delta to the store or give it back. Otherwise the next Replace does
// not know the delta.
//
// # Concurrency
//
// Any number of goroutines may produce, and one consumes. A producer can process a batch in place
// of a consumer that waits ([Sink.ApplyNow]), but only one batch is in flight at a time.
//
// The queue calls [KnownObjects] and [Replacement.Keep] under its lock, and no other
// user code. So a store's lock is taken after the queue's lock: a goroutine that holds the store's
// lock must not call the queue.
//
// Producers wait while the queue is at its limit, in no particular order. The consumer waits while
// the queue is empty. Both waits end when their context is done or the queue is closed. A context
// that is done stops Process, and other calls only if they would have to wait.
//
// # Memory
//
// The limit bounds the pending deltas. The batch in flight may hold as many again, and may be given
// back. Two buffers alternate between pending and in flight, so in the long run an event allocates
// nothing. The queue drops its references to objects when their batch is done. The buffers shrink
// some batches after a burst, and at once after a list much larger than the limit.
package deltafifo
