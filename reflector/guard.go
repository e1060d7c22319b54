package reflector

import (
	"context"
	"time"
)

// lateAfter is how long a call of the source may go on after its context is done.
const lateAfter = 30 * time.Second

// guard is a watchdog's knowledge of the call of the source that it looks after. Until the
// watchdog has stopped, only its goroutine uses the fields without a comment.
type guard struct {
	request context.Context // of the call; set once
	asked   RequestError    // verb and version of the call, for reports; set while no watchdog runs

	done  time.Time // when the watchdog found that request is done
	late  bool      // the source was reported
	panic any       // of OnError
}

// guardCall returns a watchdog for a call that nothing else looks after.
func (p *protocol) guardCall(g *guard) *watchdog {
	return newWatchdog(lateAfter/4, p.omitted, func(quiet time.Duration) { p.checkLate(g, quiet) })
}

// checkLate reports a source that has brought nothing for a while and does not return although
// its context is done. It runs in the goroutine of the watchdog.
func (p *protocol) checkLate(g *guard, quiet time.Duration) {
	now := time.Now()
	switch {
	case g.late || g.request.Err() == nil:
		return
	case g.done.IsZero():
		g.done = now
	}
	if min(quiet, now.Sub(g.done)) < lateAfter {
		return
	}
	g.late = true
	report := g.asked
	report.Resource, report.Err = p.resource, ErrNotReturning
	p.stats.fails(&report, now, time.Time{})
	p.warn(g, &report)
}

// warn calls OnError in the goroutine of the watchdog. A panic goes on in that of Run: see
// returned.
func (p *protocol) warn(g *guard, err error) {
	defer func() { g.panic = recover() }()
	p.opts.OnError(err)
}

// returned follows the end of a call.
func (p *protocol) returned(g *guard, dog *watchdog) {
	dog.stop()
	if g.late {
		p.failing = true
	}
	if g.panic != nil {
		panic(g.panic)
	}
}
