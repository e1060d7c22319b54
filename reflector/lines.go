package reflector

import (
	"context"
	"slices"
	"time"
)

// wellAfter is the time after which a line that has not broken is taken to be well when an answer
// comes. It is longer than two turns of watches.
const wellAfter = 250 * time.Millisecond

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

// succeeded follows the success of a reflector whose last failure had the reason why.
func (b *Breaker) succeeded(why pause) {
	switch {
	case why == pauseDenied || why == pauseBusy:
		b.wakeAlike(why)
	case why.connectionLost():
		b.letListsGo(why == pauseRetry)
	}
}

// wakeAlike records that a reflector succeeded whose last failure had the reason why. It wakes
// the reflectors that wait for the same reason.
func (b *Breaker) wakeAlike(why pause) {
	every := busyWakeEvery
	if why == pauseDenied {
		every = deniedWakeEvery
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	if now.Sub(b.lastWake[why]) < every {
		return
	}
	b.lastWake[why] = now
	var woken []*waiter
	b.sleeping = slices.DeleteFunc(b.sleeping, func(w *waiter) bool {
		if w.why == why {
			woken = append(woken, w)
		}
		return w.why == why
	})
	wakeSpread(woken, len(woken))
}
