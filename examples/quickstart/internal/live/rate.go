package live

import "time"

// rateWindow is the time over which a rate is averaged.
const rateWindow = time.Second

// Rate computes the increase per second of a counter that only grows. The zero value is
// ready. One goroutine at a time.
type Rate struct {
	samples []sample // the oldest first; only the first may be older than rateWindow
}

type sample struct {
	at    time.Time
	total uint64
}

// Sample records the counter's value at a time, which must not be before the last one. It
// returns the rate per second, and zero for the first sample.
func (r *Rate) Sample(at time.Time, total uint64) float64 {
	r.samples = append(r.samples, sample{at, total})
	old := 0
	for old+1 < len(r.samples) && at.Sub(r.samples[old+1].at) >= rateWindow {
		old++
	}
	r.samples = append(r.samples[:0], r.samples[old:]...)
	first := r.samples[0]
	span := at.Sub(first.at)
	if span <= 0 || total < first.total {
		return 0
	}
	return float64(total-first.total) / span.Seconds()
}
