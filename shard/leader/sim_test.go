package leader

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/kinform/kinform/internal/longtest"
)

// The clocks of two candidates may differ by the ratio of LeaseDuration and RenewDeadline, here
// 1.5. The clocks of the schedules differ by 1.49 at most.
const (
	slowest = 0.805
	fastest = 1.2
)

// TestSchedules runs random schedules. No two contexts of work are ever alive, and soon after the
// last fault somebody leads and goes on.
func TestSchedules(t *testing.T) {
	terms, regained, doubtful := 0, 0, 0
	for seed := range longtest.N(uint64(120), 20_000) {
		w := runSchedule(t, seed)
		terms += w.terms
		regained += w.regained
		doubtful += w.doubtful
	}
	t.Logf("%d leaderships, %d of them regained, %d takeovers from a renewal without an answer", terms, regained, doubtful)
	if terms < 300 || regained < 5 || doubtful < 5 {
		t.Error("that is not enough")
	}
}

// runSchedule runs one schedule.
func runSchedule(t *testing.T, seed uint64) *world {
	w := &world{t: t, seed: seed, rng: rand.New(rand.NewPCG(seed, 1)), timing: timing{15 * time.Second, 10 * time.Second, 2 * time.Second}}
	w.steady = w.rng.IntN(2) == 0
	w.faulty = w.rng.IntN(4) > 0
	w.drain = 50 * time.Second
	if w.steady { // then work ends before another one begins
		w.drain = time.Duration(float64(w.timing.leaseDuration)/fastest - float64(w.timing.renewDeadline)/slowest)
	}
	const faults = 150 * time.Second
	for n := range 1 + w.rng.IntN(10) {
		w.in(time.Duration(w.rng.Float64()*float64(20*time.Second)), func() { w.join(fmt.Sprint("c", n)) })
	}
	for range w.rng.IntN(25) {
		w.in(time.Duration(w.rng.Float64()*float64(faults)), w.disturb)
	}
	w.run(faults)
	w.faulty = false
	for _, p := range w.all {
		p.cut = false
	}
	// Who has ended begins again, so that there are candidates.
	w.quiet = max(w.quiet, w.now)
	for w.now < w.quiet {
		w.run(w.quiet)
	}
	w.note("quiet")
	// A leader may lose the Lease yet, one look later. Then others wait for the lease, and look
	// once more.
	wait := float64(w.timing.leaseDuration+2*time.Duration(jitter*float64(w.timing.retryPeriod)))/slowest + float64(3*time.Second)
	for w.now < w.quiet+time.Duration(wait) {
		w.revive()
		w.run(w.now + 100*time.Millisecond)
	}
	first, began := w.holder(), w.terms
	if first == nil {
		w.fail("nobody leads %v after the last fault", time.Duration(wait))
	}
	w.run(w.now + time.Minute)
	if w.holder() != first || w.terms != began {
		w.fail("%s led and does not lead any more", first.name)
	}
	return w
}

// join starts a process, and one more of the same name now and then.
func (w *world) join(name string) {
	rate := slowest + w.rng.Float64()*(fastest-slowest)
	skew := time.Duration((w.rng.Float64() - 0.5) * float64(2*time.Hour))
	w.start(name, rate, skew)
}

// revive starts processes in place of those that have ended.
func (w *world) revive() {
	for _, p := range w.all {
		if p.over || p.gone {
			p.over, p.gone = false, true
			if p.core.identity != "" && !p.stands {
				w.join(p.core.identity)
				p.core.identity = ""
			}
		}
	}
}

// disturb makes something bad happen.
func (w *world) disturb() {
	if len(w.all) == 0 {
		return
	}
	p := w.all[w.rng.IntN(len(w.all))]
	if h := w.holder(); h != nil && w.rng.IntN(2) == 0 {
		p = h
	}
	short := time.Duration(w.rng.Float64() * float64(30*time.Second))
	w.quiet = max(w.quiet, w.now)
	switch w.rng.IntN(12) {
	case 0:
		p.kill()
		w.rejoin(p, short)
	case 1:
		p.cancel()
		w.rejoin(p, short)
	case 2: // beside it, under the same name
		w.join(p.core.identity)
	case 3:
		if !w.steady {
			w.quiet = max(w.quiet, w.now+short)
			p.stop(short)
		}
	case 4:
		w.cut(short, p)
	case 5:
		w.cut(short, w.all...)
	case 6:
		w.note("by hand: deleted")
		w.lease = nil
	case 7:
		w.edit("a label", func(*LeaseSpec) {})
	case 8:
		other := []string{"nobody", "", p.core.identity}[w.rng.IntN(3)]
		w.edit("holder "+other, func(s *LeaseSpec) { s.HolderIdentity = &other })
	case 9:
		seconds := int32(5) // with an empty holder, 1 is a release
		w.edit("a short duration", func(s *LeaseSpec) { s.LeaseDurationSeconds = &seconds })
	case 10:
		w.edit("empty", func(s *LeaseSpec) { *s = LeaseSpec{} })
	case 11:
		w.note("the clock of %s is set", p.name)
		p.skew = time.Duration((w.rng.Float64() - 0.5) * float64(2*time.Hour))
	}
}

// rejoin starts a process under the name of one that goes.
func (w *world) rejoin(p *process, after time.Duration) {
	name := p.core.identity
	w.in(after, func() { w.join(name) })
}

// cut separates processes from the server for a while.
func (w *world) cut(d time.Duration, from ...*process) {
	w.note("%d processes are cut off for %v", len(from), d)
	for _, p := range from {
		p.cut = true
		if p.waits { // also requests under way
			w.quiet = max(w.quiet, w.now+w.timing.renewDeadline)
		}
		w.in(d, func() { p.cut = false })
	}
	w.quiet = max(w.quiet, w.now+d)
}
