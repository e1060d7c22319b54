package live

import "time"

// rateWindow is what a rate is averaged over.
const rateWindow = time.Second

// Rate turns a counter that only grows into how much it grew in the last second. The
// zero value is ready. One goroutine at a time.
type Rate struct {
	samples []sample // the oldest first, none but the first older than rateWindow
}

type sample struct {
	at    time.Time
	total uint64
}

// Sample takes the counter's value at a moment, which is not before the last one, and
// returns the rate per second: zero for the first sample.
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
