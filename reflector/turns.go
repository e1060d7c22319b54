package reflector

import (
	"context"
	"slices"
	"time"
)

// wellAfter is the time after which a line that has not broken is taken to be well when an answer
// comes. It is longer than two turns of watches.
const wellAfter = 250 * time.Millisecond

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

// line returns the line for reflectors that wait for the reason why, with the cost of a request and
// the credit. All lists have one turn together in every after listBurst at once, and all watches have
// watchTurns.
func (b *Breaker) line(why pause, every time.Duration) (t *turns, cost, credit time.Duration) {
	if why == pauseRetry {
		return &b.lists, every, (listBurst - 1) * every
	}
	return &b.watches, every / watchTurns, (resumeBurst - 1) * every
}

// turn returns how long a reflector that waits for the reason why may have to wait for its turn.
func (b *Breaker) turn(why pause, every time.Duration) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	t, cost, credit := b.line(why, every)
	return t.due(time.Now(), credit) + time.Duration(len(t.waiting))*cost
}

// takeTurn waits until it is the turn of a reflector that waits for the reason why, and at least
// for wait.
func (b *Breaker) takeTurn(ctx context.Context, why pause, every, wait time.Duration) {
	w := newWaiter(why)
	w.due = time.Now().Add(wait)
	b.mu.Lock()
	t, cost, credit := b.line(why, every)
	t.join(w)
	for {
		n, now := slices.Index(t.waiting, w), time.Now()
		if n < 0 {
			break // somebody let it go
		}
		left := time.Duration(-1)
		if n == 0 {
			left = max(t.due(now, credit), w.due.Sub(now))
		}
		if left == 0 {
			t.pay(now, cost)
		}
		if left == 0 || ctx.Err() != nil {
			t.leave(n)
			break
		}
		b.mu.Unlock()
		w.wait(ctx, left)
		b.mu.Lock()
	}
	delay := w.delay
	b.mu.Unlock()
	newWaiter(noPause).wait(ctx, delay)
}

// letWatchGo follows an answer. It lets a watch go before its turn, unless the line broke a moment
// ago. The caller holds mu.
func (b *Breaker) letWatchGo() {
	now := time.Now()
	if len(b.watches.waiting) == 0 || now.Sub(b.brokeAt) < wellAfter {
		return
	}
	w := b.watches.waiting[0]
	w.delay = max(0, w.due.Sub(now))
	w.wake()
	b.watches.leave(0)
}

// letListsGo follows the success of a reflector whose connection had been lost. If that is a
// complete list, two others go at once. If it is a watch, which proves less, one list goes before
// its turn, and not often: a list that breaks a connection breaks its watches, too.
func (b *Breaker) letListsGo(complete bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	most := 2
	if !complete {
		now := time.Now()
		if len(b.lists.waiting) == 0 || now.Sub(b.lastWake[pauseRetry]) < busyWakeEvery {
			return
		}
		b.lastWake[pauseRetry], most = now, 1
		b.lists.pay(now, turnEvery)
	}
	for range min(most, len(b.lists.waiting)) {
		b.lists.waiting[0].wake()
		b.lists.leave(0)
	}
}
