package reflector

import "time"

// lateAfter is how long a call of the source may go on after its context is done.
const lateAfter = 30 * time.Second

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

// guardWatch returns a watchdog for a watch.
func (p *protocol) guardWatch(w *watch) *watchdog {
	if p.opts.IdleTimeout < 0 {
		return p.guardCall(&w.guard)
	}
	return p.guardFor(w, p.opts.IdleTimeout)
}

// guardFor returns a watchdog that ends the request once nothing has come for so long.
func (p *protocol) guardFor(w *watch, patience time.Duration) *watchdog {
	return newWatchdog(patience/4, p.omitted, func(quiet time.Duration) {
		if quiet >= patience {
			w.abort()
		}
		p.checkLate(&w.guard, quiet)
	})
}

// guardReplay returns a watchdog for a watch that begins with w.replay.
func (p *protocol) guardReplay(w *watch) *watchdog {
	if !w.replay.strict || p.state.confirmed {
		return p.guardWatch(w)
	}
	patience := replayPatience
	if p.opts.IdleTimeout > 0 {
		patience = min(patience, p.opts.IdleTimeout)
	}
	return p.guardFor(w, patience)
}

// guardStream returns a watchdog for a streaming list.
func (p *protocol) guardStream(w *watch) *watchdog {
	patience := ignoredAfter
	if p.opts.IdleTimeout > 0 {
		patience = min(patience, p.opts.IdleTimeout)
	}
	warned := false
	slow := &SlowListError{Resource: p.resource, ResourceVersion: w.asked}
	dog := &watchdog{every: min(patience, slowAfter) / 4, omitted: p.omitted}
	pace := pace{every: dog.every, patience: patience}
	dog.looked = func(pulse uint64) {
		if pace.look(pulse, w.live.Load(), &w.fell) {
			w.abort()
		}
	}
	dog.react = func(quiet time.Duration) {
		if quiet >= patience {
			w.abort()
		} else if quiet >= slowAfter && !warned {
			warned = true
			slow.Quiet = quiet
			if p.warn(&w.guard, slow); w.panic != nil {
				w.abort()
			}
		}
		p.checkLate(&w.guard, quiet)
	}
	return dog.start()
}
