package informer

import (
	"sync/atomic"
	"time"
)

// unreadAfter is the time for which reads must have found nothing. A program that only begins to run, and reads
// already, is quicker.
const unreadAfter = 10 * time.Second

// unread notices that an informer is read although nothing runs it. Such reads find nothing, which a reconcile function
// takes for the truth.
type unread struct {
	// Set by New and never changed.
	resource string
	onError  func(error)

	started atomic.Bool  // Run was called
	told    atomic.Bool  // it was reported, or need not be
	since   atomic.Int64 // the time of the first read that found nothing, in nanoseconds
}

// missed is called when a read of an informer has found nothing.
//
//go:noinline
func (u *unread) missed() {
	if u.started.Load() || u.told.Load() {
		return
	}
	now := time.Now().UnixNano()
	if u.since.CompareAndSwap(0, now) || now-u.since.Load() < int64(unreadAfter) || u.told.Swap(true) {
		return
	}
	u.onError(about(u.resource, ErrNotRun))
}
