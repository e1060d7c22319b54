package fake

import "testing/synctest"

// WaitIdle waits until all other goroutines of the test's testing/synctest bubble wait for
// each other, for time to pass or for what the test does next: then every write so far has
// come through watches, caches, handlers and queues as far as it can without time passing.
// What they did so far happened before WaitIdle returns. It takes no time of the bubble's clock:
// backoffs, delays of faults and timeouts are not waited for; sleep for them, then wait.
//
// It must be called from within a bubble, by one goroutine at a time, and panics otherwise,
// as synctest.Wait does.
func WaitIdle() { synctest.Wait() }
