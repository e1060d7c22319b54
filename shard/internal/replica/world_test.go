package replica

import (
	"container/heap"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"
)

// world runs cores in virtual time, against a server that holds Leases. Everything follows from the
// seed.
type world struct {
	t    *testing.T
	seed uint64
	rng  *rand.Rand
	cfg  Config

	now   time.Duration // the true time
	queue schedule
	order int

	// The server. Records are never written to.
	records []*Record
	sheet   *Sheet
	version int
	uid     int
	old     []*Sheet // former sheets
	writes  int      // of sheets

	drop   func(Request) bool // says which requests are lost; nil for none
	deaf   func(Request) bool // says of which the answer is lost; nil for none
	all    []*process
	born   int
	faulty bool
	mixed  bool          // some replicas have shorter durations
	quiet  time.Duration // when the last fault was over

	// samples are hashes, numbers the newest fencing number of each, and owners the life that had
	// it.
	samples []uint64
	numbers []int64
	owners  []string

	gains int
	spins int // events without progress of time
	trace []string
}

type happen struct {
	at    time.Duration
	order int
	do    func()
}

type schedule []happen

func (s schedule) Len() int { return len(s) }
func (s schedule) Less(i, j int) bool {
	return s[i].at < s[j].at || s[i].at == s[j].at && s[i].order < s[j].order
}
func (s schedule) Swap(i, j int) { s[i], s[j] = s[j], s[i] }
func (s *schedule) Push(x any)   { *s = append(*s, x.(happen)) }
func (s *schedule) Pop() any {
	last := (*s)[len(*s)-1]
	*s = (*s)[:len(*s)-1]
	return last
}

func (w *world) in(d time.Duration, do func()) {
	w.order++
	heap.Push(&w.queue, happen{w.now + max(d, 0), w.order, do})
}

func (w *world) run(until time.Duration) {
	for len(w.queue) > 0 && w.queue[0].at <= until {
		h := heap.Pop(&w.queue).(happen)
		if h.at > w.now {
			w.spins = 0
		}
		if w.spins++; w.spins > 100_000 {
			w.fail("time stands still")
		}
		w.now = h.at
		h.do()
	}
	w.now = until
}

func (w *world) note(format string, args ...any) {
	w.trace = append(w.trace, fmt.Sprintf("%v ", w.now)+fmt.Sprintf(format, args...))
}

func (w *world) fail(format string, args ...any) {
	w.t.Helper()
	for _, line := range w.trace[max(0, len(w.trace)-120):] {
		w.t.Log(line)
	}
	w.t.Fatalf("seed %d at %v: %s", w.seed, w.now, fmt.Sprintf(format, args...))
}

// process is a replica with its own clock.
type process struct {
	w      *world
	name   string
	core   *Core
	weight int

	born    time.Duration
	rate    float64
	stopped bool // as by SIGSTOP
	missed  []Event
	gone    bool // as by SIGKILL
	over    bool
	cut     bool // from the server

	holds []Hold
	works []*Hold // what runs in ranges that are not held any more

	inLease, inTable int // numbers of the newest requests, 0 if none is under way
	requests         int
	woken            time.Duration
	seen             int // version of the newest view
	pumping          bool
}

func (w *world) start(name string, weight int, rate float64) *process {
	return w.startAs(w.cfg, name, weight, rate)
}

// startAs is start with other durations than the world's.
func (w *world) startAs(cfg Config, name string, weight int, rate float64) *process {
	p := &process{w: w, name: fmt.Sprint(name, "#", w.born), rate: rate, weight: weight, born: w.now, woken: Never, seen: -1}
	cfg.Identity, cfg.Weight = name, weight
	n := w.born * 1000
	p.core = New(cfg, func() string { n++; return fmt.Sprintf("%06d", n) })
	w.born++
	w.all = append(w.all, p)
	w.note("%s starts", p.name)
	p.step(Event{})
	p.pump()
	return p
}

func (p *process) local() time.Duration { return time.Duration(float64(p.w.now-p.born) * p.rate) }

func (p *process) until(at time.Duration) time.Duration {
	return max(time.Duration(float64(at-p.local())/p.rate)+1, 0)
}

func (p *process) runs() bool { return !p.gone && !p.over && !p.stopped }

// writes reports whether the gate lets writes through.
func (p *process) writes() bool { return p.runs() && p.local() < p.core.Until() }

func (p *process) busy(first, last uint64) bool {
	return slices.ContainsFunc(p.works, func(h *Hold) bool { return h.First <= last && first <= h.Last })
}

func (p *process) step(ev Event) {
	switch {
	case p.gone || p.over:
		return
	case p.stopped:
		if ev.What != Woke {
			p.missed = append(p.missed, ev)
		}
		return
	}
	w := p.w
	ev.Busy = p.busy
	do := p.core.Step(Moment{p.local(), time.Unix(1e9, 0).Add(w.now), w.rng.Float64()}, ev)
	for _, err := range do.Reports {
		w.note("%s: %v", p.name, err)
	}
	if do.Lost != nil {
		w.note("%s: %v", p.name, do.Lost)
	}
	if do.Changed {
		p.hold(do.Holds)
	}
	if do.Lease != nil {
		p.send(*do.Lease, false)
	}
	if do.Table != nil {
		p.send(*do.Table, true)
	}
	if do.Over {
		w.note("%s ends", p.name)
		p.over = true
		if len(p.works) > 0 {
			w.fail("%s ends before its work", p.name)
		}
		return
	}
	p.sleep()
}

func (p *process) sleep() {
	at := p.core.Wake()
	if p.w.spins == 99_990 {
		p.w.note("%s wakes at %v, is %v: %+v", p.name, at, p.local(), *p.core)
	}
	if at == p.woken || at == Never {
		return
	}
	p.woken = at
	p.w.in(p.until(at), func() {
		if p.woken == at {
			p.woken = Never
			p.step(Event{})
		}
	})
}

// hold takes new holds. Work in the old ones may go on for a while.
func (p *process) hold(holds []Hold) {
	w := p.w
	for _, h := range p.holds {
		for _, gap := range without(h, holds) {
			if w.rng.IntN(2) == 0 {
				continue
			}
			p.works = append(p.works, &gap)
			drain := time.Duration(w.rng.ExpFloat64() * float64(time.Second))
			if w.faulty && w.rng.IntN(20) == 0 {
				drain = time.Duration(w.rng.Float64() * float64(40*time.Second))
				w.quiet = max(w.quiet, w.now+drain)
			}
			p.end(&gap, drain)
		}
	}
	p.holds = holds
	w.gains++
	w.note("%s (%s) holds %x", p.name, p.core.ID(), holds)
	w.check(p)
}

// end ends a work, in a process that runs.
func (p *process) end(work *Hold, after time.Duration) {
	p.w.in(after, func() {
		if p.stopped {
			p.end(work, time.Second)
			return
		}
		p.works = slices.DeleteFunc(p.works, func(h *Hold) bool { return h == work })
		p.step(Event{})
	})
}

// without returns the parts of h that are in none of holds, which are sorted.
func without(h Hold, holds []Hold) (gaps []Hold) {
	first := h.First
	for _, o := range holds {
		if o.Last < first || o.First > h.Last {
			continue
		}
		if o.First > first {
			gaps = append(gaps, Hold{first, o.First - 1, h.Number})
		}
		if o.Last >= h.Last {
			return gaps
		}
		first = o.Last + 1
	}
	return append(gaps, Hold{first, h.Last, h.Number})
}

// check looks for another process that may write to what p may write to, and for numbers that go
// back.
func (w *world) check(p *process) {
	w.t.Helper()
	if !p.writes() {
		return
	}
	for _, q := range w.all {
		if q == p || !q.writes() {
			continue
		}
		for _, mine := range p.mayWrite() {
			for _, others := range q.mayWrite() {
				if mine.First <= others.Last && others.First <= mine.Last {
					w.fail("%s and %s have %x-%x and %x-%x", p.name, q.name, mine.First, mine.Last, others.First, others.Last)
				}
			}
		}
	}
	for n, at := range w.samples {
		for _, h := range p.holds {
			if at < h.First || at > h.Last {
				continue
			}
			if h.Number < w.numbers[n] || h.Number == w.numbers[n] && w.owners[n] != p.core.ID() {
				w.fail("%s has %x with number %d, and %s had %d", p.name, at, h.Number, w.owners[n], w.numbers[n])
			}
			w.numbers[n], w.owners[n] = h.Number, p.core.ID()
		}
	}
}

func (p *process) mayWrite() []Hold {
	all := slices.Clone(p.holds)
	for _, h := range p.works {
		all = append(all, *h)
	}
	return all
}

func (p *process) kill() {
	p.w.note("%s is killed", p.name)
	p.gone = true
}

func (p *process) cancel() {
	if p.stopped {
		p.w.in(time.Second, p.cancel)
		return
	}
	if p.core.cancelled {
		return
	}
	p.w.note("%s is cancelled", p.name)
	p.step(Event{What: Cancel})
}

func (p *process) stop(d time.Duration) {
	if !p.runs() {
		return
	}
	p.w.note("%s stops for %v", p.name, d)
	p.stopped = true
	p.w.in(d, func() {
		p.w.note("%s continues", p.name)
		p.stopped = false
		p.w.check(p)
		missed := p.missed
		p.missed, p.woken = nil, Never
		if p.w.rng.IntN(2) == 0 {
			p.step(Event{})
		}
		for _, ev := range missed {
			p.step(ev)
		}
		p.step(Event{})
		p.pump()
	})
}

// pump delivers a state of the server, with a delay.
func (p *process) pump() {
	w := p.w
	if p.pumping || p.seen == w.version || p.gone || p.over || p.cut {
		return
	}
	p.pumping = true
	v, version := &View{Records: w.records, Sheet: w.sheet}, w.version
	delay := 5*time.Millisecond + time.Duration(w.rng.ExpFloat64()*float64(30*time.Millisecond))
	if len(w.all) > 20 {
		delay += 200 * time.Millisecond // bundles the renewals
	}
	if w.faulty && w.rng.IntN(50) == 0 {
		delay += time.Duration(w.rng.Float64() * float64(25*time.Second))
		w.quiet = max(w.quiet, w.now+delay)
	}
	w.in(delay, func() {
		p.pumping = false
		if p.cut {
			return
		}
		p.seen = version
		p.step(Event{What: Seen, View: v})
		p.pump()
	})
}

func (p *process) send(r Request, table bool) {
	w := p.w
	p.requests++
	number := p.requests
	under := &p.inLease
	if table {
		under = &p.inTable
		w.note("%s: %v %s", p.name, r.Verb, r.Name)
	}
	*under = number
	answer := func(ev Event) {
		if *under == number {
			*under = 0
			ev.What, ev.Table = Answered, table
			p.step(ev)
		}
	}
	there, back := w.delay(), w.delay()
	lost := w.faulty && w.rng.IntN(15) == 0
	deaf := w.faulty && w.rng.IntN(15) == 0
	late := w.faulty && w.rng.IntN(40) == 0
	if late {
		there += time.Duration(w.rng.Float64() * 2 * float64(w.cfg.LeaseDuration))
	}
	if w.faulty && w.rng.IntN(15) == 0 {
		back += time.Duration(w.rng.Float64() * float64(w.cfg.RenewDeadline/2))
		late = true
	}
	if !lost {
		w.in(there, func() {
			if p.cut || w.drop != nil && w.drop(r) {
				return
			}
			ev := w.serve(r)
			if !deaf && (w.deaf == nil || !w.deaf(r)) {
				w.in(back, func() { answer(ev) })
			}
		})
	}
	limit := p.until(r.Limit)
	if lost || deaf || late || p.cut {
		w.quiet = max(w.quiet, w.now+limit, w.now+there)
	}
	w.in(limit, func() { answer(Event{Outcome: Failed, Err: errors.New("no answer")}) })
}

func (w *world) delay() time.Duration {
	return time.Millisecond + time.Duration(w.rng.ExpFloat64()*float64(15*time.Millisecond))
}

// serve is the server.
func (w *world) serve(r Request) Event {
	if w.faulty && w.rng.IntN(30) == 0 {
		return Event{Outcome: Failed, Err: errors.New("503")}
	}
	at := slices.IndexFunc(w.records, func(o *Record) bool { return o.Name == r.Name })
	switch r.Verb {
	case CreateLease:
		if at >= 0 {
			return Event{Outcome: Raced}
		}
		identity := ""
		for _, p := range w.all {
			if p.core.own.name == r.Name {
				identity = p.core.cfg.Identity
			}
		}
		return w.put(-1, Record{Name: r.Name, UID: w.newUID(), Identity: identity, Renewed: r.Renewed, Valid: true, Info: r.Info})
	case RenewLease, FenceLease, DeleteLease:
		if at < 0 || w.records[at].UID != r.UID || r.Verb != DeleteLease && w.records[at].Version != r.Version {
			return Event{Outcome: Raced}
		}
		if r.Verb == DeleteLease {
			w.remove(at)
			return Event{}
		}
		next := *w.records[at]
		next.Renewed, next.Info, next.Valid = r.Renewed, r.Info, true
		return w.put(at, next)
	case CreateSheet:
		if w.sheet != nil {
			return Event{Outcome: Raced}
		}
		return w.write(Sheet{UID: w.newUID(), Valid: true, Plan: r.Plan})
	}
	if w.sheet == nil || w.sheet.UID != r.UID || w.sheet.Version != r.Version {
		return Event{Outcome: Raced}
	}
	if r.Verb == DeleteSheet {
		w.sheet = nil
		w.changed()
		return Event{}
	}
	w.writes++
	return w.write(Sheet{UID: r.UID, Valid: true, Plan: r.Plan})
}

func (w *world) newUID() string {
	w.uid++
	return fmt.Sprint("u", w.uid)
}

func (w *world) changed() {
	w.version++
	for _, p := range w.all {
		p.pump()
	}
}

func (w *world) put(at int, r Record) Event {
	r.Version = strconv.Itoa(w.version + 1)
	w.records = slices.Clone(w.records)
	if at < 0 {
		w.records = append(w.records, &r)
	} else {
		w.records[at] = &r
	}
	w.changed()
	return Event{UID: r.UID, Version: r.Version}
}

func (w *world) remove(at int) {
	w.records = slices.Delete(slices.Clone(w.records), at, at+1)
	w.changed()
}

func (w *world) write(s Sheet) Event {
	if err := s.Plan.Ranges.Check(); err != nil {
		w.fail("%v", err)
	}
	s.Version = strconv.Itoa(w.version + 1)
	w.sheet = &s
	w.old = append(w.old, &s)
	w.changed()
	return Event{UID: s.UID, Version: s.Version}
}

// covered returns the hash that no process works on, and whether there is one.
func (w *world) idle() (uint64, bool) {
	for _, at := range append([]uint64{0, ^uint64(0)}, w.samples...) {
		if !slices.ContainsFunc(w.all, func(p *process) bool {
			return p.writes() && slices.ContainsFunc(p.holds, func(h Hold) bool { return h.First <= at && at <= h.Last })
		}) {
			return at, true
		}
	}
	return 0, false
}

// balance fails if a load is off its share by more than a fifth.
func (w *world) balance() {
	w.t.Helper()
	loads, total := map[*process]float64{}, 0
	names := map[string]bool{}
	for _, p := range w.all {
		if !p.runs() {
			continue
		}
		for _, h := range p.holds {
			loads[p] += (float64(h.Last-h.First) + 1) / (1 << 32) / (1 << 32)
		}
		if loads[p] > 0 {
			total += p.weight
			names[p.core.cfg.Identity] = true
		}
	}
	for _, p := range w.all {
		if p.runs() && loads[p] == 0 && !names[p.core.cfg.Identity] {
			w.fail("%s has nothing", p.name)
		}
	}
	for p, load := range loads {
		if r := load * float64(total) / float64(p.weight); r < 0.8 || r > 1.2 {
			w.fail("the load of %s is %.2f of its share", p.name, r)
		}
	}
}
