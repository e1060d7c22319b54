// Package fifo provides plain queues of objects, for programs that want the present state of each
// object once. [FIFO] keeps the newest object of each key in the order in which the keys arrived.
// [Heap] keeps them in an order that you define.
//
//	q := fifo.New[types.NamespacedName, *corev1.Pod]()
//	err := q.Add(key, pod)
//	item, err := q.Pop(ctx)
//
// Package deltafifo is for programs that want every change of an object, including its deletion.
// Package queue is for workers that want keys, delays and retries.
//
// # Order
//
// A key is in a queue at most once. If you add it again, the newer object replaces the older one.
// In a FIFO the key keeps its place. In a Heap it moves to the place of the new object. A key that
// is added again after it was taken or deleted counts as new.
//
// # Concurrency
//
// All methods may be called by any goroutine. Only consumers wait, until their context is done or
// the queue is closed. A context that is done stops [FIFO.Process]. It stops other calls only if
// they would have to wait. Several goroutines may consume, but then two of them may hold different
// objects of one key at the same time. [FIFO.Synced] needs a single consumer, or Process. User
// functions run with no lock held, except the comparison of a Heap.
//
// # Memory
//
// Memory is in proportion to the present length of a queue. Memory for more is given back at once.
// While the length stays about the same, Add and Pop allocate nothing. A queue keeps no references
// to objects that were taken, deleted or replaced.
package fifo
