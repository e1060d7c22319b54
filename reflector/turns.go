package reflector

import (
	"context"
	"slices"
	"time"
)

// turns is a line of reflectors that lets one after the other go on. The breaker's mu guards it.
type turns struct {
	waiting []*waiter // in the order in which they came
	paid    time.Time // each request costs time, and those so far are paid for then
}

// due returns how long the first has to wait at now, if requests may be sent before they are
// paid for by as much as credit.
func (t *turns) due(now time.Time, credit time.Duration) time.Duration {
	return max(0, max(0, t.paid.Sub(now))-credit)
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

// listTurn returns how long one more list that broke off would have to wait.
func (b *Breaker) listTurn(every time.Duration) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.lists.due(time.Now(), 0) + time.Duration(len(b.lists.waiting))*every
}

// turnToList waits until a list that broke off may begin again. All lists of the breaker that
// broke off have one such turn together in every time given.
func (b *Breaker) turnToList(ctx context.Context, every time.Duration) {
	w := newWaiter(pauseRetry)
	b.mu.Lock()
	b.lists.waiting = append(b.lists.waiting, w)
	for {
		n, now := slices.Index(b.lists.waiting, w), time.Now()
		if n < 0 {
			break // somebody let it go
		}
		wait := time.Duration(-1)
		if n == 0 {
			wait = b.lists.due(now, 0)
		}
		if wait == 0 {
			b.lists.pay(now, every)
		}
		if wait == 0 || ctx.Err() != nil {
			b.lists.leave(n)
			break
		}
		b.mu.Unlock()
		w.wait(ctx, wait)
		b.mu.Lock()
	}
	delay := w.delay
	b.mu.Unlock()
	newWaiter(noPause).wait(ctx, delay)
}

// letListsGo follows the success of a reflector whose connection had been lost. If that is a
// complete list, two others go at once. If it is a watch, which proves less, one list goes before
// its turn, unless another one has just done so.
func (b *Breaker) letListsGo(complete bool, every time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	more := min(2, len(b.lists.waiting))
	if !complete && more > 0 {
		now := time.Now()
		if b.lists.due(now, every) > 0 {
			return
		}
		b.lists.pay(now, every)
		more = 1
	}
	for range more {
		b.lists.waiting[0].wake()
		b.lists.leave(0)
	}
}
