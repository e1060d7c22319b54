package reflector

import "time"

// lateAfter is how long a call of the source may go on after its context is done.
const lateAfter = 30 * time.Second

// guardCall returns a watchdog for a call that nothing else looks after.
func (r *core) guardCall(g *guard) *watchdog {
	return newWatchdog(lateAfter/4, r.omitted, func(quiet time.Duration) { r.checkLate(g, quiet) })
}

// checkLate notes a list that brings nothing, and reports a source that has brought nothing for a while and does not
// return although its context is done. It runs in the goroutine of the watchdog.
func (r *core) checkLate(g *guard, quiet time.Duration) {
	now := time.Now()
	if quiet >= slowAfter && g.asked.Verb != "watch" {
		r.stats.isQuiet(now.Add(-quiet).Sub(r.made))
	}
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
	report.Resource, report.Err = r.resource, errNotReturning
	r.stats.fails(&report, now, time.Time{})
	r.warn(g, &report)
}

// warn calls OnError in the goroutine of the watchdog. A panic goes on in Run's goroutine: see
// returned.
func (r *core) warn(g *guard, err error) {
	defer func() { g.panic = recover() }()
	r.opts.OnError(err)
}

// returned follows the end of a call.
func (r *core) returned(g *guard, dog *watchdog) {
	dog.stop()
	if g.late {
		r.failing = true
	}
	if g.panic != nil {
		panic(g.panic)
	}
}

// guardWatch returns a watchdog for a watch.
func (r *core) guardWatch(w *watchRequest) *watchdog {
	if r.opts.IdleTimeout < 0 {
		return r.guardCall(&w.guard)
	}
	return r.guardFor(w, r.opts.IdleTimeout)
}

// guardFor returns a watchdog that ends the request once nothing has come for so long.
func (r *core) guardFor(w *watchRequest, patience time.Duration) *watchdog {
	return newWatchdog(patience/4, r.omitted, func(quiet time.Duration) {
		if quiet >= patience {
			w.abort()
		}
		r.checkLate(&w.guard, quiet)
	})
}

// guardReplay returns a watchdog for a watch that begins with w.replay.
func (r *core) guardReplay(w *watchRequest) *watchdog {
	if !w.replay.strict || r.state.confirmed {
		return r.guardWatch(w)
	}
	patience := replayPatience
	if r.opts.IdleTimeout > 0 {
		patience = min(patience, r.opts.IdleTimeout)
	}
	return r.guardFor(w, patience)
}

// guardStream returns a watchdog for a streaming list.
func (r *core) guardStream(w *watchRequest) *watchdog {
	patience := ignoredAfter
	if r.opts.IdleTimeout > 0 {
		patience = min(patience, r.opts.IdleTimeout)
	}
	warned := false
	slow := &SlowListError{Resource: r.resource, ResourceVersion: w.asked.ResourceVersion}
	dog := &watchdog{every: min(patience, slowAfter) / 4, omitted: r.omitted}
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
			if r.warn(&w.guard, slow); w.panic != nil {
				w.abort()
			}
		}
		r.checkLate(&w.guard, quiet)
	}
	return dog.start()
}
