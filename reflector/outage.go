package reflector

import "time"

const (
	// awayInitial and awayMax bound the waits between probes of a server that is away.
	awayInitial = 100 * time.Millisecond
	awayMax     = time.Second
	// An outage that begins within settled after the last one goes on with its waits. A later
	// one begins with short waits again.
	settled = 10 * time.Second
)

// outage is the state of a server that may be away. It is a value with pure methods: clock and
// random numbers are arguments.
type outage struct {
	away  bool
	since time.Time     // when it began
	ended time.Time     // when the last one ended; zero if there was none
	heard time.Time     // when the last answer came
	wait  time.Duration // between the next probe and the one after it
	limit time.Duration // of wait
	next  time.Time     // the earliest time of the next probe
}

// failed follows a request without an answer. A request that began before the last answer to
// another one says nothing about the present.
func (o outage) failed(now, began time.Time, b Backoff, random float64) outage {
	if o.away || began.Before(o.heard) {
		return o
	}
	o.away, o.since = true, now
	o.limit = min(b.Max, awayMax)
	if initial := min(b.Initial, awayInitial, o.limit); now.Sub(o.ended) >= settled {
		o.wait = initial
	}
	return o.spaced(now, b, random)
}

// answered follows an answer, whatever it says.
func (o outage) answered(now time.Time) outage {
	if o.heard = now; o.away {
		o.away, o.ended = false, now
	}
	return o
}

// probe asks to send a request at now to a server that is away. It returns zero if the request may
// go, and else how long to wait.
func (o outage) probe(now time.Time, b Backoff, random float64) (outage, time.Duration) {
	if wait := o.next.Sub(now); wait > 0 {
		return o, wait
	}
	return o.spaced(now, b, random), 0
}

// spaced moves the next probe off, and lengthens the wait after it. Jitter only shortens
// waits, so a server that is back is noticed within awayMax.
func (o outage) spaced(now time.Time, b Backoff, random float64) outage {
	o.next = now.Add(scale(o.wait, 1-random/2))
	o.wait = min(scale(o.wait, growth), o.limit)
	return o
}
