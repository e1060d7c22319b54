package reflector

import "time"

const (
	// awayInitial and awayMax bound the waits between probes of a server that is away.
	awayInitial = 100 * time.Millisecond
	awayMax     = time.Second
	// settled is how long a server must have been back for the next outage to begin with
	// short waits again.
	settled = 10 * time.Second
)

// outage is what is known of a server that may be away. It is a value, and its methods are
// pure: the clock and the random numbers are arguments.
type outage struct {
	away  bool
	since time.Time     // when it began
	ended time.Time     // when the last one ended; zero if there was none
	wait  time.Duration // after the next probe
	limit time.Duration // of wait
	next  time.Time     // no probe before
}

// failed follows a request that came to no answer. One from before the end of the last outage
// says nothing of the present.
func (o outage) failed(now, began time.Time, b Backoff, random float64) outage {
	if o.away || began.Before(o.ended) {
		return o
	}
	o.away, o.since = true, now
	o.limit = min(b.Max, awayMax)
	if initial := min(b.Initial, awayInitial, o.limit); o.wait == 0 || now.Sub(o.ended) >= settled {
		o.wait = initial
	}
	return o.spaced(now, b, random)
}

// answered follows an answer, whatever it is.
func (o outage) answered(now time.Time) outage {
	if o.away {
		o.away, o.ended = false, now
	}
	return o
}

// probe asks for leave to send a request at now. It returns how long there is none yet, zero
// if there is.
func (o outage) probe(now time.Time, b Backoff, random float64) (outage, time.Duration) {
	if wait := o.next.Sub(now); o.away && wait > 0 {
		return o, wait
	}
	return o.spaced(now, b, random), 0
}

// spaced puts the next probe off, and the one after it further. The jitter shortens waits, so
// that a server that is back is noticed within awayMax.
func (o outage) spaced(now time.Time, b Backoff, random float64) outage {
	o.next = now.Add(scale(o.wait, 1-min(b.Jitter, 1)*random/2))
	o.wait = min(scale(o.wait, b.Factor), o.limit)
	return o
}
