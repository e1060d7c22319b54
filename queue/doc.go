// Package queue is a work queue of keys for controllers: it dedups, delays, rate limits,
// prioritises, shares fairly and drains, in one type.
//
// A producer adds keys to a [Queue]. Workers get them, reconcile the objects that they name, and
// give them back. [Run] is a ready-made worker loop.
//
// # What it promises
//
// One at a time: a key that was handed out is not handed out again before it is given back with
// [Item.Done].
//
// Nothing lost: a key added while it is queued is handed out once; a key added while it runs is
// handed out again after it was given back. What happened before an Add is therefore seen by a
// hand-out that starts after it.
//
// Order: keys of one priority are handed out first in first out. A key that was added while it ran
// goes to the end when it is given back. Higher priorities come first; see [Options.AgeAfter] for
// the exception that keeps the lower ones from starving. With [Options.Class] keys of one priority
// are handed out in turns by class, and first in first out within a class.
//
// Delay: a key can be delayed (AddAfter, AddRateLimited) and queued at the same time. If a delayed
// key is added, it is handed out at once, and again at its time. A delay is never cut short, and
// fires as soon as the runtime's timer does.
//
// # Retries
//
// [Queue.AddRateLimited] counts a failure of the key and asks [Options.Limiter] for the delay. The
// limiters are [Exponential], which is the default, [FastSlow] and [Bucket]. [MaxOf] combines
// limiters, [MaxWait] bounds the delay of one, and [Jitter] spreads it. For rules of your own, such
// as a bound per key, implement [Limiter]. [Run] calls AddRateLimited for a key that failed, and
// [Queue.Forget] for one that did not.
//
// # Cancellation and lifetime
//
// A queue has no goroutine of its own. One runtime timer is set while a key is delayed; the timer's
// goroutine ends when it has moved the due keys. The timer is stopped when no delay is left, and
// then a queue that nobody refers to is garbage. Nothing polls. Get gives up when its context ends.
// After [Queue.ShutDown] adds are ignored and delays are dropped, but queued keys are still handed
// out; [Queue.Drain] waits for that. [Run] returns when all its workers have ended, and leaves the
// queue open.
//
// # User code
//
// Limiter, Class, OnError and the function given to Run are called without a lock held and may call
// the queue. A panic in any of them is contained: it is reported as a [*PanicError] and ends no
// goroutine but, at most, the call. When one of them ends a worker of Run with runtime.Goexit, its
// key is given back and another worker takes its place. Misuse has a defined result: Done without
// Get reports false, negative delays mean none, and adding after shutdown does nothing.
//
// # Costs
//
// Add, Get and Done are O(1) and take one short lock each, without allocating in the steady state.
// Priorities make Get O(priorities in use), and Add and Done O(log priorities in use). A delay
// costs O(log delayed). Memory is allocated only when the queue grows, and for the first key of a
// class, or of a priority when more than eight are in use: one small object each.
//
// A key that the queue knows takes about 170 bytes and its strings. The queue gives this memory
// back when it has become much smaller, but keeps the memory of up to a few hundred keys for later
// ones. A new queue takes less than 500 bytes, and so does an empty one after a large burst.
// Failure counts are kept until Forget, delays until they fire. The table of keys doubles, and
// shrinks, within one lock hold: about 10 ns per slot, so a few milliseconds for 100,000 keys,
// amortised over all of them.
package queue
