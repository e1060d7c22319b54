package reflector

import (
	"context"
	"slices"
	"time"
)

// turns is a line of reflectors that wait for their turn to go on. The breaker's mu guards it.
type turns struct {
	waiting []*waiter // in the order in which they may go
	paid    time.Time // the time at which all requests so far are paid for; each costs some time
}

// due returns how long the first in line has to wait at now. A request may be sent up to credit
// before it is paid for.
func (t *turns) due(now time.Time, credit time.Duration) time.Duration {
	return max(0, max(0, t.paid.Sub(now))-credit) // paid may be zero, which is too far away to subtract from
}

// join puts w into the line.
func (t *turns) join(w *waiter) {
	n := len(t.waiting)
	for n > 0 && w.due.Before(t.waiting[n-1].due) {
		n--
	}
	if t.waiting = slices.Insert(t.waiting, n, w); n == 0 && len(t.waiting) > 1 {
		t.waiting[1].wake() // it was the first, and looks at the clock no more
	}
}

// pay counts a request at now.
func (t *turns) pay(now time.Time, cost time.Duration) {
	if t.paid.Before(now) {
		t.paid = now
	}
	t.paid = t.paid.Add(cost)
}

// leave takes the n-th out of the line. The new first one looks at the clock.
func (t *turns) leave(n int) {
	if t.waiting = slices.Delete(t.waiting, n, n+1); n == 0 && len(t.waiting) > 0 {
		t.waiting[0].wake()
	}
}

// leaveAll takes all out of the line and returns them. The caller wakes them.
func (t *turns) leaveAll() []*waiter {
	all := t.waiting
	t.waiting = nil
	return all
}

// waiter is a waiting reflector. The breaker's mu guards delay.
type waiter struct {
	woken    chan struct{} // holds one token once the wait is cut short
	delay    time.Duration // wait this much longer after waking
	why      pause
	due      time.Time // when it may go; for a line only
	earliest time.Time // when it may go even if it is woken before; zero for a line
}

func newWaiter(why pause) *waiter { return &waiter{woken: make(chan struct{}, 1), why: why} }

// wake cuts the wait short. A waiter in the queue then looks again whether it may go on.
func (w *waiter) wake() {
	select {
	case w.woken <- struct{}{}:
	default:
	}
}

// wait returns after d, when ctx is done, or when the waiter is woken. A negative d never ends
// by itself.
func (w *waiter) wait(ctx context.Context, d time.Duration) {
	if d == 0 {
		// Nor does it ask the clock. Under the race detector and testing/synctest, Go 1.26 can
		// crash on a channel of a timer that has expired before anybody waits for it.
		return
	}
	var due <-chan time.Time
	if d > 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		due = timer.C
	}
	select {
	case <-due:
	case <-w.woken:
	case <-ctx.Done():
	}
}
