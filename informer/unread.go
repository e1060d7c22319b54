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
	known atomic.Bool               // that something fills the store, or that it was reported that nothing does
	since atomic.Pointer[time.Time] // the first read that found nothing
}

// missed is called when a read has found nothing. It returns true once, when that is to be reported.
func (u *unread) missed() bool {
	if u.known.Load() {
		return false
	}
	now := time.Now()
	if u.since.CompareAndSwap(nil, &now) || now.Sub(*u.since.Load()) < unreadAfter {
		return false
	}
	return !u.known.Swap(true)
}

// missed reports that nothing runs the informer.
func (i *core[K, T]) missed() {
	if i.unread.missed() {
		i.report(about(i.name, ErrNotRun))
	}
}
