// Package fifo has the plain queues: [FIFO] keeps the newest object of each key, in the
// order of the keys' arrival, and [Heap] in an order of the user's own. They are for
// programs that want the present state of each object once; package deltafifo is for
// those that want all that happened to it, deletions included, and package queue for
// workers that want keys, delays and retries.
//
// # Order
//
// A key is in a queue once. Adding it again puts the newer object in the place of the
// older one; the key keeps its place in a FIFO, and moves in a Heap to where the object
// belongs. A key that was taken or deleted and is added again is a new one.
//
// # Concurrency
//
// All methods may be called by any goroutine. Only consumers wait, until their context is
// done or the queue is closed; a context that is done stops only who would have to wait,
// and [FIFO.Process]. Several goroutines may consume, but may then have different objects
// of one key in hands at the same time; [FIFO.Synced] needs a single one, or Process.
// User functions run with no lock held, but for the comparison of a Heap.
//
// # Memory
//
// In proportion to what is in the queue, not to what once was: it is given back at once.
// While a queue stays about as long as it is, Add and Pop allocate nothing. Objects that
// were taken, deleted or replaced are not held on to.
package fifo
