package reflector

import (
	"context"
	"slices"
	"time"
)

// turns is a line of reflectors that wait for their turn to go on. The breaker's mu guards it.
type turns struct {
	waiting []*waiter // in the order in which they came
	paid    time.Time // the time at which all requests so far are paid for; each costs some time
}

// due returns how long the first in line has to wait at now. A request may be sent up to credit
// before it is paid for.
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

// breaks is a breaker's memory of watches and lists that broke off. The breaker's mu guards
// it.
type breaks struct {
	at        time.Time // of the last one
	window    time.Time // began then, and is at least turnEvery long
	now, last int       // reflectors that had one in this window, and in the one before
}

// add records that a watch or list broke off at now. The reflector's last one before did so at
// last.
func (k *breaks) add(now, last time.Time) {
	k.at = now
	if age := now.Sub(k.window); age >= turnEvery {
		if k.last = k.now; age >= 2*turnEvery {
			k.last = 0
		}
		k.window, k.now = now, 0
	}
	if last.Before(k.window) {
		k.now++
	}
}

// line returns the line for reflectors that wait for the reason why.
func (b *Breaker) line(why pause) *turns {
	if why == pauseRetry {
		return &b.lists
	}
	return &b.watches
}

// cost is the price of a request of w, paid by the line that it waits in. All lists have one turn
// together in their time, and each watch has its own. The caller holds mu.
func (b *Breaker) cost(w *waiter) time.Duration {
	if w.why == pauseRetry {
		return w.every
	}
	return w.every / time.Duration(max(1, b.breaks.now, b.breaks.last, len(b.watches.waiting)))
}

// credit is the time by which a request may be sent before it is paid for.
func (w *waiter) credit() time.Duration {
	if w.why == pauseRetry {
		return 0
	}
	return (resumeBurst - 1) * w.every
}

// turn returns how long a reflector that waits for the reason why would have to wait for its turn.
func (b *Breaker) turn(why pause, every time.Duration) time.Duration {
	w := waiter{why: why, every: every}
	b.mu.Lock()
	defer b.mu.Unlock()
	t := b.line(why)
	return t.due(time.Now(), w.credit()) + time.Duration(len(t.waiting))*b.cost(&w)
}

// takeTurn waits until it is the turn of a reflector that waits for the reason why. A watch has one
// turn in each period of length every, and all lists together have one. The turn comes after jitter
// at the earliest.
func (b *Breaker) takeTurn(ctx context.Context, why pause, every, jitter time.Duration) {
	w, earliest := newWaiter(why), time.Now().Add(jitter)
	w.every = every
	b.mu.Lock()
	t := b.line(why)
	t.waiting = append(t.waiting, w)
	for {
		n, now := slices.Index(t.waiting, w), time.Now()
		if n < 0 {
			break // somebody let it go
		}
		wait := time.Duration(-1)
		if n == 0 {
			wait = max(t.due(now, w.credit()), earliest.Sub(now))
		}
		if wait == 0 {
			t.pay(now, b.cost(w))
		}
		if wait == 0 || ctx.Err() != nil {
			t.leave(n)
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

// bring lets the first in line go before its turn, but not much before it. The caller holds mu.
func (b *Breaker) bring(t *turns) {
	if len(t.waiting) == 0 {
		return
	}
	w, now := t.waiting[0], time.Now()
	if t.due(now, w.credit()+w.every) > 0 {
		return
	}
	t.pay(now, b.cost(w))
	w.wake()
	t.leave(0)
}

// letWatchGo follows an answer. It lets a watch go, unless the line broke a moment ago. The caller
// holds mu.
func (b *Breaker) letWatchGo() {
	if time.Since(b.breaks.at) >= wellAfter {
		b.bring(&b.watches)
	}
}

// letListsGo follows the success of a reflector whose connection had been lost. If that is a
// complete list, two others go at once. If it is a watch, which proves less, one list goes before
// its turn.
func (b *Breaker) letListsGo(complete bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !complete {
		b.bring(&b.lists)
		return
	}
	for range min(2, len(b.lists.waiting)) {
		b.lists.waiting[0].wake()
		b.lists.leave(0)
	}
}
