package reflector

import (
	"context"
	"slices"
	"sync"
	"time"
)

const (
	// wakeWithin is how long it takes at most until all reflectors that waited for a server
	// have asked it again, and backEvery the time between two of them if they are few.
	wakeWithin  = time.Second
	wakeSpacing = 10 * time.Millisecond
	// connectLimit bounds the time in which an attempt must have its connection, TLS included,
	// while the server is away or may be. Each patientEvery-th attempt has patientLimit: the
	// server may be slow.
	connectLimit = 2 * time.Second
	patientLimit = 8 * time.Second
	patientEvery = 4
	// answerLimit bounds the time from there to the header of the answer. It grows by as much
	// each time that it was too short: a server that is back may take its time for a list.
	answerLimit = 10 * time.Second
	// overdue is after what time a watch should have been answered by a server that others
	// just found back.
	overdue = time.Second
	// longOutage is how long a server must be away for silent watches from before to count as
	// lost, and for backoffs to begin anew.
	longOutage = 3 * time.Second
	// deniedEvery is the time between two requests of all the reflectors that are refused by
	// rule, on an average.
	deniedEvery = 250 * time.Millisecond
	// deniedWakeEvery and relievedEvery bound how often the success of one reflector cuts the
	// waits of those short that were refused by rule, or by a server that could not answer.
	deniedWakeEvery = 5 * time.Second
	busyWakeEvery   = 30 * time.Second
)

// Breaker is what the reflectors of one connection know together of the server at its other
// end: a circuit breaker. A request that comes to no answer (connection refused or reset, no
// route, no name, timeout) opens it. Then one reflector at a time probes the server, after 0.1
// s and at last once a second, and all others wait, in the order in which they came. The first
// answer to any of them closes it. Then all go on within a second, those included that wait
// because of an earlier refusal, unless the server said how long.
//
// A probe that hangs does not hold up the next. While the breaker is open, or a watch just
// broke, a request must have its connection in 2 seconds (each fourth one in 8) and its header
// 10 seconds later, then 20 and so on. Once another request is answered, those that
// still hang are given up. A watch from before an outage of more than 3 seconds that has been
// silent since is begun again at its version, since its connection may be half open.
//
// The zero value is a server that is thought to be well. Safe for concurrent use; it must not
// be copied. It starts no goroutine, but timers for requests that may hang. A source hands out
// its breaker as a [Server].
type Breaker struct {
	mu          sync.Mutex
	outage      outage
	suspect     bool      // a watch broke, and nothing was answered since
	attempts    int       // attempts since the last answer
	extensions  int       // how often answerLimit was too short since then
	extendedAt  time.Time // the last time
	stale       bool      // connections from before are not to be used
	longOutages uint64    // outages that were long
	queued      []*waiter // for a probe, in order
	sleeping    []*waiter // others whose waits can be cut short
	denied      int       // reflectors that are refused by rule
	lastWake    [pauseBusy + 1]time.Time
	unanswered  map[*Attempt]struct{} // requests without an answer
	streams     map[*Attempt]struct{} // watches that were answered
}

// waiter is a reflector that waits. Its fields are guarded by the breaker's mu.
type waiter struct {
	woken chan struct{} // holds one token once the wait is cut short
	delay time.Duration // to wait on after that
	why   pause
}

func newWaiter(why pause) *waiter { return &waiter{woken: make(chan struct{}, 1), why: why} }

// wake ends the wait, or makes its reason be looked at again.
func (w *waiter) wake() {
	select {
	case w.woken <- struct{}{}:
	default:
	}
}

// wait waits for d, or until ctx is done or the wait is cut short. A negative d is for ever.
func (w *waiter) wait(ctx context.Context, d time.Duration) {
	var due <-chan time.Time
	if d >= 0 {
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

// admit waits until a request may be sent: at once unless the server is away.
func (b *Breaker) admit(ctx context.Context, back Backoff) {
	for ctx.Err() == nil && b.queue(ctx, back) {
	}
}

// queue waits for the leave to probe a server that is away, or for its being back. It reports
// whether to ask again: the server was back, and may be away once more.
func (b *Breaker) queue(ctx context.Context, back Backoff) (again bool) {
	b.mu.Lock()
	if !b.outage.away {
		b.mu.Unlock()
		return false
	}
	w := newWaiter(pauseAway)
	b.queued = append(b.queued, w)
	for b.outage.away && ctx.Err() == nil {
		wait := time.Duration(-1)
		if b.queued[0] == w {
			b.mu.Unlock()
			random := back.Random() // the user's, so not under the lock
			b.mu.Lock()
			if !b.outage.away {
				break
			}
			if b.outage, wait = b.outage.probe(time.Now(), back, random); wait == 0 {
				b.dequeue(w)
				b.mu.Unlock()
				return false
			}
		}
		b.mu.Unlock()
		w.wait(ctx, wait)
		b.mu.Lock()
	}
	b.dequeue(w)
	delay := w.delay
	b.mu.Unlock()
	newWaiter(noPause).wait(ctx, delay)
	return true
}

// dequeue takes w out of those that wait for a probe, and lets the next one look at the clock.
// The caller holds mu.
func (b *Breaker) dequeue(w *waiter) {
	if n := slices.Index(b.queued, w); n >= 0 {
		b.queued = slices.Delete(b.queued, n, n+1)
	}
	if len(b.queued) > 0 {
		b.queued[0].wake()
	}
}

// sleep waits for d. The wait can be cut short if why is not noPause: by the end of an outage,
// or by the success of another reflector that waited for the same reason.
func (b *Breaker) sleep(ctx context.Context, d time.Duration, why pause) {
	if d <= 0 {
		return
	}
	w := newWaiter(why)
	if why == noPause {
		w.wait(ctx, d)
		return
	}
	b.mu.Lock()
	b.sleeping = append(b.sleeping, w)
	b.mu.Unlock()
	w.wait(ctx, d)
	b.mu.Lock()
	n := slices.Index(b.sleeping, w)
	if n >= 0 {
		b.sleeping = slices.Delete(b.sleeping, n, n+1)
	}
	delay := w.delay
	b.mu.Unlock()
	if n < 0 { // who took it out has cut it
		newWaiter(noPause).wait(ctx, delay)
	}
}

// failed says that a request that began at a time came to no answer. It returns how long its
// reflector may have to wait for its turn.
func (b *Breaker) failed(began time.Time, back Backoff) time.Duration {
	random := back.Random() // the user's, so not under the lock
	b.mu.Lock()
	defer b.mu.Unlock()
	now, was := time.Now(), b.outage.away
	b.outage = b.outage.failed(now, began, back, random)
	if !b.outage.away {
		return 0
	}
	if !was {
		b.stale = true
		for a := range b.streams {
			a.heard.Store(false)
		}
	}
	return max(0, b.outage.next.Sub(now)) + time.Duration(len(b.queued))*b.outage.wait
}

// broke says that a watch or list broke off.
func (b *Breaker) broke() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.suspect = true
}

// answered says that the server has answered, whatever it said.
func (b *Breaker) answered() {
	b.mu.Lock()
	gone := b.close(time.Now())
	b.mu.Unlock()
	gone.cancel()
}

// abandoned are the requests that are given up when a server is back, and why.
type abandoned map[*Attempt]error

func (l abandoned) cancel() {
	for a, cause := range l {
		a.cancel(cause)
	}
}

// close ends an outage if there is one. The caller holds mu, and gives up what it returns
// after releasing it.
func (b *Breaker) close(now time.Time) abandoned {
	b.suspect, b.attempts, b.extensions = false, 0, 0
	if !b.outage.away {
		return nil
	}
	long := now.Sub(b.outage.since) >= longOutage
	if long {
		b.longOutages++
	}
	b.outage = b.outage.answered(now)
	woken := slices.Clone(b.queued)
	b.sleeping = slices.DeleteFunc(b.sleeping, func(w *waiter) bool {
		// A line that breaks again and again is no reason to begin watches again earlier.
		cut := long || w.why != pauseResume && w.why != pauseFlap
		if cut {
			woken = append(woken, w)
		}
		return cut
	})
	all := len(woken) + len(b.streams)
	wakeSpread(woken, all)
	gone := abandoned{}
	for a := range b.unanswered {
		switch left := overdue - now.Sub(a.began); {
		case a.list && a.connected: // of a large collection, it may be
			a.setLimit(answerLimit)
		case left <= 0:
			gone[a] = ErrUnanswered
		default:
			a.setLimit(left)
		}
	}
	for a := range b.streams {
		if long && a.began.Before(b.outage.since) && !a.heard.Load() {
			a.delay = wakeDelay(len(woken)+len(gone), all)
			gone[a] = errSilent
		}
	}
	return gone
}

// wakeDelay is when the n-th of all reflectors is back.
func wakeDelay(n, all int) time.Duration {
	return min(wakeWithin, time.Duration(all)*wakeSpacing) * time.Duration(n) / time.Duration(max(all, 1))
}

// wakeSpread cuts the waits of woken short, one after the other.
func wakeSpread(woken []*waiter, all int) {
	for n, w := range woken {
		w.delay = wakeDelay(n, all)
		w.wake()
	}
}

// wakeAlike says that a reflector has succeeded that failed before for a reason. It cuts the
// waits of those short that failed for the same.
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

// countDenied counts a reflector among those that are refused by rule, or no longer, and returns how
// long each of them has to wait so that they do not ask too often together.
func (b *Breaker) countDenied(change int) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.denied += change
	return time.Duration(b.denied) * deniedEvery
}

// longOutageCount is how often the server came back after a long outage.
func (b *Breaker) longOutageCount() uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.longOutages
}
