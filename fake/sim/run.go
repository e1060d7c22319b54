package sim

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"
)

// Times of the program's world, all virtual.
const (
	latency = 5011 * time.Microsecond // of each request; it meets no timer of the program
	slow    = time.Second             // of each request of a program that floods the server under faults
	rest    = time.Minute + latency   // without a change by the program, after which it rests; it meets no timer, either
	unrest  = 30 * time.Minute        // after which it should rest
	patient = 48 * time.Hour          // after which Users should have returned, beside what it waits for
)

// Numbers of requests in one run, without those of elections.
const (
	flood   = 1000 // from here on the server slows the program down
	mostOps = 5000
)

// run is one schedule at work, in a testing/synctest bubble of its own. Its goroutine, the bubble's first, lets one op
// at a time have its turn, and waits until everything else stands still before and after it. All but the gate and the processes
// belongs to that goroutine.
type run struct {
	program   Program
	world     *World
	processes []*process // for good from the start on
	logs      *logs
	transport http.RoundTripper
	gate      gate

	base    *outcome  // of the schedule without faults; nil for that one itself
	faults  bool      // they strike from the start of the program on
	faulted time.Time // when the last one did
	windows []*window
	counts  map[call]int
	ops     int
	last    *op       // the last request that had its turn
	changed time.Time // the last change by the program
	watches []*op     // that the server has got
	eyes    *eyes
	names   *names
	result  outcome
}

// outcome is what a run found out.
type outcome struct {
	finding *finding
	broken  error // nothing can be said, since the program or the script does not work
	log     transcript
	points  []point
	end     state
	old     bool           // there was a list that may be old
	pages   []point        // lists that went on from another one
	alike   map[string]int // by content: how many objects of it the program had at most at once
	missed  []line         // faults whose points have not come
}

// finding is a rule that does not hold.
type finding struct {
	rule string
	text string
	at   int // the entry of the transcript after which it was seen
}

func newRun(p Program, schedule []line) *run {
	r := &run{
		program: p, counts: map[call]int{}, names: newNames(),
		result: outcome{missed: slices.Clone(schedule), alike: map[string]int{}},
	}
	r.gate.arrived = make(chan struct{}, 1)
	r.world = &World{Server: p.Server, gate: &r.gate, life: &life{end: func() {}}}
	r.transport = p.Server.Client().Transport
	return r
}

// play does the whole schedule.
func (r *run) play() {
	ctx, stop := context.WithCancel(context.Background())
	defer r.close(stop)
	if r.eyes = newEyes(r); r.result.broken != nil {
		return
	}
	r.changed, r.faults = time.Now(), true
	for n := range max(r.program.Replicas, 1) {
		r.processes = append(r.processes, &process{number: n + 1})
	}
	for _, p := range r.processes {
		go r.live(ctx, p)
	}
	steps := []func(){r.settle, r.useAll, r.settle, r.judge, r.startAgain, r.clear, r.settle, r.judgeRest}
	for _, step := range steps {
		if step(); r.result.finding != nil || r.result.broken != nil {
			return
		}
	}
}

// close ends all processes.
func (r *run) close(stop context.CancelFunc) {
	r.faults, r.windows = false, nil
	for _, o := range r.gate.inOrder() {
		o.until = time.Time{}
	}
	broken := r.result.broken
	r.result.broken, r.ops = nil, 0 // it does not hinder the end
	r.world.life.crash()
	stop()
	limit := time.Now().Add(5 * time.Minute)
	r.drive(func() bool { return !r.anyLives() || time.Now().After(limit) })
	if r.result.broken = broken; r.anyLives() && broken == nil {
		r.result.broken = fmt.Errorf("the program does not end: Run has not returned five minutes after its context ended: %s", inFunction("sim.(*run).begin"))
	}
	r.part()
	r.ends()
}

// part ends what processes ask for that does not end with them, such as reports of Events.
func (r *run) part() {
	r.crashAll()
	for waiting := r.gate.inOrder(); len(waiting) > 0; waiting = r.gate.inOrder() {
		r.turn(waiting[0], true)
	}
}

// settle waits until the program rests.
func (r *run) settle() {
	limit := time.Now().Add(unrest)
	r.drive(func() bool { return r.rests(false) || time.Now().After(limit) || r.result.finding != nil })
	if r.result.finding == nil && !r.rests(false) {
		r.findRestless()
	}
}

func (r *run) findRestless() {
	r.find("rest", "the program does not come to rest: it still changes objects after %v\n%s", unrest, r.result.log.writes(5))
}

// useAll lets Users do all their steps.
func (r *run) useAll() {
	done := start(r.use)
	limit := time.Now().Add(patient)
	r.changed = time.Now()
	var ended, inVain bool
	var err error
	r.drive(func() bool {
		select {
		case err = <-done:
			ended = true
		default:
			o := r.gate.users()
			inVain = o != nil && o.settles && time.Since(o.sent) > unrest
		}
		return ended || inVain || r.result.finding != nil || time.Now().After(limit)
	})
	r.changed = time.Now() // the program gets its time to answer
	switch {
	case r.result.finding != nil:
	case inVain:
		r.findRestless()
	case !ended:
		r.result.broken = fmt.Errorf("the script does not end: Users has not returned after %v of virtual time, which is the most: %s", patient, inFunction("sim.(*run).use"))
	case err != nil && r.base == nil:
		r.result.broken = fmt.Errorf("the script does not apply: Users: %w", err)
	case err != nil:
		r.find("users", "Users returned an error, which it does not without faults: %v", err)
	}
}

// use is the goroutine of Users. Messages say where it is by the name of this function.
func (r *run) use() error {
	defer r.gate.notify()
	r.world.busy.Store(true)
	defer r.world.busy.Store(false)
	r.world.wait(&op{until: time.Now()}) // a step, too
	return r.program.Users(r.world)
}

// rests reports whether the program has changed nothing for long enough, and no fault is at work. Users do not wait for
// the end of hold and blind.
func (r *run) rests(forUsers bool) bool {
	since := r.changed
	for _, w := range r.windows {
		if !forUsers || w.action != hold && w.action != blind {
			since = later(since, w.until)
		}
	}
	for _, o := range r.gate.inOrder() {
		if !o.users() {
			since = later(since, o.until)
		}
	}
	return time.Since(since) >= rest
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// find notes the first rule that does not hold.
func (r *run) find(rule, format string, args ...any) {
	if r.result.finding == nil && !slices.Contains(r.program.Ignore, "rule "+rule) {
		r.result.finding = &finding{rule: rule, text: fmt.Sprintf(format, args...), at: r.result.log.len()}
	}
}
