package reflector

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// wakeWithin bounds the time over which the waiting reflectors are woken once a server is
	// back. wakeSpacing is the time between two of them while they are few.
	wakeWithin  = time.Second
	wakeSpacing = 10 * time.Millisecond
	// While the server is away, or may be, an attempt must have its connection, TLS included,
	// within connectLimit. Each patientEvery-th attempt has patientLimit instead, because the
	// server may be slow.
	connectLimit = 2 * time.Second
	patientLimit = 8 * time.Second
	patientEvery = 4
	// answerLimit bounds the time from there to the header of the answer. It grows by as much
	// each time that it was too short: a server that is back may need longer for a list.
	answerLimit = 10 * time.Second
	// overdueAfter is the age at which a request without an answer counts as hung once another
	// request has been answered.
	overdueAfter = time.Second
	// An outage of longOutage resets all backoffs. It also makes watches suspect that began
	// before it and stayed silent.
	longOutage = 3 * time.Second
	// shareEvery is the average time between two requests of all the reflectors whose requests
	// are denied, or that a busy server asked to come again.
	shareEvery = 250 * time.Millisecond
	// The success of one reflector cuts the waits of others short. It does so at most once in
	// deniedWakeEvery for reflectors whose requests were denied, and at most once in
	// busyWakeEvery for those that met a busy server. For those whose lists broke, a watch that
	// succeeds does so at most once in busyWakeEvery, and each complete list does.
	deniedWakeEvery = 5 * time.Second
	busyWakeEvery   = 30 * time.Second
)

// Breaker is a circuit breaker: the shared knowledge of one connection's reflectors about the
// server at its other end. A request without an answer (connection refused or reset, no route,
// no name, timeout) opens it. While it is open, one reflector at a time probes the server, and
// the others wait in line, in the order in which they came. The first answer to any request
// closes it. All waiting reflectors then go on within a second. Those that wait because of an
// earlier refusal go on too, but not before the time that the server named.
//
// A probe that hangs does not hold up the next one. While the breaker is open, or a watch has
// just broken, a request must have its connection within 2 seconds (each fourth within 8) and
// its header 10 seconds later, then 20, and so on. When another request is answered, the
// breaker gives up the requests that still hang. After an outage of more than 3 seconds it
// also gives up each watch that began before the outage and has been silent since, because the
// connection may be half open. That watch begins again at its version.
//
// A reflector that succeeds again also ends the waits of reflectors that failed for the same reason:
// after a denied request at most once in five seconds, and after a busy server at most once in 30
// seconds. It does not end a wait before the time that the server named. An accepted watch counts as
// a success, except in two cases. After a watch that ended within a second and brought nothing, the
// next one must first last twice as long, and at least a second. So must each watch that follows a
// broken one while lists alone keep the sink up to date.
//
// Watches and lists that break off again and again wait in line. Each answer lets the next watch go.
// A complete list lets two other lists go. A watch that succeeds after a break lets one list go, at
// most once in 30 seconds. The package documentation has all waits, under "Failures and waits".
//
// The zero value is closed: the server is taken to be well. A Breaker is safe for concurrent
// use and must not be copied. It starts no goroutine, only timers for requests that may hang.
// A source hands out its breaker as a [Server]. For any other source, the reflector makes one.
type Breaker struct {
	reflectors atomic.Uint64 // how many it was handed to, so that each draws lots of its own

	mu          sync.Mutex
	outage      outage
	suspect     bool                  // a watch broke, and nothing has been answered since
	attempts    int                   // attempts since the last answer
	extensions  int                   // how often answerLimit has been too short since then
	extendedAt  time.Time             // when extensions last grew
	stale       bool                  // the next attempt needs its own connection
	traced      bool                  // an attempt was Connected: the source says so
	longOutages uint64                // outages of at least longOutage so far
	queued      []*waiter             // waiting to probe, in order
	watches     turns                 // waiting because their watches broke off
	lists       turns                 // waiting because their lists broke off
	brokeAt     time.Time             // when a watch or list broke off last
	sleeping    []*waiter             // waiting for another reason; can be woken early
	failing     [pauseKinds]int       // reflectors by the reason of their last failure
	lastWake    [pauseKinds]time.Time // zero before the first
	unanswered  map[*Attempt]struct{} // requests without an answer
	streams     map[*Attempt]struct{} // watches that have an answer
}

// admit waits until a request may be sent. It returns at once unless the server is away. It reports
// whether another request has found out that the server is back.
func (b *Breaker) admit(ctx context.Context, back *Backoff) (isBack bool) {
	for ctx.Err() == nil && b.queue(ctx, back) {
		isBack = true
	}
	return isBack
}

// away reports whether the breaker is open.
func (b *Breaker) away() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.outage.away
}

// queue waits for this reflector's turn to probe a server that is away, or for the server to
// be back. It returns true when the server came back: the caller asks again, because the
// server may be away once more.
func (b *Breaker) queue(ctx context.Context, back *Backoff) (again bool) {
	if !b.away() {
		return false
	}
	random := back.Random() // the user's, so not under the lock, nor in the queue if it panics
	b.mu.Lock()
	w := newWaiter(pauseAway)
	b.queued = append(b.queued, w)
	for b.outage.away && ctx.Err() == nil {
		wait := time.Duration(-1)
		if b.queued[0] == w {
			if b.outage, wait = b.outage.probe(time.Now(), *back, random); wait == 0 {
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

// dequeue takes w out of the queue and wakes the new first one, which then looks at the clock.
// The caller holds mu.
func (b *Breaker) dequeue(w *waiter) {
	if n := slices.Index(b.queued, w); n >= 0 {
		b.queued = slices.Delete(b.queued, n, n+1)
	}
	if len(b.queued) > 0 {
		b.queued[0].wake()
	}
}

// sleep waits for d. If why is not noPause, two things can end the wait early, but not before
// least has passed: the end of an outage, and the success of another reflector that waits for the
// same reason. It reports whether one did.
func (b *Breaker) sleep(ctx context.Context, why pause, least, d time.Duration) (woken bool) {
	if d <= 0 {
		return false
	}
	w := newWaiter(why)
	w.earliest = time.Now().Add(least)
	if why == noPause {
		w.wait(ctx, d)
		return false
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
	if n < 0 { // the goroutine that took w out has woken it
		newWaiter(noPause).wait(ctx, delay)
	}
	return n < 0
}

// failed records that a request which began at the given time had no answer. It reports whether
// the server is away, and how long the reflector may have to wait for its turn to probe it.
func (b *Breaker) failed(began time.Time, back Backoff) (queue time.Duration, away bool) {
	random := back.Random() // the user's, so not under the lock
	b.mu.Lock()
	defer b.mu.Unlock()
	now, was := time.Now(), b.outage.away
	b.outage = b.outage.failed(now, began, back, random)
	if !b.outage.away {
		return 0, false
	}
	if !was {
		b.stale = true
		for a := range b.streams {
			a.heard.Store(false)
		}
	}
	return max(0, b.outage.next.Sub(now)) + time.Duration(len(b.queued))*b.outage.wait, true
}

// broke records that a watch or list broke off.
func (b *Breaker) broke() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.suspect, b.brokeAt = true, time.Now()
}

// answered records an answer of the server, whatever it says.
func (b *Breaker) answered() {
	b.mu.Lock()
	gone := b.close(time.Now())
	b.mu.Unlock()
	gone.cancel()
}

// abandoned holds the requests to give up once a server is back, each with its cause.
type abandoned map[*Attempt]error

func (l abandoned) cancel() {
	for a, cause := range l {
		a.cancel(cause)
	}
}

// close ends an outage if there is one. The caller holds mu, and cancels the returned requests
// after releasing it.
func (b *Breaker) close(now time.Time) abandoned {
	b.suspect, b.attempts, b.extensions = false, 0, 0
	was := b.outage
	if b.outage = was.answered(now); !was.away {
		return nil
	}
	long := now.Sub(was.since) >= longOutage
	woken := append(slices.Clone(b.queued), b.sleeping...)
	b.sleeping = nil
	if long { // a line that breaks again and again is no reason to begin earlier
		b.longOutages++
		woken = append(append(woken, b.watches.leaveAll()...), b.lists.leaveAll()...)
	}
	all := len(woken) + len(b.streams)
	wakeSpread(woken, all)
	gone := abandoned{}
	for a := range b.streams {
		if long && !a.heard.Load() {
			a.delay = wakeDelay(len(woken)+len(gone), all)
			gone[a] = errSilent
		}
	}
	for a := range b.unanswered {
		switch left := overdueAfter - now.Sub(a.began); {
		case a.list && a.connected: // a large collection takes its time
			a.setLimit(answerLimit)
		case left <= 0:
			gone[a] = errUnanswered
		default:
			a.setLimit(left)
		}
	}
	return gone
}

// wakeDelay is how long the n-th of all reflectors waits after an outage.
func wakeDelay(n, all int) time.Duration {
	return min(wakeWithin, time.Duration(all)*wakeSpacing) * time.Duration(n) / time.Duration(all)
}

// wakeSpread wakes the waiters one after the other. The caller holds mu.
func wakeSpread(woken []*waiter, all int) {
	now := time.Now()
	for n, w := range woken {
		w.delay = max(wakeDelay(n, all), w.earliest.Sub(now))
		w.wake()
	}
}

// countFailing adds change to the number of reflectors whose last failure had the reason why. It
// returns how long each of them has to wait so that together they keep to shareEvery.
func (b *Breaker) countFailing(why pause, change int) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.failing[why] += change
	return time.Duration(b.failing[why]) * shareEvery
}

// longOutageCount returns how often the server came back after a long outage.
func (b *Breaker) longOutageCount() uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.longOutages
}
