package replica

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// calm is a world without random faults, with two replicas that have settled.
func calm(t *testing.T) (w *world, a, b *process) {
	w = newWorld(t, 1)
	a, b = w.start("a", 1, 1), w.start("b", 1, 1)
	w.run(40 * time.Second)
	if len(a.holds) != 1 || len(b.holds) != 1 {
		w.fail("not settled: %v and %v", a.holds, b.holds)
	}
	return w, a, b
}

// TestDeletedBeforeAnswer: a new assignment waits for a replica that still works, and then somebody
// deletes the Lease of that replica, which does not learn of it.
func TestDeletedBeforeAnswer(t *testing.T) {
	w, a, b := calm(t)
	b.works = append(b.works, &Hold{First: 1 << 63, Last: ^uint64(0)}) // it never ends
	w.deleteSheet()
	w.run(w.now + 30*time.Second)
	if len(a.holds) > 0 {
		w.fail("a has %v before b has answered", a.holds)
	}
	b.cut = true
	w.remove(slices.IndexFunc(w.records, func(r *Record) bool { return r.Identity == "b" }))
	w.run(w.now + 9*time.Second) // b may still write: check fails if a gets something
	if !b.writes() {
		w.fail("b has lost its lease")
	}
	w.run(w.now + 10*time.Second)
	if len(a.holds) != 1 {
		w.fail("a has %v", a.holds)
	}
}

// TestSetBack sets the assignment back to a state before a replica got a range, when that has just
// got it, and does not learn of it. A third one must see that the state is old.
func TestSetBack(t *testing.T) {
	for after := range 40 {
		w, a, b := calm(t)
		w.drop = func(r Request) bool { return r.Verb == DeleteLease } // so c knows that a is gone
		a.cancel()
		for len(b.holds) != 1 || b.holds[0].First != 0 {
			w.run(w.now + time.Millisecond)
		}
		w.run(w.now + time.Duration(after)*time.Millisecond)
		b.cut = true
		s := *w.sheet
		s.Plan = w.old[len(w.old)-2].Plan
		w.write(s)
		c := w.start("c", 1, 1) // check fails if it gets something that b has
		w.run(w.now + 5*time.Second)
		if len(c.holds) > 0 {
			w.fail("c has %v", c.holds)
		}
		b.cut = false
		b.pump()
		w.run(w.now + 60*time.Second)
		w.balance()
	}
}

// TestNumberFirst: a replica does not work on a range before its own Lease says that it has seen
// the epoch.
func TestNumberFirst(t *testing.T) {
	w := newWorld(t, 1)
	a := w.start("a", 1, 1)
	for len(a.holds) == 0 {
		w.run(w.now + time.Millisecond)
		if s := w.sheet; s != nil && len(a.holds) > 0 && (w.records[0].Info.Epoch < a.holds[0].Number || w.records[0].Info.Obeys != s.UID) {
			w.fail("a works with number %d, and its Lease says %+v", a.holds[0].Number, w.records[0].Info)
		}
	}
}

// TestScheme: a replica with another scheme waits until nobody uses the old one.
func TestScheme(t *testing.T) {
	w, a, b := calm(t)
	w.cfg.Scheme = "namespaces"
	c := w.start("c", 1, 1)
	w.run(w.now + time.Minute)
	if len(c.holds) > 0 || len(w.records) != 2 {
		w.fail("c has %v, and there are %d Leases", c.holds, len(w.records))
	}
	a.cancel()
	b.kill()
	w.run(w.now + 40*time.Second)
	if len(c.holds) != 1 {
		w.fail("c has %v", c.holds)
	}
}

// TestAllLeave: the assignment outlives all replicas that gave it up, so the next one does not wait
// for LeaseDuration.
func TestAllLeave(t *testing.T) {
	w, a, b := calm(t)
	a.cancel()
	b.cancel()
	w.run(w.now + time.Hour)
	uid := w.sheet.UID
	c := w.start("c", 1, 1)
	w.run(w.now + 8*time.Second)
	if w.sheet.UID != uid || len(c.holds) != 1 {
		w.fail("c has %v; the assignment is another one: %t", c.holds, w.sheet.UID != uid)
	}
}

// TestForgets: a replica remembers nothing of those that have come and gone.
func TestForgets(t *testing.T) {
	w, a, b := calm(t)
	for range 10 {
		c, d := w.start("c", 1, 1), w.start("d", 1, 1)
		w.run(w.now + time.Minute)
		c.cancel()
		d.kill()
		w.run(w.now + time.Minute)
	}
	for _, p := range []*process{a, b} {
		if o := p.core.others; len(o.since) > 2 || len(o.stopped) > 2 || len(o.absent) > 0 || len(o.tried) > 2 || len(w.records) > 2 {
			w.fail("%d since, %d stopped, %d absent, %d tried, %d Leases", len(o.since), len(o.stopped), len(o.absent), len(o.tried), len(w.records))
		}
	}
}

// TestRestored: after a restore, replicas drop what they have, and begin again.
func TestRestored(t *testing.T) {
	w, a, b := calm(t)
	old, sheet := w.records, w.sheet
	c := w.start("c", 1, 1)
	w.run(w.now + 20*time.Second)
	if len(c.holds) == 0 {
		w.fail("c has nothing")
	}
	w.records, w.sheet = old, sheet
	w.version++
	for _, p := range w.all {
		p.seen = w.version
		p.step(Event{What: Seen, View: &View{Records: w.records, Sheet: w.sheet, Rewound: true}})
		if len(p.holds) > 0 || p.writes() {
			w.fail("%s has %v", p.name, p.holds)
		}
	}
	w.run(w.now + 60*time.Second)
	if at, idle := w.idle(); idle {
		w.fail("nobody works on %x", at)
	}
	_, _ = a, b
	w.balance()
}

// TestTraffic counts requests while nothing happens.
func TestTraffic(t *testing.T) {
	w := newWorld(t, 1)
	for range 10 {
		w.start(string(rune('a'+len(w.all))), 1, 1)
	}
	w.run(time.Minute)
	before, writes := w.version, w.writes
	w.run(2 * time.Minute)
	if n := w.version - before; n < 10*60/2 || n > 10*60/2*5/4 {
		t.Errorf("%d writes of 10 Leases in a minute", n)
	}
	if w.writes != writes {
		t.Errorf("%d writes of the assignment", w.writes-writes)
	}
}

// TestCrash: a replica that was killed and comes back under its name waits for its former life,
// which it does not take for another process, and gets what that had.
func TestCrash(t *testing.T) {
	w, a, b := calm(t)
	was, others := b.holds[0], a.holds[0]
	b.kill()
	w.run(w.now + time.Second)
	b = w.start("b", 1, 1)
	w.run(w.now + 18*time.Second)
	if len(b.holds) != 1 || b.holds[0].First != was.First || b.holds[0].Last != was.Last || a.holds[0] != others {
		w.fail("b has %v after %v", b.holds, was)
	}
	if slices.ContainsFunc(w.trace, func(line string) bool { return strings.Contains(line, ErrIdentity.Error()) }) {
		w.fail("b takes its former life for another process")
	}
}

// TestKeepsWhatStays: a replica that gets the range beside its own goes on to work on its own
// meanwhile.
func TestKeepsWhatStays(t *testing.T) {
	w, a, b := calm(t)
	was := a.holds[0]
	b.cancel()
	for len(a.holds) != 1 || a.holds[0].Last-a.holds[0].First != ^uint64(0) {
		w.run(w.now + time.Millisecond)
		if len(without(was, a.holds)) > 0 {
			w.fail("a had %v, and has %v", was, a.holds)
		}
		if w.now > 2*time.Minute {
			w.fail("a has %v", a.holds)
		}
	}
}

// TestCreateMeetsEdited: somebody edits the Lease of a replica that does not know yet that it was
// created. The replica begins again, even if nothing else happens.
func TestCreateMeetsEdited(t *testing.T) {
	w := newWorld(t, 1)
	var a *process
	w.drop = func(r Request) bool {
		a.pumping = true // the view comes later
		return r.Verb == CreateSheet
	}
	w.deaf = func(r Request) bool { return r.Verb == CreateLease }
	a = w.start("a", 1, 1)
	for len(w.records) == 0 {
		w.run(w.now + time.Millisecond)
	}
	w.drop, w.deaf, a.pumping = nil, nil, false
	edited := *w.records[0]
	edited.Valid, edited.Info = false, Info{}
	w.put(0, edited)
	w.run(w.now + 40*time.Second)
	if len(a.holds) != 1 {
		w.fail("a has %v", a.holds)
	}
}

// TestRefused: a replica that may not create a Lease keeps nothing of what it has tried.
func TestRefused(t *testing.T) {
	w := newWorld(t, 1)
	w.drop = func(r Request) bool { return r.Verb == CreateLease }
	a := w.start("a", 1, 1)
	w.run(10 * time.Minute)
	if n := len(a.core.own.sent); n > 40 {
		w.fail("%d requests are noted", n)
	}
	w.drop = nil
	w.run(w.now + 40*time.Second)
	if len(a.holds) != 1 {
		w.fail("a has %v", a.holds)
	}
}

// TestShorterDurations: a replica with shorter durations, as during a rolling update, leaves others
// the time that these have, even if somebody has deleted their Lease before it came.
func TestShorterDurations(t *testing.T) {
	for _, deleted := range []bool{false, true} {
		w, a, b := calm(t)
		cfg := w.cfg
		cfg.LeaseDuration, cfg.RenewDeadline, cfg.RetryPeriod = 3*time.Second, 2*time.Second, 500*time.Millisecond
		a.kill()
		b.cut = true
		if deleted {
			w.remove(slices.IndexFunc(w.records, func(r *Record) bool { return r.Identity == "b" }))
		}
		c := w.startAs(cfg, "c", 1, 1)
		w.run(w.now + 7*time.Second) // check fails if c gets something
		if !b.writes() {
			w.fail("b has lost its lease")
		}
		w.run(w.now + 20*time.Second)
		if len(c.holds) != 1 {
			w.fail("c has %v", c.holds)
		}
	}
}

// TestShorterThanLeases: after the assignment was deleted, the Leases alone say how long others may
// go on.
func TestShorterThanLeases(t *testing.T) {
	w, a, b := calm(t)
	cfg := w.cfg
	cfg.LeaseDuration, cfg.RenewDeadline, cfg.RetryPeriod = 3*time.Second, 2*time.Second, 500*time.Millisecond
	a.kill()
	b.cut = true
	w.deleteSheet()
	c := w.startAs(cfg, "c", 1, 1)
	w.run(w.now + 7*time.Second) // check fails if c gets something
	if !b.writes() {
		w.fail("b has lost its lease")
	}
	w.run(w.now + 30*time.Second)
	if len(c.holds) != 1 {
		w.fail("c has %v", c.holds)
	}
}

// TestNumbersAfterRestore: fencing numbers do not go back when nobody is left who knows the newest.
func TestNumbersAfterRestore(t *testing.T) {
	w, a, b := calm(t)
	old, sheet := w.records, w.sheet
	c := w.start("c", 1, 1)
	w.run(w.now + 20*time.Second)
	if len(c.holds) == 0 {
		w.fail("c has nothing")
	}
	for _, p := range []*process{a, b, c} {
		p.kill()
	}
	w.records, w.sheet = old, sheet
	w.version++
	d := w.start("d", 1, 1) // check fails if a number goes back
	w.run(w.now + 40*time.Second)
	if len(d.holds) != 1 {
		w.fail("d has %v", d.holds)
	}
}
