package faketest

import "testing/synctest"

// WaitIdle waits until every other goroutine of the test's testing/synctest bubble is blocked:
// on another goroutine, on time, or on the test's next step. By then every write so far has
// passed through watches, caches, handlers and queues as far as it can without time passing.
// All of that happened before WaitIdle returns.
//
// The bubble's clock stands still during the call, so WaitIdle does not wait for backoffs,
// delays of faults or timeouts. Sleep for them first, then call WaitIdle.
//
// Call it from within a bubble, from one goroutine at a time. Otherwise it panics, as
// synctest.Wait does.
func WaitIdle() { synctest.Wait() }
