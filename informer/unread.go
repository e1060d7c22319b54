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
	known atomic.Bool  // that something fills the store, or that it was reported that nothing does
	since atomic.Int64 // the time of the first read that found nothing, in nanoseconds
}

// missed is called when a read of an informer has found nothing.
//
//go:noinline
func (u *unread) missed(resource string, onError func(error)) {
	if u.known.Load() {
		return
	}
	now := time.Now().UnixNano()
	if u.since.CompareAndSwap(0, now) || now-u.since.Load() < int64(unreadAfter) || u.known.Swap(true) {
		return
	}
	onError(about(resource, ErrNotRun))
}

func (i *core[K, T]) missed() { i.unread.missed(i.name, i.opts.OnError) }
