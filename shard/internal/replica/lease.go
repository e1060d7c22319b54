package replica

import (
	"maps"
	"reflect"
	"slices"
	"time"
)

// The part of a core that writes its own Lease.

// record is this replica's Lease in the view, nil if there is none.
func (c *Core) record() *Record {
	if c.view == nil || c.own.name == "" {
		return nil
	}
	n := slices.IndexFunc(c.view.Records, func(r *Record) bool { return r.Name == c.own.name })
	if n < 0 {
		return nil
	}
	return c.view.Records[n]
}

// look takes a view.
func (c *Core) look(now Moment, v *View, do *Actions) {
	c.view = v
	if v.Rewound {
		c.others.rewound()
	}
	c.others.look(c, now)
	if v.Rewound {
		c.end(now, ErrRestored, do)
	}
	r := c.record()
	switch {
	case c.phase == over:
	case r == nil && c.own.seen:
		c.end(now, ErrDeleted, do)
	case r != nil:
		c.recognize(now, r, do)
	}
	if c.phase == alive && v.Sheet != nil && c.usable(v.Sheet) && v.Sheet.Plan.Scheme != c.cfg.Scheme {
		c.lose(ErrScheme, do)
	}
}

// end ends a life whose Lease is not in the state that this replica gave it.
func (c *Core) end(now Moment, reason error, do *Actions) {
	c.own.base, c.own.seen = "", false
	c.lose(reason, do)
	if c.phase == joining && c.own.name != "" && c.lease == nil {
		c.begin(now)
	}
}

// recognize compares this replica's Lease in a view with the writes of this replica.
func (c *Core) recognize(now Moment, r *Record, do *Actions) {
	w, known := c.own.sent[r.Renewed]
	switch {
	case c.own.uid != "" && r.UID != c.own.uid, !r.Valid, r.Info.Stopped && !w.info.Stopped:
		reason := ErrEdited
		if r.Valid && r.UID == c.own.uid && r.Info.Stopped {
			reason = ErrExcluded
		}
		c.end(now, reason, do)
	case !known && r.Renewed < c.own.stamp: // an old view
	case !known:
		c.end(now, ErrEdited, do)
	default:
		if !c.own.seen {
			c.own.seen, c.others.changed = true, true
		}
		c.own.shown = max(c.own.shown, w.at)
		if r.Renewed >= c.own.stamp { // even if the answer was lost
			c.wrote(now, r.Renewed, r.UID, r.Version)
		}
	}
}

// wrote handles a successful write of this replica's Lease. Called again for the same write, it
// only takes the version, which others may have changed.
func (c *Core) wrote(now Moment, stamp int64, uid, version string) {
	w := c.own.sent[stamp]
	for older := range c.own.sent {
		if older < stamp {
			delete(c.own.sent, older)
		}
	}
	if c.own.base != version {
		c.own.stale = false
	}
	c.own.uid, c.own.base, c.own.stamp, c.own.renewed, c.own.info = uid, version, stamp, w.at, w.info
	if c.phase == joining && now.Mono < w.at+c.cfg.RenewDeadline {
		c.phase, c.others.changed = alive, true
		c.own.shown = max(c.own.shown, w.at)
	}
}

// wanted is the content that this replica's Lease should have.
func (c *Core) wanted(released []Release) Info {
	want := c.own.info
	want.Scheme, want.Weight, want.Leaving = c.cfg.Scheme, c.cfg.Weight, c.phase == leaving || c.phase == resigning
	want.Stopped, want.LeaseMilliseconds = c.phase == resigning, milliseconds(c.cfg.LeaseDuration)
	want.Released = released
	if s := c.view.Sheet; s != nil && c.usable(s) && c.own.info.Obeys == s.UID {
		want.Epoch = max(want.Epoch, s.Plan.Epoch)
	}
	return want
}

// tend sends the request that this replica's Lease needs now.
func (c *Core) tend(now Moment, released []Release, idle bool, do *Actions) {
	if c.view == nil || c.phase == lost {
		return
	}
	want := c.wanted(released)
	if s := c.view.Sheet; idle && c.phase == alive && s != nil && c.usable(s) && want.Obeys != s.UID {
		want.Obeys, want.Epoch, want.Released = s.UID, s.Plan.Epoch, nil
	}
	due := now.Mono >= c.renewAt
	if now.Mono >= c.calm {
		c.calm = 0
	}
	switch c.phase {
	case joining:
		if due && !c.own.stale && c.mayJoin(now, do) {
			c.join(now, want, do)
		}
	case alive, leaving:
		changed := c.calm == 0 && c.worth(want)
		if !c.own.stale && (due || changed) && c.own.base != "" {
			c.send(now, Request{Verb: RenewLease, Info: want}, do)
		}
	case resigning:
		if c.own.base == "" {
			c.begin(now)
		} else if due && !c.own.stale {
			c.send(now, Request{Verb: RenewLease, Info: want}, do)
		}
	}
}

// worth reports whether the Lease must say something new before its next renewal. An epoch in which
// this replica got nothing can wait.
func (c *Core) worth(want Info) bool {
	if s := c.view.Sheet; want.Epoch != c.own.info.Epoch && want.Obeys == c.own.info.Obeys {
		got := false
		for _, r := range s.Plan.Ranges {
			got = got || r.Owner == c.own.uid && r.Number > c.own.info.Epoch
		}
		if !got {
			want.Epoch = c.own.info.Epoch
		}
	}
	return !reflect.DeepEqual(want, c.own.info)
}

// join creates a Lease. If an answer was lost, it writes to the one that came into being.
func (c *Core) join(now Moment, want Info, do *Actions) {
	if c.own.name == "" {
		c.own = life{name: c.cfg.Name + "-" + c.suffix(), sent: map[int64]write{}}
	}
	if s := c.view.Sheet; s != nil && c.usable(s) {
		want.Obeys, want.Epoch = s.UID, s.Plan.Epoch
	}
	want.Released = nil
	// This may go on for days, if the server refuses. A write that is so late does not count as an
	// own one.
	maps.DeleteFunc(c.own.sent, func(_ int64, w write) bool { return now.Mono-w.at > c.cfg.LeaseDuration })
	verb := CreateLease
	if c.own.base != "" {
		verb = RenewLease
	}
	c.send(now, Request{Verb: verb, Info: want}, do)
}

// mayJoin reports whether this replica can share the work.
func (c *Core) mayJoin(now Moment, do *Actions) bool {
	s := c.view.Sheet
	if s == nil || !c.usable(s) || s.Plan.Scheme == c.cfg.Scheme {
		return true
	}
	do.Reports = append(do.Reports, ErrScheme)
	c.renewAt = now.Mono + c.cfg.RetryPeriod
	return false
}

// send sends a request about the own Lease.
func (c *Core) send(now Moment, r Request, do *Actions) {
	r.Name, r.UID, r.Version = c.own.name, c.own.uid, c.own.base
	r.Renewed = max(now.Wall.UnixMicro(), c.own.last+1)
	r.sent, r.Limit = now.Mono, now.Mono+c.cfg.RenewDeadline/2
	if c.renews() {
		r.Limit = min(r.Limit, c.Until())
	}
	if c.phase == resigning {
		r.Limit = min(r.Limit, c.giveUp)
	}
	c.own.last = r.Renewed
	c.own.sent[r.Renewed] = write{now.Mono, r.Info}
	c.lease, do.Lease = &r, &r
}

// leaseAnswer takes the end of a request about the own Lease.
func (c *Core) leaseAnswer(now Moment, ev Event, do *Actions) {
	r := *c.lease
	c.lease = nil
	switch ev.Outcome {
	case Done:
		c.wrote(now, r.Renewed, ev.UID, ev.Version)
		c.renewAt = r.sent + c.pause(now)
		if c.phase == joining { // the answer came too late to rely on it
			c.renewAt = now.Mono
		}
	case Raced:
		c.raced(now, r, do)
	case Failed:
		c.renewAt = now.Mono + c.pause(now)/4
		c.calm = c.renewAt
		do.Reports = append(do.Reports, &RequestError{r.Verb, r.Name, ev.Err})
	}
}

// raced handles a write that was refused because the Lease is in another state. The view shows that
// state, or will.
func (c *Core) raced(now Moment, r Request, do *Actions) {
	c.renewAt = now.Mono + c.pause(now)/4
	switch w := c.record(); {
	case c.phase == resigning:
		c.own.base = "" // others have done it
	case r.Verb == CreateLease: // an answer was lost
		if w != nil { // the view was faster, and may be the last one for long
			c.recognize(now, w, do)
		}
	case c.phase == joining: // others considered the life over, and no work was done under it
		c.begin(now)
	case w != nil && w.Version != r.Version: // the view was faster
		c.recognize(now, w, do)
	default:
		c.own.stale = true
	}
}

// pause is the time to the next renewal, shorter at random so that replicas spread.
func (c *Core) pause(now Moment) time.Duration {
	return c.cfg.RetryPeriod - time.Duration(now.Rand*float64(c.cfg.RetryPeriod)/5)
}
