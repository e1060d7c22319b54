package reflector

import (
	"math"
	"math/rand/v2"
	"time"
)

// Backoff spaces out requests after failures. What it says holds in full for a server that
// answers that it cannot: 429, 5xx, and lists that are of no use. Other failures have shorter
// waits, as far as Backoff does not make them shorter still:
//
//   - A watch that broke off is begun again within 50 ms, five times in a row, and then once
//     in 2 seconds. If it broke within a second and without news, it is begun again after 0.05 s,
//     and at last within 4 seconds.
//   - A list that broke off is begun again within 50 ms, three times in 15 seconds. More often
//     than that, it waits as long as Backoff says.
//   - A server that is away (connections refused or reset, no route, no name, timeouts) is
//     tried again after 0.1 s, and at last once a second. See [Breaker], which all reflectors
//     of a connection share.
//   - A request that a rule forbids (401, 403, 404 and other 4xx, certificates) is tried again
//     after 0.4 s, and at last within 5 s; later where more than twenty reflectors of a
//     [Breaker] are refused.
//   - A version that the server no longer has, or does not have yet, is followed by a list at
//     once, and by a wait only if the last list led to no news either.
//
// The zero value means the defaults, which are those of client-go's reflector.
type Backoff struct {
	// Initial is the wait after the first failure. Zero means 800 ms.
	Initial time.Duration
	// Max bounds the wait before jitter. Zero means 30 s.
	Max time.Duration
	// Factor multiplies the wait after each failure. Zero means 2; less than 1 counts as 1.
	Factor float64
	// Jitter adds a random share of the wait, from none to Jitter times it, so that many
	// clients do not come back at the same moment. Zero means 1; negative means none.
	Jitter float64
	// ResetAfter is how long no failure must have come for the wait to be Initial again.
	// Zero means 2 minutes. A watch that lasted for Max has the same effect, and so has a
	// server that was away and is back.
	ResetAfter time.Duration
	// Random returns a number in [0,1), for the jitter and for WatchTimeout. Nil means
	// math/rand/v2's. It is called from the goroutine of Run.
	Random func() float64
}

const (
	// deniedInitial and ruledMax bound the waits after a refusal by rule, before jitter.
	deniedInitial = 400 * time.Millisecond
	deniedMax     = 2500 * time.Millisecond
	// resumeJitter bounds the wait after a watch or list that broke off. A watch may be begun
	// again so every resumeEvery, and resumeBurst in a row; a list every retryEvery, and
	// retryBurst in a row.
	resumeJitter = 50 * time.Millisecond
	resumeEvery  = 2 * time.Second
	resumeBurst  = 5
	retryEvery   = 5 * time.Second
	retryBurst   = 3
	// flapInitial and flapMax bound the waits after watches that broke at once, before jitter.
	// They are short again once none came for flapReset.
	flapInitial = 50 * time.Millisecond
	flapMax     = 2 * time.Second
	flapReset   = 10 * time.Second
)

func (b Backoff) withDefaults() Backoff {
	if b.Initial <= 0 {
		b.Initial = 800 * time.Millisecond
	}
	if b.Max <= 0 {
		b.Max = 30 * time.Second
	}
	if b.Factor == 0 {
		b.Factor = 2
	}
	b.Factor = max(b.Factor, 1)
	if b.Jitter == 0 {
		b.Jitter = 1
	}
	b.Jitter = max(b.Jitter, 0)
	if b.ResetAfter <= 0 {
		b.ResetAfter = 2 * time.Minute
	}
	if b.Random == nil {
		b.Random = rand.Float64
	}
	return b
}

// waits computes the waits of one reflector. It belongs to the goroutine of Run.
type waits struct {
	Backoff                        // with defaults
	busy, denied, flap exponential // waits of their own: failures of one kind say nothing of the other
	resume, retry      bucket
}

func newWaits(b Backoff) waits {
	b = b.withDefaults()
	ruled, flap := b, b
	ruled.Initial, ruled.Max = min(b.Initial, deniedInitial), min(b.Max, deniedMax)
	flap.Initial, flap.Max, flap.ResetAfter = min(b.Initial, flapInitial), min(b.Max, flapMax), min(b.ResetAfter, flapReset)
	return waits{
		Backoff: b, busy: exponential{Backoff: b}, denied: exponential{Backoff: ruled}, flap: exponential{Backoff: flap},
		resume: bucket{every: resumeEvery, burst: resumeBurst}, retry: bucket{every: retryEvery, burst: retryBurst},
	}
}

// after returns how long to wait at now after a failure. The wait is at least atLeast,
// which a server asks for with Retry-After.
func (w *waits) after(now time.Time, p pause, atLeast time.Duration) time.Duration {
	switch p {
	case noPause, pauseAway: // the Breaker's business
		return 0
	case pauseDenied:
		return w.denied.after(now, atLeast)
	case pauseFlap:
		return w.flap.after(now, atLeast)
	case pauseResume:
		return w.resume.take(now) + w.jitter()
	case pauseRetry:
		if w.retry.ready(now) {
			return w.retry.take(now) + w.jitter()
		}
	}
	return w.busy.after(now, atLeast)
}

// jitter spreads what could go on at once.
func (w *waits) jitter() time.Duration {
	return scale(min(resumeJitter, w.Max), min(w.Jitter, 1)*w.Random())
}

// reset makes the next waits those of a first failure.
func (w *waits) reset() { w.busy.next, w.denied.next, w.flap.next = 0, 0, 0 }

// exponential is an exponential backoff.
type exponential struct {
	Backoff               // with defaults
	next    time.Duration // before Max and jitter; zero means Initial
	last    time.Time     // end of the last wait
}

// after is waits.after. What a server asks for is spread by up to a second, since it asks
// many for the same.
func (g *exponential) after(now time.Time, atLeast time.Duration) time.Duration {
	if g.next == 0 || now.Sub(g.last) >= g.ResetAfter {
		g.next = g.Initial
	}
	d := min(g.next, g.Max)
	g.next = scale(d, g.Factor)
	share := g.Jitter * g.Random()
	if atLeast > 0 {
		atLeast += scale(min(d, time.Second), min(share, 1))
	}
	d = max(scale(d, 1+share), atLeast)
	g.last = now.Add(d)
	return d
}

// bucket lets burst things happen at once, and later one in the time of every.
type bucket struct {
	every time.Duration
	burst int
	empty time.Time // when what was taken so far would be used up
}

// ahead is how far empty may lie ahead of the clock without a wait.
func (b *bucket) ahead() time.Duration { return time.Duration(b.burst-1) * b.every }

// ready reports whether take would return zero.
func (b *bucket) ready(now time.Time) bool {
	return !b.empty.After(now.Add(b.ahead()))
}

// take returns how long to wait for one that is taken now.
func (b *bucket) take(now time.Time) time.Duration {
	if b.empty.Before(now) {
		b.empty = now
	}
	wait := max(0, b.empty.Sub(now)-b.ahead())
	b.empty = b.empty.Add(b.every)
	return wait
}

// scale is d times f, bounded by the longest Duration: one that overflows is negative,
// which is no wait at all.
func scale(d time.Duration, f float64) time.Duration {
	if product := float64(d) * f; product < math.MaxInt64 {
		return time.Duration(product)
	}
	return math.MaxInt64
}
