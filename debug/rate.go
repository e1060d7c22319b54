package debug

import "time"

const (
	// firstRate is the time after which a rate is shown, and nextRate the time after which it is
	// computed again.
	firstRate = time.Second
	nextRate  = 5 * time.Second
)

// rate turns a number that grows into a number per second. The zero value is ready.
type rate struct {
	at    time.Time
	total uint64
	last  *float64
}

// of returns the rate at now, when the number is total; nil if it is not known yet.
func (r *rate) of(total uint64, now time.Time) *float64 {
	since := now.Sub(r.at)
	switch {
	case r.at.IsZero() || total < r.total:
		*r = rate{at: now, total: total}
	case since >= nextRate, since >= firstRate && r.last == nil:
		*r = rate{at: now, total: total, last: ptr(float64(total-r.total) / since.Seconds())}
	}
	return r.last
}
