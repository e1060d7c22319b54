package replica

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/kinform/kinform/internal/longtest"
)

// The clocks of two replicas may differ by the ratio of LeaseDuration and RenewDeadline, here 1.5.
// The clocks of the schedules differ by 1.49 at most.
const (
	slowest = 0.805
	fastest = 1.2
)

var (
	schedules = flag.Int("schedules", longtest.N(30, 10_000), "number of random schedules of TestSchedules")
	firstSeed = flag.Uint64("first-seed", 0, "seed of the first of them")
)

// TestSchedules runs random schedules. No two replicas may ever write to one hash, no fencing
// number goes back, and soon after the last fault every hash has an owner.
func TestSchedules(t *testing.T) {
	gains := 0
	for n := range *schedules {
		gains += runSchedule(t, *firstSeed+uint64(n))
	}
	t.Logf("%d changes of what a replica holds", gains)
	if gains < 10**schedules {
		t.Errorf("only %d changes", gains)
	}
}

func runSchedule(t *testing.T, seed uint64) int {
	w := newWorld(t, seed)
	w.faulty = w.rng.IntN(4) > 0
	w.mixed = seed%4 == 1
	size := 1 + w.rng.IntN(6)
	switch w.rng.IntN(50) {
	case 0, 1, 2, 3, 4, 5, 6:
		size = 7 + w.rng.IntN(14)
	case 7:
		size = 20 + w.rng.IntN(81)
	}
	faults := 150 * time.Second
	if w.rng.IntN(3) == 0 {
		w.cfg.Grace = time.Duration(w.rng.Float64() * float64(20*time.Second))
	}
	for n := range size {
		w.in(time.Duration(w.rng.Float64()*float64(30*time.Second)), func() { w.join(fmt.Sprint("r", n)) })
	}
	for range w.rng.IntN(30) {
		w.in(time.Duration(w.rng.Float64()*float64(faults)), w.disturb)
	}
	w.run(faults)
	w.faulty = false
	for _, p := range w.all {
		p.cut = false
		p.pump()
	}
	w.quiet = max(w.quiet, w.now)
	w.revive()
	for w.now < w.quiet {
		w.run(w.quiet)
		w.revive()
	}
	for _, p := range w.all {
		p.cut = false
		p.pump()
	}
	w.note("quiet")
	wait := float64(w.cfg.LeaseDuration)/slowest + float64(w.cfg.Grace)/slowest + float64(3*w.cfg.RetryPeriod)/slowest + float64(3*time.Second)
	w.run(w.now + time.Duration(wait))
	if at, idle := w.idle(); idle {
		w.fail("nobody works on %x %v after the last fault", at, time.Duration(wait))
	}
	w.run(w.now + 40*time.Second)
	w.balance()
	writes := w.writes
	w.run(w.now + 30*time.Second)
	if w.writes != writes {
		w.fail("the assignment still changes")
	}
	w.balance()
	if at, idle := w.idle(); idle {
		w.fail("nobody works on %x any more", at)
	}
	if n := len(w.records); n != len(slices.DeleteFunc(slices.Clone(w.all), func(p *process) bool { return !p.runs() })) {
		for _, r := range w.records {
			w.note("Lease %s %s of %s: %+v, version %s", r.Name, r.UID, r.Identity, r.Info, r.Version)
		}
		for _, p := range w.all {
			w.note("%s runs %v: %s in phase %d, tried %v", p.name, p.runs(), p.core.own.name, p.core.phase, p.core.others.tried)
		}
		w.fail("there are %d Leases", n)
	}
	return w.gains
}

func newWorld(t *testing.T, seed uint64) *world {
	w := &world{
		t: t, seed: seed, rng: rand.New(rand.NewPCG(seed, 1)),
		cfg: Config{Name: "c", Scheme: "keys", LeaseDuration: 15 * time.Second, RenewDeadline: 10 * time.Second, RetryPeriod: 2 * time.Second},
	}
	for range 40 {
		w.samples = append(w.samples, w.rng.Uint64())
	}
	w.numbers, w.owners = make([]int64, len(w.samples)), make([]string, len(w.samples))
	return w
}

func (w *world) join(name string) {
	cfg := w.cfg
	if w.mixed && w.rng.IntN(2) == 0 {
		cfg.LeaseDuration, cfg.RenewDeadline, cfg.RetryPeriod = cfg.LeaseDuration/3, cfg.RenewDeadline/3, cfg.RetryPeriod/3
	}
	w.startAs(cfg, name, 1+w.rng.IntN(2)*w.rng.IntN(3), slowest+w.rng.Float64()*(fastest-slowest))
}

// revive makes sure that somebody runs, and forgets those who do not.
func (w *world) revive() {
	w.all = slices.DeleteFunc(w.all, func(p *process) bool { return p.gone || p.over })
	if !slices.ContainsFunc(w.all, func(p *process) bool { return !p.core.cancelled }) {
		w.join("reserve")
		w.quiet = w.now
	}
}

// disturb makes something bad happen.
func (w *world) disturb() {
	if len(w.all) == 0 {
		return
	}
	p := w.all[w.rng.IntN(len(w.all))]
	short := time.Duration(w.rng.Float64() * float64(30*time.Second))
	w.quiet = max(w.quiet, w.now)
	switch w.rng.IntN(16) {
	case 0, 1:
		p.kill()
		w.rejoin(p, short)
	case 2, 3:
		p.cancel()
		w.rejoin(p, short)
	case 4:
		if w.rng.IntN(2) == 0 {
			p.kill()
		} else {
			p.cancel()
		}
	case 5:
		w.join(fmt.Sprint("n", w.born))
	case 6: // beside it, under the same name
		w.join(p.core.cfg.Identity)
	case 7, 8:
		w.quiet = max(w.quiet, w.now+short)
		p.stop(short)
	case 9:
		w.cut(short, p)
	case 10:
		w.cut(short, w.all...)
	case 11:
		w.deleteSheet()
	case 12:
		w.editSheet()
	case 13:
		w.editLease()
	case 14:
		w.deleteLeases()
	case 15:
		if w.mixed {
			return // nobody may know any more how long one works whose Lease is gone
		}
		w.deleteLeases()
		w.deleteSheet()
		w.quiet = max(w.quiet, w.now)
	}
}

// rejoin starts a process under the name of one that goes. Ranges then move, so it counts as a
// fault.
func (w *world) rejoin(p *process, after time.Duration) {
	w.quiet = max(w.quiet, w.now+after)
	w.in(after, func() { w.join(p.core.cfg.Identity) })
}

func (w *world) deleteSheet() {
	w.note("by hand: the assignment is deleted")
	w.sheet = nil
	w.changed()
}

func (w *world) editSheet() {
	if w.sheet == nil || len(w.all) == 0 {
		return
	}
	s := *w.sheet
	switch w.rng.IntN(4) {
	case 0:
		w.note("by hand: the assignment is edited")
		s.Valid = false
		s.Plan.Ranges = slices.Clone(s.Plan.Ranges)
		s.Plan.Ranges[0].Owner = w.all[0].core.ID()
	case 1:
		w.note("by hand: the assignment is set back")
		s.Plan = w.old[w.rng.IntN(len(w.old))].Plan
	case 2:
		w.note("by hand: the assignment is deleted, and an old one created")
		s.Plan = w.old[w.rng.IntN(len(w.old))].Plan
		s.UID = w.newUID()
	case 3:
		w.note("by hand: the assignment gets a label")
	}
	w.write(s)
}

func (w *world) editLease() {
	if len(w.records) == 0 {
		return
	}
	at := w.rng.IntN(len(w.records))
	r := *w.records[at]
	switch w.rng.IntN(4) {
	case 0:
		w.note("by hand: Lease %s is edited", r.Name)
		r.Valid = false
		r.Info.Stopped = true
	case 1:
		w.note("by hand: Lease %s gets a label", r.Name)
	case 2:
		w.note("by hand: Lease %s has another renewTime", r.Name)
		r.Renewed += 1_000_000
	case 3:
		w.note("by hand: a Lease without sense")
		at, r = -1, Record{Name: fmt.Sprint("junk", w.uid), UID: w.newUID()}
	}
	w.put(at, r)
}

func (w *world) deleteLeases() {
	for n := len(w.records) - 1; n >= 0; n-- {
		if w.rng.IntN(2) == 0 {
			w.note("by hand: Lease %s is deleted", w.records[n].Name)
			w.remove(n)
		}
	}
}

// cut separates processes from the server for a while.
func (w *world) cut(d time.Duration, from ...*process) {
	w.note("%d processes are cut off for %v", len(from), d)
	for _, p := range from {
		p.cut = true
		if p.inLease != 0 || p.inTable != 0 {
			w.quiet = max(w.quiet, w.now+w.cfg.RenewDeadline)
		}
		w.in(d, func() {
			p.cut = false
			p.pump()
		})
	}
	w.quiet = max(w.quiet, w.now+d)
}
