package sim

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing/synctest"
	"time"

	"github.com/kinform/kinform/fake/faults"
)

// drive lets things happen until done, which it asks while everything stands still.
func (r *run) drive(done func() bool) {
	for {
		synctest.Wait()
		for _, f := range r.logs.take() {
			r.find(f.rule, "%s", f.text)
		}
		switch {
		case done() || r.result.broken != nil:
			return
		case !r.next():
			r.sleep()
		}
	}
}

// sleep waits until something arrives, or something that waits may be due.
func (r *run) sleep() {
	now := time.Now()
	wake := now.Add(rest)
	sooner := func(t time.Time) {
		if t.After(now) && t.Before(wake) {
			wake = t
		}
	}
	sooner(r.changed.Add(rest))
	for _, w := range r.windows {
		sooner(w.until)
		sooner(w.until.Add(rest))
	}
	for _, o := range r.gate.inOrder() {
		sooner(o.until)
	}
	timer := time.NewTimer(wake.Sub(now))
	defer timer.Stop()
	select {
	case <-r.gate.arrived:
	case <-timer.C:
	}
}

// letUsers lets users go on with their next step, and waits until they have done it.
func (r *run) letUsers(o *op, early string) {
	r.result.log.add("users go on" + early)
	row, before := r.result.log.len()-1, r.version()
	r.turn(o, false)
	r.result.log.rows[row].text += r.news(before)
	r.changed = time.Now() // the program gets its time to answer
}

// next lets one op have its turn. It reports false if none may have it now.
func (r *run) next() bool {
	for _, o := range r.gate.inOrder() {
		if o.at.n == 0 {
			o.at.call = r.names.aliased(o.at.call)
		}
	}
	waiting := r.gate.inOrder()
	for _, o := range waiting {
		r.number(o)
	}
	i := slices.IndexFunc(waiting, func(o *op) bool { return o.life.dead.Load() })
	if i < 0 {
		i = slices.IndexFunc(waiting, r.mayGo)
	}
	if i < 0 {
		return false
	}
	switch o := waiting[i]; {
	case o.life.dead.Load():
		r.turn(o, true)
	case o.delivery:
		r.turn(o, false)
	case !r.decide(o):
	case o.users():
		r.letUsers(o, "")
	default:
		r.pass(o)
	}
	return true
}

// number counts an op that the run sees for the first time. A watch that goes on has no number: clients draw the end of
// the one before by lot.
func (r *run) number(o *op) {
	if o.at.n > 0 || o.life.watches[o.at.call] && !streams(o.query) {
		return
	}
	r.counts[o.at.call]++
	o.at.n = r.counts[o.at.call]
	again := o.at.verb == faults.VerbWatch && o.at.n > 3 // clients draw backoffs by lot
	if r.faults && !again {
		r.result.points = append(r.result.points, o.at)
	}
}

// turn lets o go on, if it is still wanted.
func (r *run) turn(o *op, dead bool) {
	if r.gate.remove(o) {
		o.turn <- dead
	}
	synctest.Wait()
}

// pass lets a request through, and looks at the answer.
func (r *run) pass(o *op) {
	if !o.at.upkeep() {
		r.ops++
	}
	if r.ops > mostOps {
		r.result.broken = fmt.Errorf("the program sends too many requests: %d in one schedule, and in the end\n%s", mostOps, r.result.log.last(5))
		return
	}
	r.age(o)
	r.result.old = r.result.old || lists(o) || streams(o.query)
	if strings.Contains(o.query, "continue=") {
		r.result.pages = append(r.result.pages, o.at)
	}
	if r.last == nil || order(r.last, o) != 0 { // the twin goes at once, so that it is the same which of them was first
		if time.Sleep(latency); r.ops > flood && r.base != nil {
			time.Sleep(slow)
		}
	}
	r.last = o
	if synctest.Wait(); o.life.dead.Load() || !slices.Contains(r.gate.inOrder(), o) { // what was due meanwhile comes first
		return
	}
	if err := r.program.Server.Inject(o.faults...); err != nil {
		r.result.broken = err
		return
	}
	before := r.program.Server.ResourceVersion()
	entry := r.result.log.request(o)
	r.turn(o, false)
	if o.at.verb == faults.VerbWatch {
		r.watches = append(r.watches, o)
		o.life.watches[o.at.call] = o.life.watches[o.at.call] || o.code == http.StatusOK
	}
	r.result.log.answer(entry, o)
	r.eyes.answered(o)
	switch {
	case r.base == nil && o.code == http.StatusNotFound && r.eyes.paths[o.at.collection()] == "":
		r.result.broken = fmt.Errorf("the program sends %v, and Server has no such resource: call fake.Register", o.at)
	case o.at.writes() && o.code >= 200 && o.code < 300:
		r.wrote(o, before)
	}
}

// wrote looks at what a write has changed. before is the version that the server had.
func (r *run) wrote(o *op, before string) {
	after := r.program.Server.ResourceVersion()
	if !o.at.upkeep() && after != before {
		r.changed = time.Now()
	}
	r.eyes.written(o, before, after)
	if r.program.Always != nil && r.result.finding == nil {
		if err := apart(func() error { return r.program.Always(r.world) }); err != nil {
			r.find("always", "%v", err)
		}
	}
}
