package reflector

import (
	"math"
	"time"

	"github.com/kinform/kinform/internal/lot"
)

// Backoff spaces out requests after failures. Its fields apply in full to a server that cannot
// answer: 429, 5xx, and lists without use. Other failures have shorter waits, which Backoff can
// shorten further: the package documentation has all of them, under "Failures and waits".
//
// The waits protect the server. Each watch can cost it a TLS handshake and a search in its history:
// on a line that breaks after 50 ms each time, a hundred reflectors that resumed without a wait would
// send 2,000 requests a second. A list that breaks midway costs even more. Some servers always have
// something new: objects whose deletions cannot be decoded, replicas of different age, or a proxy that
// ends each answer after its first part. Without waits these would cost thousands of lists. With them
// they cost one list in two seconds.
//
// The zero value means the defaults, which are the same as in client-go's reflector.
type Backoff struct {
	// Initial is the wait after the first failure. Zero means 800 ms.
	Initial time.Duration
	// Max bounds the wait before jitter. Zero means 30 s. Each wait is twice the one before. It is
	// Initial again after 2 minutes without a failure, after a watch that lasted for Max, and once
	// a server is back that was away for 3 seconds or more. Jitter adds up to the same time again,
	// so that many clients do not come back at the same moment.
	Max time.Duration
	// Random returns a number in [0,1), for the jitter and for WatchTimeout. Nil means one that the clock
	// decides, so that it is the same in each run in a testing/synctest bubble. Run calls it in its own goroutine.
	Random func() float64
}

const (
	// internalErrorRetry is how long watches that end with an InternalError are resumed without a list.
	internalErrorRetry = time.Minute
	// growth multiplies the wait after each failure.
	growth = 2
	// resetAfter is the time without a failure after which the wait is as long as after a first failure again.
	resetAfter = 2 * time.Minute
	// deniedInitial and deniedMax bound the waits after a denied request, before jitter.
	deniedInitial = 400 * time.Millisecond
	deniedMax     = 2500 * time.Millisecond
	// resumeJitter bounds the wait after a watch or list that broke off. Each watch may resume
	// once in every turnEvery, and resumeBurst times in a row. Watches that ended in order
	// within a second, and watches that lead to a list, have repeatEvery in its place: the
	// connection does not excuse them. All watches of a connection that break within turnEvery
	// have watchTurns turns in that time, and a few times as many at once.
	resumeJitter = 50 * time.Millisecond
	turnEvery    = time.Second
	repeatEvery  = 2 * time.Second
	resumeBurst  = 5
	watchTurns   = 10
	// A list that broke off begins again at once, retryBurst times in a row. All reflectors of a
	// connection have listBurst such lists together, and then one in every turnEvery.
	retryBurst = 3
	listBurst  = 20
	// Lists in place of watches that fail together are spread over a share of the time between them.
	spreadShare = 4
)

func (b Backoff) withDefaults() Backoff {
	if b.Initial <= 0 {
		b.Initial = 800 * time.Millisecond
	}
	if b.Max <= 0 {
		b.Max = 30 * time.Second
	}
	if b.Random == nil {
		b.Random = func() float64 { return lot.Fraction(0) }
	}
	return b
}

// waits computes the waits of one reflector. It belongs to the goroutine of Run.
type waits struct {
	*Backoff                 // with defaults
	busy, denied exponential // separate: a failure of one kind says nothing about another
	lists        exponential // broken lists after the first retryBurst
	end, relist  bucket
	resume       bucket
	renewal      bucket
	retries      int           // lists in a row that broke off
	lasted       time.Duration // how long the request lasted that failed
}

// after returns how long to wait at now after a failure: at least atLeast, which is the
// server's Retry-After.
func (w *waits) after(now time.Time, p pause, atLeast time.Duration) time.Duration {
	switch p {
	case noPause, pauseAway: // the Breaker keeps the waits of a server that is away
		return 0
	case pauseEnd:
		return w.end.take(now, repeatEvery)
	case pauseDenied:
		b := *w.Backoff
		b.Initial, b.Max = min(b.Initial, deniedInitial), min(b.Max, deniedMax)
		return w.denied.after(b, now, atLeast)
	case pauseResume:
		return max(w.resume.take(now, w.turnEvery()), w.jitter())
	case pauseRetry:
		if w.retries++; w.retries <= retryBurst {
			return w.jitter()
		}
		return w.lists.after(*w.Backoff, now, 0)
	}
	return w.busy.after(*w.Backoff, now, atLeast)
}

// inTurn reports whether a failure that has been passed to after leads to a wait in line.
func (w *waits) inTurn(p pause) bool {
	return p == pauseResume && w.lasted < w.turnEvery() || p == pauseRetry
}

// turnEvery is the time between two turns.
func (w *waits) turnEvery() time.Duration { return min(turnEvery, w.Max) }

// jitter spreads requests that could go out at once.
func (w *waits) jitter() time.Duration { return w.upTo(resumeJitter) }

// spread spreads requests for which a server has named the time.
func (w *waits) spread() time.Duration { return w.upTo(min(w.Initial, time.Second)) }

func (w *waits) upTo(d time.Duration) time.Duration {
	return scale(min(d, w.Max), w.Random())
}

// listed makes the next waits after broken lists as long as after a first failure.
func (w *waits) listed() { w.lists.next, w.retries = 0, 0 }

// reset makes all next waits as long as after a first failure.
func (w *waits) reset() {
	w.busy.next, w.denied.next = 0, 0
	w.listed()
}

// exponential is an exponential backoff.
type exponential struct {
	next time.Duration // before Max and jitter; zero means Initial
	last time.Time     // end of the last wait
}

// after is waits.after. b has its defaults. A server asks many clients for the same wait, so up to
// a second of jitter is added to it.
func (g *exponential) after(b Backoff, now time.Time, atLeast time.Duration) time.Duration {
	if g.next == 0 || now.Sub(g.last) >= resetAfter {
		g.next = b.Initial
	}
	d := min(g.next, b.Max)
	g.next = scale(d, growth)
	share := b.Random()
	if atLeast > 0 {
		atLeast += scale(min(d, time.Second), share)
	}
	d = max(scale(d, 1+share), atLeast)
	g.last = now.Add(d)
	return d
}

// bucket is a token bucket: it lets resumeBurst requests go at once, and later ones once in a time.
type bucket struct {
	empty time.Time // when the requests so far would be used up
}

// take counts one request at now and returns how long it has to wait. There is one in every.
func (b *bucket) take(now time.Time, every time.Duration) time.Duration {
	if b.empty.Before(now) {
		b.empty = now
	}
	wait := max(0, b.empty.Sub(now)-(resumeBurst-1)*every)
	b.empty = b.empty.Add(every)
	return wait
}

// has reports whether a request at now would not have to wait.
func (b *bucket) has(now time.Time, every time.Duration) bool {
	return b.empty.Sub(now) <= (resumeBurst-1)*every
}

// scale is d times f, bounded by the longest Duration. An overflow would be negative, and so
// no wait at all.
func scale(d time.Duration, f float64) time.Duration {
	if product := float64(d) * f; product < math.MaxInt64 {
		return time.Duration(product)
	}
	return math.MaxInt64
}
