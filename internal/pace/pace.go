// Package pace notices a consumer that does not keep up with its delta FIFO.
package pace

import "time"

const (
	// depth is the number of waiting deltas up to which nothing counts as slow.
	depth = 10
	// perBatch and perDelta make the time that a batch may take.
	perBatch, perDelta = 100 * time.Millisecond, time.Millisecond
	// period is the time in which at most one batch is reported.
	period = time.Minute
)

// Meter decides which slow batches to report. The consumer's goroutine owns it. The zero value has
// reported none.
type Meter struct{ reported time.Time }

// Slow reports whether a batch of deltas that was begun at the given time and is done now must be
// reported, and how long it took. pending is the number of deltas that wait now.
func (m *Meter) Slow(began time.Time, deltas, pending int) (took time.Duration, tell bool) {
	if pending <= depth {
		return 0, false
	}
	now := time.Now()
	took = now.Sub(began)
	if took <= perBatch+time.Duration(deltas)*perDelta || !m.reported.IsZero() && now.Sub(m.reported) < period {
		return took, false
	}
	m.reported = now
	return took, true
}
