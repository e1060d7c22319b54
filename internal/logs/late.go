package logs

import "time"

// lateAfter is how long something may be missing before that is due to be said. A program that starts is sooner.
const lateAfter = 10 * time.Second

// Late knows when to say, once, that a program has not begun what it should. The zero value is ready. Its owner's lock
// guards it.
type Late struct {
	since time.Time // the first call of Due
	over  bool      // Due has reported true, or must not
}

// Due is called whenever it is missing. It reports true once, ten seconds or more after the first call.
func (l *Late) Due(now time.Time) bool {
	switch {
	case l.over:
		return false
	case l.since.IsZero():
		l.since = now
	}
	l.over = now.Sub(l.since) >= lateAfter
	return l.over
}

// Stop is called when it begins, or need not. Due reports false from then on.
func (l *Late) Stop() { l.over = true }
