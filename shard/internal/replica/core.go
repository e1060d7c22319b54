package replica

import (
	"slices"
	"time"
)

// phase is a stage of a life.
type phase uint8

const (
	joining   phase = iota // there is no Lease
	alive                  // the Lease is renewed
	leaving                // the caller wants an end: the Lease is renewed until work has ended
	lost                   // the Lease is over, and work must end
	resigning              // work has ended, and the Lease is to say so
	over
)

// Core decides for one replica. Make one with [New].
type Core struct {
	cfg       Config
	suffix    func() string // of the name of the next Lease
	phase     phase
	cancelled bool

	view  *View // nil before the first one
	own   life
	holds []Hold // what was last published

	lease   *Request      // under way
	table   *Request      // under way
	renewAt time.Duration // when to send the next request about the Lease
	calm    time.Duration // until then changes wait, because a request has failed
	giveUp  time.Duration // when resigning ends
	again   bool          // step again at once

	others others
}

// life is about the own Lease.
type life struct {
	name, uid string
	base      string          // version for the next write, empty if unknown
	info      Info            // as last written
	renewed   time.Duration   // when the last write that succeeded was sent
	stamp     int64           // Record.Renewed of it
	sent      map[int64]write // later ones, and stamp's own
	last      int64           // the last stamp used
	seen      bool            // a view has shown it
	shown     time.Duration   // when the newest write that a view has shown was sent
	stale     bool            // base is wrong: wait for a view
}

// write is one about the own Lease.
type write struct {
	at   time.Duration
	info Info
}

// New returns a core. Each call of suffix returns another text for the name of a Lease.
func New(cfg Config, suffix func() string) *Core {
	return &Core{cfg: cfg, suffix: suffix, others: newOthers(cfg)}
}

// Step handles an event.
func (c *Core) Step(now Moment, ev Event) (do Actions) {
	c.again = false
	c.watchClock(now, &do)
	switch ev.What {
	case Seen:
		c.look(now, ev.View, &do)
	case Answered:
		if ev.Table {
			c.tableAnswer(now, ev, &do)
		} else {
			c.leaseAnswer(now, ev, &do)
		}
	case Cancel:
		c.cancel()
	}
	released := c.released(ev.Busy)
	idle := len(c.holds) == 0 && !ev.Busy(0, ^uint64(0))
	c.publish(now, &do)
	c.advance(now, idle)
	if c.phase != over && c.lease == nil {
		c.tend(now, released, idle, &do)
	}
	if (c.phase == alive || c.phase == joining) && c.table == nil {
		c.plan(now, &do)
	}
	do.Over = c.phase == over && c.lease == nil && c.table == nil
	return do
}

// Wake returns the time of the next step if no event comes before.
func (c *Core) Wake() time.Duration {
	if c.again {
		return 0
	}
	at := Never
	if c.renews() {
		at = min(at, c.Until(), c.own.shown+c.cfg.LeaseDuration)
	}
	if c.lease == nil && c.phase != lost && c.phase != over && !c.own.stale && c.view != nil {
		at = min(at, c.renewAt)
		if c.renews() && c.calm > 0 {
			at = min(at, c.calm)
		}
	}
	if c.phase == resigning && c.lease == nil {
		at = min(at, c.giveUp)
	}
	if (c.phase == alive || c.phase == joining) && c.table == nil {
		at = min(at, c.others.wake)
	}
	return at
}

// renews reports whether the Lease is to be kept.
func (c *Core) renews() bool { return c.phase == alive || c.phase == leaving }

// Until is the time after which this replica must not write, unless its Lease is renewed. It is in
// the past if the replica has no Lease.
func (c *Core) Until() time.Duration {
	if !c.renews() {
		return -1
	}
	return c.own.renewed + c.cfg.RenewDeadline
}

// Ended reports whether nothing is left to do but to wait for answers.
func (c *Core) Ended() bool { return c.phase == over }

// ID returns the UID of the own Lease, empty if there is none.
func (c *Core) ID() string { return c.own.uid }

// watchClock ends a life that was not renewed in time, whatever else happens.
func (c *Core) watchClock(now Moment, do *Actions) {
	switch {
	case !c.renews():
	case now.Mono >= c.Until():
		c.lose(ErrExpired, do)
	case now.Mono >= c.own.shown+c.cfg.LeaseDuration:
		c.lose(ErrBlind, do)
	}
}

// lose ends a life.
func (c *Core) lose(reason error, do *Actions) {
	if !c.renews() {
		return
	}
	do.Lost = &LostError{c.own.name, reason}
	c.phase = lost
}

func (c *Core) cancel() {
	c.cancelled = true
	switch c.phase {
	case joining:
		c.phase = over
		if c.own.name != "" { // the Lease may come into being, or is there
			c.phase = lost
		}
	case alive:
		c.phase = leaving
		c.renewAt = 0
	}
}

// advance ends a life when its work has ended.
func (c *Core) advance(now Moment, idle bool) {
	switch {
	case c.phase == lost && idle && c.lease == nil, c.phase == leaving && idle && c.lease == nil:
		c.phase = resigning
		c.giveUp = now.Mono + c.cfg.RenewDeadline/2
		c.renewAt = now.Mono
		c.own.stale = false
	case c.phase == resigning && c.lease == nil && (now.Mono >= c.giveUp || c.own.info.Stopped || c.own.uid == ""):
		c.begin(now)
	}
}

// begin begins another life, unless the caller wants an end.
func (c *Core) begin(now Moment) {
	c.phase = joining
	if c.cancelled {
		c.phase = over
	}
	c.own, c.calm, c.others.changed = life{}, 0, true
	c.renewAt = now.Mono + time.Duration(now.Rand*float64(c.cfg.RetryPeriod))
}

// publish decides which ranges are held.
func (c *Core) publish(now Moment, do *Actions) {
	holds, known := c.entitled(now)
	if !known || slices.Equal(holds, c.holds) {
		return
	}
	c.holds, do.Holds, do.Changed = holds, holds, true
	c.again = true // work may have ended already in ranges that are no longer held
}

// entitled returns the ranges that this replica may work on. If it is not known, because the sheet
// is missing or broken, it keeps what it has: the sheet cannot take anything from it.
func (c *Core) entitled(now Moment) (holds []Hold, known bool) {
	if c.phase != alive {
		return nil, true
	}
	s, own := c.view.Sheet, c.record()
	if s == nil || !c.usable(s) || own == nil {
		return nil, len(c.holds) == 0
	}
	if own.Info.Obeys != s.UID || c.own.info.Obeys != s.UID {
		return nil, true
	}
	for n, r := range s.Plan.Ranges {
		switch last := s.Plan.Ranges.Last(n); {
		case r.Owner != c.own.uid || r.Next != "":
		case r.Number <= own.Info.Epoch:
			holds = append(holds, Hold{r.First, last, r.Number})
		default: // a new range, which may have joined one that this replica has
			holds = append(holds, within(c.holds, r.First, last)...)
		}
	}
	return holds, true
}

// within returns the parts of holds from first to last.
func within(holds []Hold, first, last uint64) (parts []Hold) {
	for _, h := range holds {
		if h.First <= last && first <= h.Last {
			parts = append(parts, Hold{max(h.First, first), min(h.Last, last), h.Number})
		}
	}
	return parts
}

// released returns the ranges that the sheet asks back, and in which nothing runs any more.
func (c *Core) released(busy func(first, last uint64) bool) (list []Release) {
	if c.view == nil || c.view.Sheet == nil || !c.usable(c.view.Sheet) {
		return c.own.info.Released
	}
	t := c.view.Sheet.Plan.Ranges
	for n, r := range t {
		if r.Owner != c.own.uid || r.Next == "" || c.own.uid == "" {
			continue
		}
		first, last := r.First, t.Last(n)
		held := slices.ContainsFunc(c.holds, func(h Hold) bool { return h.First <= last && first <= h.Last })
		if !held && !busy(first, last) {
			list = append(list, Release{r.First, r.Since})
		}
	}
	return list
}
