package sim

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"
)

// Times of the program's world, all virtual.
const (
	latency = 5011 * time.Microsecond // of each request; it meets no timer of the program
	slow    = time.Second             // of each request of a program that floods the server under faults
	rest    = time.Minute             // without a change by the program, after which it rests
	unrest  = 30 * time.Minute        // after which it should rest
	patient = 48 * time.Hour          // after which Users should have returned, beside what it waits for
)

// Numbers of requests in one run, without those of elections.
const (
	flood   = 1000 // from here on the server slows the program down
	mostOps = 5000
)

// run is one schedule at work, in a testing/synctest bubble of its own. Its goroutine, the bubble's first, lets one op
// at a time have its turn, and waits until everything else stands still before and after it. What is not said to
// be guarded belongs to that goroutine.
type run struct {
	program   Program
	world     *World
	user      *user
	transport http.RoundTripper
	gate      gate

	base     *outcome // of the schedule without faults; nil for that one itself
	schedule []line
	faults   bool // they strike from the start of the program on
	struck   []bool
	faulted  time.Time // when the last one did
	windows  []*window
	counts   map[call]int
	ops      int
	last     *op       // the last request that had its turn
	changed  time.Time // the last change by the program
	eyes     *eyes

	mu      sync.Mutex // guards what follows
	lives   map[int]*life
	alive   int
	streams map[*stream]bool
	names
	ends    []string // of processes that ended on their own
	badEnds []error  // of processes that should have ended
	quits   []error  // of those that ended their goroutine

	result outcome
}

// outcome is what a run found out.
type outcome struct {
	finding *finding
	broken  error // nothing can be said, since the program or the script does not work
	log     transcript
	points  []point
	end     state
	old     bool           // there was a list that may be old
	alike   map[string]int // see eyes
	missed  []line         // faults whose points never came
}

// finding is a rule that does not hold.
type finding struct {
	rule string
	text string
	at   int // the entry of the transcript after which it was seen
}

func newRun(p Program, schedule []line) *run {
	r := &run{
		program: p, schedule: schedule, struck: make([]bool, len(schedule)), counts: map[call]int{},
		lives: map[int]*life{}, streams: map[*stream]bool{}, names: newNames(),
	}
	r.gate.arrived = make(chan struct{}, 1)
	r.user = &user{gate: &r.gate}
	r.world = &World{Server: p.Server, user: r.user}
	r.transport = p.Server.Client().Transport
	return r
}

// play does the whole schedule.
func (r *run) play() {
	ctx, stop := context.WithCancel(context.Background())
	defer r.close(stop)
	if r.eyes, r.result.broken = newEyes(r); r.result.broken != nil {
		return
	}
	r.changed, r.faults = time.Now(), true
	r.alive = max(r.program.Replicas, 1)
	for n := range r.alive {
		go r.live(ctx, n+1)
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
	if r.eyes != nil {
		r.result.alike = r.eyes.alike
	}
	for _, o := range r.gate.inOrder() {
		o.until = time.Time{}
	}
	broken := r.result.broken
	r.result.broken, r.ops = nil, 0 // it does not hinder the end
	r.user.abort()
	stop()
	limit := time.Now().Add(5 * time.Minute)
	r.drive(func() bool { return r.aliveNow() == 0 || time.Now().After(limit) })
	if r.result.broken = broken; r.aliveNow() > 0 && broken == nil {
		r.result.broken = fmt.Errorf("the program does not end: Run has not returned five minutes after its context ended: %s", where("sim.(*run).live"))
	}
	r.part()
	if len(r.badEnds) > 0 && r.result.broken == nil && r.result.finding == nil {
		r.find("ends", "Run returned an error after its context had ended: %v", r.badEnds[0])
	}
	if len(r.quits) > 0 && r.result.broken == nil && r.result.finding == nil {
		r.find("ends", "%v", r.quits[0])
	}
	for i, struck := range r.struck {
		if !struck {
			r.result.missed = append(r.result.missed, r.schedule[i])
		}
	}
}

// part ends what processes ask for that does not end with them, such as reports of Events.
func (r *run) part() {
	r.mu.Lock()
	for _, l := range r.lives {
		l.crash()
	}
	r.mu.Unlock()
	for waiting := r.gate.inOrder(); len(waiting) > 0; waiting = r.gate.inOrder() {
		r.turn(waiting[0], true)
	}
}

// settle waits until the program rests.
func (r *run) settle() {
	limit := time.Now().Add(unrest)
	r.drive(func() bool { return r.rests() || time.Now().After(limit) || r.result.finding != nil })
	if r.result.finding == nil && !r.rests() {
		r.findRestless()
	}
}

func (r *run) findRestless() {
	r.find("rest", "the program does not come to rest: it still changes objects after %v\n%s", unrest, r.result.log.writes(5))
}

// useAll lets Users do all their steps.
func (r *run) useAll() {
	go r.user.run(func() error { return r.program.Users(r.world) })
	limit := time.Now().Add(patient)
	r.changed = time.Now()
	r.drive(func() bool {
		return r.user.ended() || r.result.finding != nil || r.user.waitsInVain() || time.Now().After(limit)
	})
	r.changed = time.Now() // the program gets its time to answer
	switch err := r.user.err(); {
	case r.result.finding != nil:
	case r.user.waitsInVain():
		r.findRestless()
	case !r.user.ended():
		r.result.broken = fmt.Errorf("the script does not end: Users has not returned after %v of virtual time, which is the most: %s", patient, where("sim.(*user).run"))
	case err != nil && r.base == nil:
		r.result.broken = fmt.Errorf("the script does not apply: Users: %w", err)
	case err != nil:
		r.find("users", "Users returned an error, which it does not without faults: %v", err)
	}
}

// rests reports whether the program has changed nothing for long enough, and no fault is at work.
func (r *run) rests() bool {
	since := r.changed
	for _, w := range r.windows {
		since = later(since, w.until)
	}
	for _, o := range r.gate.inOrder() {
		since = later(since, o.until)
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
	if r.result.finding == nil {
		r.result.finding = &finding{rule: rule, text: fmt.Sprintf(format, args...), at: r.result.log.len()}
	}
}

// The following are called by the goroutines of processes.

func (r *run) begins(l *life) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if old := r.lives[l.process]; old != nil {
		l.behind.Store(old.behind.Load())
	}
	r.lives[l.process] = l
}

// exits notes that a process has ended on its own.
func (r *run) exits(process int, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ends = append(r.ends, fmt.Sprintf("process %d ended on its own: %v", process, err))
}

// endsWith notes what a process returned that had to end.
func (r *run) endsWith(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		r.badEnds = append(r.badEnds, err)
	}
}

// leaves notes that a process is not started any more. If it has quit, it left nothing that can be.
func (r *run) leaves(process int, quit bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.alive--
	if quit {
		r.quits = append(r.quits, fmt.Errorf("process %d: Run: %w", process, errQuit))
	}
	r.gate.notify()
}

func (r *run) aliveNow() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.alive
}

func (r *run) opened(s *stream) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.streams[s] = true
}

func (r *run) ended(s *stream) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.streams, s)
}
