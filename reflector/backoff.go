package reflector

import (
	"math"
	"math/rand/v2"
	"time"
)

// Backoff spaces out requests after failures. The zero value means the defaults, which
// are those of client-go's reflector.
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
	// Zero means 2 minutes. A watch that lasted for Max has the same effect: where a
	// proxy cuts each watch after a minute, waits must not grow.
	ResetAfter time.Duration
	// Random returns a number in [0,1), for the jitter and for WatchTimeout. Nil means
	// math/rand/v2's. It is called from the goroutine of Run.
	Random func() float64
}

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
	Backoff               // with defaults
	next    time.Duration // before Max and jitter; zero means Initial
	last    time.Time     // end of the last wait
}

// after returns how long to wait after a failure at now. The wait is at least atLeast,
// which a server asks for with Retry-After.
func (w *waits) after(now time.Time, atLeast time.Duration) time.Duration {
	if w.next == 0 || now.Sub(w.last) >= w.ResetAfter {
		w.next = w.Initial
	}
	d := min(w.next, w.Max)
	w.next = scale(d, w.Factor)
	d = max(scale(d, 1+w.Jitter*w.Random()), atLeast)
	w.last = now.Add(d)
	return d
}

// scale is d times f, bounded by the longest Duration: one that overflows is negative,
// which is no wait at all.
func scale(d time.Duration, f float64) time.Duration {
	if product := float64(d) * f; product < math.MaxInt64 {
		return time.Duration(product)
	}
	return math.MaxInt64
}
