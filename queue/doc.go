// Package queue is a work queue of keys for controllers. One type dedups, delays, rate limits,
// prioritises, shares fairly and drains.
//
//	q := queue.New(queue.Options[string]{})
//	q.Add("prod/web")
//	err := queue.Run(ctx, q, queue.RunOptions{Workers: 4}, reconcile)
//
// A producer adds keys to a [Queue]. Workers get the keys, reconcile the objects that they name,
// and give them back. [Run] is a ready-made worker loop.
//
// # What it promises
//
// One at a time: the queue does not hand out a key again before the key is given back with
// [Item.Done].
//
// Nothing lost: a key that is added while it is queued is handed out once. A key that is added
// while it runs is handed out again after it was given back. So a hand-out that starts after an Add
// sees what happened before the Add.
//
// Order: keys of one priority are handed out first in first out. A key that was added while it ran
// goes to the end when it is given back. Higher priorities come first; see [AddOptions] for
// the exception that keeps the lower ones from starving. With [Options.Class], keys of one priority
// are handed out in turns by class, and first in first out within a class.
//
// Delay: a key can be delayed (AddAfter, AddRateLimited) and queued at the same time. If a delayed
// key is added, it is handed out at once, and again at its time. A delay is never cut short.
//
// # Retries
//
// [Queue.AddRateLimited] counts a failure of the key and asks [Options.Limiter] for the delay. The
// limiters are [Exponential] (the default), [FastSlow] and [Bucket]. [MaxOf], [MaxWait] and
// [Jitter] combine and change limiters. For other rules, such as a bound per key, implement
// [Limiter]. [Run] calls AddRateLimited for a key that failed, and [Queue.Forget] for one that did
// not.
//
// # Cancellation and lifetime
//
// A queue has no goroutine. While a key is delayed, one runtime timer is set, and its goroutine
// ends when it has moved the due keys. Once no delay is left, a queue that nobody refers to is
// garbage. Nothing polls.
//
// Get gives up when its context ends. After [Queue.ShutDown] the queue ignores adds and drops
// delays, but still hands out queued keys. [Queue.Drain] waits for that. [Run] leaves the queue
// open.
//
// # User code
//
// The queue calls Limiter, Class, OnError and the function given to Run without a lock held, and
// they may call the queue. A panic in any of them is contained: it is reported as an *informer.PanicError
// and ends at most the call. When one of them ends a worker of Run with runtime.Goexit, the
// worker's key is given back and another worker takes its place. Misuse has a defined result: Done
// without Get reports false, negative delays mean none, and adding after shutdown does nothing.
//
// # Costs
//
// Add, Get and Done are O(1) and take one short lock each, without allocating in the steady state.
// Priorities make Get O(priorities in use), and Add and Done O(log priorities in use). A delay
// costs O(log delayed). Memory is allocated only when the queue grows, and for the first key of a
// class, or of a priority when more than eight are in use: one small object each.
//
// A key in the queue takes about 210 bytes and its strings. When the queue has become much smaller,
// it gives this memory back, but keeps the memory of up to a few hundred keys for later ones. A new
// queue takes less than 500 bytes, and so does an empty one after a large burst. Failure counts are
// kept until Forget, and delays until they fire. The table of keys doubles, and shrinks, within one
// lock hold: about 10 ns per slot, so a few milliseconds for 100,000 keys, amortised over all of
// them.
package queue
