package replica

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/kinform/kinform/shard/internal/assign"
)

// The part of a core that watches the other replicas, and writes the sheet. Every replica does
// that: the server decides who was first.

// others is a replica's knowledge of all lives, its own included.
type others struct {
	since   map[string]sign          // by UID: when its Lease last changed
	stopped map[string]bool          // by UID: its Lease has said that it stopped
	absent  map[string]time.Duration // by UID of owners: since when there is no Lease
	sheet   string                   // UID
	met     time.Duration            // when sheet was first seen, or a Lease later disappeared
	epoch   int64                    // the newest of sheet
	highest int64                    // the newest of all sheets
	longest time.Duration            // LeaseDuration, of all replicas that were ever seen

	last     *Sheet // of the last view
	changed  bool   // something has changed since the last plan
	todo     bool
	dueAt    time.Duration // when to do it
	base     string        // version of the sheet that the last write was for, none if there was no such write
	baseAt   time.Duration
	tried    map[string]string // versions of Leases that were to be fenced or deleted, by name
	wake     time.Duration     // when the passing of time may make something due
	reported string            // UID and version of the sheet that was reported as broken
	twin     string            // UID of another life with the own identity
	twinAt   time.Duration     // when it was met, Never if it was reported
}

// sign is a sign of life.
type sign struct {
	record *Record // nil if there is none
	at     time.Duration
}

func newOthers(cfg Config) others {
	return others{longest: cfg.LeaseDuration, since: map[string]sign{}, stopped: map[string]bool{}, absent: map[string]time.Duration{}, tried: map[string]string{}, wake: Never, base: none}
}

// none is no version.
const none = "-"

// rewound forgets what does not hold any more after a restore.
func (o *others) rewound() {
	clear(o.stopped)
	clear(o.absent)
	clear(o.since)
	o.sheet = ""
}

// look takes the view of c. Most views only bring renewals.
func (o *others) look(c *Core, now Moment) {
	v, changed := c.view, false
	for _, r := range v.Records {
		last, known := o.since[r.UID]
		if last.record == r {
			continue
		}
		if !known || last.record.Version != r.Version {
			last.at = now.Mono
		}
		changed = changed || !known || differ(last.record, r)
		o.since[r.UID] = sign{r, last.at}
		if r.Valid && r.Info.Stopped {
			o.stopped[r.UID] = true
		}
		o.highest = max(o.highest, r.Info.Epoch)
		o.longest = max(o.longest, duration(r.Info.LeaseMilliseconds))
	}
	if changed || len(o.since) != len(v.Records) || v.Sheet != o.last {
		o.account(v, now)
		o.changed = true
	}
}

// milliseconds rounds up.
func milliseconds(d time.Duration) int64 {
	return int64((d + time.Millisecond - 1) / time.Millisecond)
}

// duration takes what somebody may have written, so it has limits.
func duration(milliseconds int64) time.Duration {
	return time.Duration(min(max(milliseconds, 0), math.MaxInt32*1000)) * time.Millisecond
}

// differ reports whether something other than the renewal matters.
func differ(a, b *Record) bool {
	return a.Valid != b.Valid || a.Identity != b.Identity || a.Info.Scheme != b.Info.Scheme || a.Info.Weight != b.Info.Weight ||
		a.Info.Obeys != b.Info.Obeys || a.Info.Leaving != b.Info.Leaving || a.Info.Stopped != b.Info.Stopped ||
		!slices.Equal(a.Info.Released, b.Info.Released)
}

// account takes a view in which something has changed.
func (o *others) account(v *View, now Moment) {
	present, owners := map[string]bool{}, map[string]bool{}
	for _, r := range v.Records {
		present[r.UID] = true
	}
	o.last = v.Sheet
	if s := v.Sheet; s != nil {
		if s.UID != o.sheet {
			o.sheet, o.met, o.epoch = s.UID, now.Mono, 0
		}
		if s.Genuine() {
			o.epoch, o.highest = max(o.epoch, s.Plan.Epoch), max(o.highest, s.Plan.Epoch)
			o.longest = max(o.longest, duration(s.Plan.LeaseMilliseconds))
			for _, r := range s.Plan.Ranges {
				owners[r.Owner] = true
				if _, ok := o.absent[r.Owner]; !ok && r.Owner != "" && !present[r.Owner] {
					o.absent[r.Owner] = now.Mono
				}
			}
		}
	}
	for uid := range o.since {
		if !present[uid] {
			delete(o.since, uid)
			if !o.stopped[uid] { // its owner may go on for a while, and can no longer answer
				o.met = now.Mono
			}
		}
	}
	maps.DeleteFunc(o.absent, func(uid string, _ time.Duration) bool { return present[uid] || !owners[uid] })
	maps.DeleteFunc(o.stopped, func(uid string, _ bool) bool { return !present[uid] && !owners[uid] })
	maps.DeleteFunc(o.tried, func(name string, _ string) bool {
		return !slices.ContainsFunc(v.Records, func(r *Record) bool { return r.Name == name })
	})
}

// Genuine reports whether a sheet is as a replica wrote it, though perhaps an older state.
func (s *Sheet) Genuine() bool { return s.Valid && (!s.Plan.Open || s.Plan.UID == s.UID) }

// usable reports whether a sheet can be obeyed.
func (c *Core) usable(s *Sheet) bool {
	if !s.Genuine() || s.UID == c.others.sheet && s.Plan.Epoch < c.others.epoch {
		return false
	}
	for _, r := range c.view.Records {
		if r.Info.Epoch > s.Plan.Epoch && r.Valid && r.Info.Obeys == s.UID {
			return false
		}
	}
	return true
}

// silent is how long a Lease has not changed.
func (c *Core) silent(now Moment, r *Record) time.Duration {
	return now.Mono - c.others.since[r.UID].at
}

// passed reports whether a time is over. If not, the core looks again then.
func (c *Core) passed(now Moment, at time.Duration) bool {
	if now.Mono >= at {
		return true
	}
	c.others.wake = min(c.others.wake, at)
	return false
}

// plan sends the request that the sheet or the Leases of other replicas need now.
func (c *Core) plan(now Moment, do *Actions) {
	if !c.others.changed && now.Mono < c.others.wake {
		return
	}
	c.others.wake = Never
	if c.view == nil || c.phase == alive && c.record() == nil {
		return
	}
	c.others.changed = false
	r := c.next(now, do)
	if r == nil {
		c.others.todo = false
		return
	}
	if !c.others.todo {
		c.others.todo = true
		c.others.dueAt = now.Mono + c.turn(now)
	}
	if !c.passed(now, c.others.dueAt) {
		return
	}
	c.others.todo = false
	r.sent, r.Limit = now.Mono, now.Mono+c.cfg.RenewDeadline/2
	if r.Verb == FenceLease || r.Verb == DeleteLease {
		c.others.tried[r.Name] = r.Version
	} else {
		c.others.base, c.others.baseAt = r.Version, now.Mono
	}
	c.table, do.Table = r, r
}

// turn is the time for which this replica lets others act first. The replica with the first name
// begins.
func (c *Core) turn(now Moment) time.Duration {
	rank := 0
	for _, r := range c.view.Records {
		if r.Name < c.own.name && c.silent(now, r) < c.cfg.RenewDeadline && r.Valid && !r.Info.Stopped {
			rank++
		}
	}
	wait := time.Duration(rank) * c.cfg.RetryPeriod / 8
	return min(wait, c.cfg.RetryPeriod+time.Duration(now.Rand*float64(c.cfg.RetryPeriod)/2))
}

// next returns the request that should be sent, nil if there is none.
func (c *Core) next(now Moment, do *Actions) *Request {
	s := c.view.Sheet
	if c.phase == joining {
		return c.takeOver(now, s)
	}
	switch {
	case s == nil:
		if !c.fresh(now, "") {
			return nil
		}
		epoch := max(c.others.highest+1, now.Wall.Unix())
		return &Request{Verb: CreateSheet, Name: c.cfg.Name, Plan: Plan{Scheme: c.cfg.Scheme, Epoch: epoch, Ranges: assign.Free(epoch)}}
	case !c.usable(s):
		if c.others.reported != s.UID+s.Version {
			c.others.reported = s.UID + s.Version
			do.Reports = append(do.Reports, ErrSheet)
		}
		if c.fresh(now, s.Version) {
			return &Request{Verb: DeleteSheet, Name: c.cfg.Name, UID: s.UID, Version: s.Version}
		}
		return nil
	}
	if r := c.fence(now); r != nil {
		return r
	}
	if plan, changed := c.assign(now, s, do); changed {
		if c.fresh(now, s.Version) {
			return &Request{Verb: WriteSheet, Name: c.cfg.Name, UID: s.UID, Version: s.Version, Plan: plan}
		}
		return nil
	}
	return c.clean(s)
}

// fresh reports whether a write for a version of the sheet makes sense: not soon after another one.
func (c *Core) fresh(now Moment, version string) bool {
	return version != c.others.base || c.passed(now, c.others.baseAt+c.cfg.RetryPeriod)
}

// takeOver deletes the sheet of another scheme that nobody uses any more.
func (c *Core) takeOver(now Moment, s *Sheet) *Request {
	if s == nil || !c.usable(s) || s.Plan.Scheme == c.cfg.Scheme {
		return nil
	}
	for _, r := range c.view.Records {
		if !(r.Valid && r.Info.Stopped) && !c.passed(now, c.others.since[r.UID].at+c.others.longest) {
			return nil
		}
	}
	if !c.fresh(now, s.Version) {
		return nil
	}
	return &Request{Verb: DeleteSheet, Name: c.cfg.Name, UID: s.UID, Version: s.Version}
}

// fence writes the end into the Lease of a life that was silent for too long.
func (c *Core) fence(now Moment) *Request {
	for _, r := range c.view.Records {
		if r.Name == c.own.name || r.Valid && r.Info.Stopped || c.others.tried[r.Name] == r.Version {
			continue
		}
		if c.passed(now, c.others.since[r.UID].at+c.others.longest) {
			info := r.Info
			info.Stopped = true
			return &Request{Verb: FenceLease, Name: r.Name, UID: r.UID, Version: r.Version, Identity: r.Identity, Info: info, Renewed: r.Renewed}
		}
	}
	return nil
}

// clean deletes the Lease of a life that is over and owns nothing.
func (c *Core) clean(s *Sheet) *Request {
	for _, r := range c.view.Records {
		if !r.Valid || !r.Info.Stopped || r.Name == c.own.name || c.others.tried[r.Name] == r.Version {
			continue
		}
		if !slices.ContainsFunc(s.Plan.Ranges, func(o assign.Range) bool { return o.Owner == r.UID || o.Next == r.UID }) {
			return &Request{Verb: DeleteLease, Name: r.Name, UID: r.UID, Version: r.Version}
		}
	}
	return nil
}

// assign returns the next plan, and whether it differs from the present one.
func (c *Core) assign(now Moment, s *Sheet, do *Actions) (Plan, bool) {
	plan := s.Plan
	plan.Epoch = max(max(plan.Epoch, c.others.highest)+1, now.Wall.Unix()) // if the known epochs are lost, the clock counts
	if !plan.Open {
		if !c.mayOpen(now, s) {
			return plan, false
		}
		plan.Open, plan.UID = true, s.UID
	}
	members, byIdentity := c.members(now, s, do)
	released := map[string][]Release{}
	for _, r := range c.view.Records {
		if r.Valid && r.Info.Obeys == s.UID {
			released[r.UID] = r.Info.Released
		}
	}
	next, changed := assign.Next(plan.Ranges, assign.State{
		Members: members,
		Gone:    func(id string) bool { return c.gone(now, id) },
		Released: func(r assign.Range) bool {
			return slices.Contains(released[r.Owner], Release{r.First, r.Since})
		},
		Heir: func(id string) string {
			if heir := byIdentity[s.Plan.Names[id]]; heir != nil && heir.takes {
				return heir.uid
			}
			return ""
		},
		Kept: func(id string) bool {
			heir := byIdentity[s.Plan.Names[id]]
			return heir != nil && !heir.takes || !c.passed(now, c.lastSign(id)+c.cfg.Grace)
		},
	}, plan.Epoch)
	plan.Ranges = next
	if !changed && plan.Open == s.Plan.Open {
		return plan, false
	}
	plan.Names, plan.LeaseMilliseconds = c.names(s, next), milliseconds(c.others.longest)
	return plan, true
}

// mayOpen reports whether nobody works on anything that a former sheet has given.
func (c *Core) mayOpen(now Moment, s *Sheet) bool {
	for _, r := range c.view.Records {
		if (!r.Valid || r.Info.Obeys != s.UID) && !(r.Valid && r.Info.Stopped) {
			return false
		}
	}
	return c.passed(now, c.others.met+c.others.longest)
}

// gone reports whether a life is certainly over.
func (c *Core) gone(now Moment, id string) bool {
	if c.others.stopped[id] {
		return true
	}
	since, absent := c.others.absent[id]
	return absent && c.passed(now, since+c.others.longest)
}

// lastSign is the time at which the life was last seen.
func (c *Core) lastSign(id string) time.Duration {
	if sign, ok := c.others.since[id]; ok {
		return sign.at
	}
	if at, ok := c.others.absent[id]; ok {
		return at
	}
	return math.MinInt64 / 2
}

// heir is a life that has an identity.
type heir struct {
	uid   string
	takes bool
}

// members returns the lives that may own ranges. If two lives have one identity, the second gets
// nothing until the first is over, and then the ranges of the first.
func (c *Core) members(now Moment, s *Sheet, do *Actions) ([]assign.Member, map[string]*heir) {
	live := slices.DeleteFunc(slices.Clone(c.view.Records), func(r *Record) bool { return !r.Valid || r.Info.Stopped })
	owns := map[string]bool{}
	for _, r := range s.Plan.Ranges {
		owns[r.Owner], owns[r.Next] = true, true
	}
	slices.SortStableFunc(live, func(a, b *Record) int {
		if owns[a.UID] != owns[b.UID] {
			if owns[a.UID] {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.Name, b.Name)
	})
	var members []assign.Member
	byIdentity := map[string]*heir{}
	for _, r := range live {
		if first := byIdentity[r.Identity]; first != nil && !owns[r.UID] {
			if r.UID == c.own.uid {
				c.others.meet(now, first.uid, do)
			}
			continue
		}
		takes := r.Info.Obeys == s.UID && !r.Info.Leaving && r.Info.Scheme == s.Plan.Scheme &&
			!c.passed(now, c.others.since[r.UID].at+c.cfg.RenewDeadline)
		members = append(members, assign.Member{ID: r.UID, Weight: r.Info.Weight, Takes: takes})
		byIdentity[r.Identity] = &heir{r.UID, takes}
	}
	return members, byIdentity
}

// meet notes another life with this replica's identity. After a crash that is this replica's former
// life, so meet reports it only if it goes on renewing its Lease.
func (o *others) meet(now Moment, uid string, do *Actions) {
	switch {
	case o.twin != uid:
		o.twin, o.twinAt = uid, now.Mono
	case o.twinAt != Never && o.since[uid].at > o.twinAt:
		o.twinAt = Never
		do.Reports = append(do.Reports, ErrIdentity)
	}
}

// names returns the identities of the owners in a table.
func (c *Core) names(s *Sheet, t assign.Table) map[string]string {
	all := maps.Clone(s.Plan.Names)
	if all == nil {
		all = map[string]string{}
	}
	for _, r := range c.view.Records {
		all[r.UID] = r.Identity
	}
	used := map[string]string{}
	for _, r := range t {
		for _, id := range []string{r.Owner, r.Next} {
			if id != "" {
				used[id] = all[id]
			}
		}
	}
	return used
}

// tableAnswer takes the end of a request about the sheet, or about the Lease of another life.
func (c *Core) tableAnswer(now Moment, ev Event, do *Actions) {
	r := *c.table
	c.table, c.others.changed = nil, true
	switch {
	case ev.Outcome == Failed:
		do.Reports = append(do.Reports, &RequestError{r.Verb, r.Name, ev.Err})
		c.others.dueAt = now.Mono + c.pause(now)
		c.others.todo = true
		delete(c.others.tried, r.Name)
		if c.others.base == r.Version && r.Verb >= CreateSheet {
			c.others.base = none
		}
	case ev.Outcome == Done && r.Verb == FenceLease:
		c.others.stopped[r.UID] = true
	}
}
