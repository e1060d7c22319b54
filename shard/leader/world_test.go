package leader

import (
	"container/heap"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// world runs cores in virtual time, against a server that holds one Lease. Everything follows from
// the seed.
type world struct {
	t      *testing.T
	seed   uint64
	rng    *rand.Rand
	timing timing

	now   time.Duration // the true time
	queue schedule
	order int

	// The server.
	lease   *Lease
	version int
	uid     int

	all    []*process
	faulty bool // faults happen
	// quiet is when the last fault was over. A request that a fault has struck is one until its
	// sender gives it up.
	quiet time.Duration

	steady   bool // no process is ever stopped
	drain    time.Duration
	terms    int // works begun
	regained int // those that followed on another one of the same process
	doubtful int // takeovers from an own renewal that had no answer
	trace    []string
}

// happen is a thing that will happen.
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

// in schedules something.
func (w *world) in(d time.Duration, do func()) {
	w.order++
	heap.Push(&w.queue, happen{w.now + max(d, 0), w.order, do})
}

// run lets time pass, and checks the invariants after each event.
func (w *world) run(until time.Duration) {
	for len(w.queue) > 0 && w.queue[0].at <= until {
		h := heap.Pop(&w.queue).(happen)
		w.now = h.at
		h.do()
		w.check()
	}
	w.now = until
}

func (w *world) note(format string, args ...any) {
	w.trace = append(w.trace, fmt.Sprintf("%v ", w.now)+fmt.Sprintf(format, args...))
}

func (w *world) fail(format string, args ...any) {
	w.t.Helper()
	for _, line := range w.trace[max(0, len(w.trace)-60):] {
		w.t.Log(line)
	}
	w.t.Fatalf("seed %d at %v: %s", w.seed, w.now, fmt.Sprintf(format, args...))
}

// check looks for two leaders.
func (w *world) check() {
	var lead, work []string
	for _, p := range w.all {
		if p.alive() {
			lead = append(lead, p.name)
		}
		if p.works {
			work = append(work, p.name)
		}
	}
	if len(lead) > 1 {
		w.fail("%v lead", lead)
	}
	if w.steady && len(work) > 1 {
		w.fail("%v work", work)
	}
}

// process is a candidate with its own clocks. It ends with its Lead.
type process struct {
	w    *world
	name string
	core core

	born    time.Duration
	rate    float64 // of its clock
	skew    time.Duration
	stopped bool    // as by SIGSTOP
	missed  []event // while stopped
	gone    bool    // as by SIGKILL
	over    bool
	stands  bool // again, as another process here

	context bool // the context of work has not ended
	works   bool
	asked   bool // cancelled
	cut     bool // from the server

	request int // number of the newest request
	waits   bool
	woken   time.Duration // when the next wake is due
}

// again calls Lead again in a process that has lost the Lease.
func (p *process) again() {
	if p.gone || !p.over {
		return
	}
	old := p.core
	p.over, p.gone, p.stands = false, true, true
	p.w.start(old.identity, p.rate, p.skew, func(c *core) {
		c.past, c.pastOver = past{record: old.own, unanswered: old.unanswered}, old.renewed+old.timing.leaseDuration-p.local()
	})
}

// start starts a process.
func (w *world) start(name string, rate float64, skew time.Duration, change ...func(*core)) *process {
	p := &process{w: w, name: fmt.Sprint(name, "#", len(w.all)), rate: rate, skew: skew, born: w.now, woken: never}
	p.core = core{key: types.NamespacedName{Namespace: "n", Name: "l"}, identity: name, timing: w.timing}
	for _, f := range change {
		f(&p.core)
	}
	w.all = append(w.all, p)
	w.note("%s starts", p.name)
	p.step(event{})
	return p
}

func (p *process) local() time.Duration { return time.Duration(float64(p.w.now-p.born) * p.rate) }

// until returns how long it takes until the own clock shows at.
func (p *process) until(at time.Duration) time.Duration {
	return time.Duration(float64(at-p.local())/p.rate) + 1
}

// runs reports whether the process can do anything.
func (p *process) runs() bool { return !p.gone && !p.over && !p.stopped }

// alive reports whether the context of work is alive, and somebody can use it. A process that
// continues sees its clock first.
func (p *process) alive() bool { return p.runs() && p.context }

func (p *process) step(ev event) {
	switch {
	case p.gone || p.over:
		return
	case p.stopped:
		if ev.what != woke {
			p.missed = append(p.missed, ev)
		}
		return
	}
	w := p.w
	do := p.core.step(moment{mono: p.local(), wall: time.Unix(1e9, 0).Add(w.now + p.skew), rand: w.rng.Float64()}, ev)
	if do.endWork != nil {
		w.note("%s: %v", p.name, do.endWork)
		p.endWork()
	}
	if do.abort {
		p.answer(p.request, nil, errors.New("cancelled"))
	}
	if do.startWork {
		w.note("%s leads", p.name)
		w.terms++
		if p.core.past.record.holder != "" && p.core.own.transitions == p.core.past.record.transitions+1 {
			w.regained++
		}
		p.context, p.works = !p.asked, true
		if p.asked {
			p.endWork()
		}
	}
	for _, err := range do.reports {
		w.note("%s: %v", p.name, err)
	}
	if do.send != nil {
		if r := recordOf(do.send.base); p.core.phase == waiting && do.send.verb == verbPatch && r != p.core.past.record && p.core.past.has(r) {
			w.doubtful++
		}
		p.send(*do.send)
	}
	if do.over {
		w.note("%s ends: %v", p.name, p.core.result)
		p.over = true
		if !p.asked && w.rng.IntN(2) == 0 {
			w.in(time.Duration(w.rng.Float64()*float64(time.Second)), p.again)
		}
		if p.works {
			w.fail("%s: the end comes before that of work", p.name)
		}
		return
	}
	p.sleep()
}

// sleep schedules the next wake.
func (p *process) sleep() {
	at := p.core.wake()
	if at == p.woken || at == never {
		return
	}
	p.woken = at
	p.w.in(p.until(at), func() {
		if p.woken == at {
			p.woken = never
			p.step(event{})
		}
	})
}

// endWork ends the context of work, which returns a little later.
func (p *process) endWork() {
	p.context = false
	drain := time.Duration(p.w.rng.Float64() * float64(p.w.drain))
	p.w.quiet = max(p.w.quiet, p.w.now+drain) // a Lease may be kept for so long, and this process cannot begin again
	p.w.in(drain, p.workReturns)
}

// workReturns makes work return, in a process that runs.
func (p *process) workReturns() {
	switch {
	case p.stopped:
		p.w.in(time.Second, p.workReturns)
	case p.works && !p.gone:
		p.works, p.context = false, false
		p.step(event{what: returned})
	}
}

// cancel asks for an orderly end.
func (p *process) cancel() {
	switch {
	case p.asked || p.over || p.gone:
		return
	case p.stopped:
		p.w.in(time.Second, p.cancel)
		return
	}
	p.w.note("%s is cancelled", p.name)
	p.asked = true
	if p.context {
		p.endWork()
	}
	p.step(event{what: cancelled})
}

// kill ends the process without a word.
func (p *process) kill() {
	p.w.note("%s is killed", p.name)
	p.gone, p.works, p.context = true, false, false
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
		missed := p.missed
		p.missed = nil
		p.w.rng.Shuffle(len(missed), func(i, j int) { missed[i], missed[j] = missed[j], missed[i] })
		p.woken = never
		p.step(event{})
		for _, ev := range missed {
			p.step(ev)
		}
	})
}

// answer delivers the answer to a request, unless it has one.
func (p *process) answer(number int, l *Lease, err error) {
	if number == p.request && p.waits {
		p.waits = false
		// Not at once: the core is in the middle of a step.
		p.w.in(0, func() { p.step(event{what: answered, lease: l, err: err}) })
	}
}

// send sends a request over a network with faults.
func (p *process) send(r request) {
	w := p.w
	p.request++
	number := p.request
	p.waits = true
	there, back := w.delay(), w.delay()
	lost := w.faulty && w.rng.IntN(12) == 0
	deaf := w.faulty && w.rng.IntN(12) == 0
	late := w.faulty && w.rng.IntN(40) == 0
	if late {
		there += time.Duration(w.rng.Float64() * 2 * float64(w.timing.leaseDuration))
	}
	if w.faulty && w.rng.IntN(10) == 0 {
		back += time.Duration(w.rng.Float64() * float64(w.timing.request()))
		late = true
	}
	if !lost {
		w.in(there, func() {
			if p.cut {
				return
			}
			l, err := w.serve(r)
			if !deaf {
				w.in(back, func() { p.answer(number, l, err) })
			}
		})
	}
	limit := p.until(r.limit)
	if lost || deaf || late || p.cut {
		w.quiet = max(w.quiet, w.now+limit, w.now+there)
	}
	w.in(limit, func() { p.answer(number, nil, errors.New("no answer")) })
}

func (w *world) delay() time.Duration {
	return time.Millisecond + time.Duration(w.rng.ExpFloat64()*float64(20*time.Millisecond))
}

var resource = schema.GroupResource{Group: "coordination.k8s.io", Resource: "leases"}

// serve is the server.
func (w *world) serve(r request) (*Lease, error) {
	if w.faulty && w.rng.IntN(20) == 0 {
		return nil, apierrors.NewGenericServerResponse(http.StatusServiceUnavailable, "get", resource, "l", "", 0, false)
	}
	switch {
	case r.verb == verbCreate && w.lease != nil:
		return nil, apierrors.NewAlreadyExists(resource, "l")
	case r.verb == verbCreate:
		w.uid++
		w.store(&Lease{ObjectMeta: metav1.ObjectMeta{UID: types.UID(strconv.Itoa(w.uid))}, Spec: r.write.spec()})
	case w.lease == nil:
		return nil, apierrors.NewNotFound(resource, "l")
	case r.verb == verbPatch && (r.base.UID != w.lease.UID || r.base.ResourceVersion != w.lease.ResourceVersion):
		return nil, apierrors.NewConflict(resource, "l", errors.New("changed"))
	case r.verb == verbPatch:
		w.store(&Lease{ObjectMeta: metav1.ObjectMeta{UID: w.lease.UID}, Spec: r.write.spec()})
	}
	return w.lease, nil
}

// store makes l the state of the Lease, which is never written to after that.
func (w *world) store(l *Lease) {
	w.version++
	l.ResourceVersion = strconv.Itoa(w.version)
	w.lease = l
}

// edit changes the Lease by hand.
func (w *world) edit(what string, change func(*LeaseSpec)) {
	if w.lease == nil {
		return
	}
	w.note("by hand: %s", what)
	l := *w.lease
	change(&l.Spec)
	w.store(&l)
}

// holder returns the process that leads.
func (w *world) holder() *process {
	n := slices.IndexFunc(w.all, (*process).alive)
	if n < 0 {
		return nil
	}
	return w.all[n]
}
