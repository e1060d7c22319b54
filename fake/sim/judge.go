package sim

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// judge checks what must hold when the program rests after the users' last step.
func (r *run) judge() {
	if r.base == nil {
		r.ends()
		for _, what := range slices.Sorted(maps.Keys(r.eyes.no)) {
			if no := r.eyes.no[what]; no != "" {
				r.find("refused", "%s", no)
			}
		}
	}
	if r.program.Finally != nil {
		r.hold("finally", func() error {
			return apart(func() error { return r.program.Finally(r.world) })
		})
	}
	if r.base != nil {
		r.hold("converges", func() error {
			now, _ := r.look()
			if d := r.base.end.differs(now); d != "" {
				return fmt.Errorf("the objects in the end are others than without faults (- without, + with them):\n%s", d)
			}
			return nil
		})
	}
	r.hold("status", r.staleStatus)
	r.findLoops()
	end, all := r.look()
	r.result.end = end
	for _, s := range all {
		if orphan(s, all) && r.eyes.created[uidOf(s.object)] {
			r.find("orphan", "%v is left, and its owners are gone", s)
		}
	}
}

func (r *run) findLoops() {
	for _, l := range r.program.Server.Loops() {
		r.find("loop", "%s", l)
	}
}

// hold checks a rule. What the program mends on its own within half an hour after the last fault is in order.
func (r *run) hold(rule string, check func() error) {
	begun, at := time.Now(), r.result.log.len()
	err := check()
	for err != nil && time.Since(later(begun, r.faulted)) < unrest && r.result.finding == nil {
		until := time.Now().Add(rest)
		r.drive(func() bool { return !time.Now().Before(until) })
		err = check()
	}
	if before := r.result.finding; err != nil && before == nil {
		r.find(rule, "%v", err)
		if f := r.result.finding; f != nil {
			f.at = at
		}
	}
}

// staleStatus returns an error if the program wrote the status of an object for an older generation. A deletion is one,
// too, and nobody needs to report on it.
func (r *run) staleStatus() error {
	for _, s := range r.eyes.all() {
		status, _ := s.object["status"].(object)
		if !r.eyes.status[s.String()] || status == nil || meta(s.object)["deletionTimestamp"] != nil {
			continue
		}
		present := meta(s.object)["generation"]
		if seen, ok := status["observedGeneration"]; ok && seen != present {
			return fmt.Errorf("%v: status.observedGeneration is %v, metadata.generation is %v", s, seen, present)
		}
		conditions, _ := status["conditions"].([]any)
		for _, c := range conditions {
			c, _ := c.(object)
			if seen, ok := c["observedGeneration"]; ok && seen != present {
				return fmt.Errorf("%v: observedGeneration of the condition %v is %v, metadata.generation is %v", s, c["type"], seen, present)
			}
		}
	}
	return nil
}

// orphan reports whether all owners of an object are gone.
func orphan(s seen, all []seen) bool {
	owners, _ := meta(s.object)["ownerReferences"].([]any)
	for _, o := range owners {
		o, _ := o.(object)
		for _, other := range all {
			if uidOf(other.object) == text(o["uid"]) {
				return false
			}
		}
	}
	return len(owners) > 0
}

// startAgain ends all processes while they rest, and lets them start again: nothing is left to do. It is for the
// schedule without faults.
func (r *run) startAgain() {
	if r.base != nil {
		return
	}
	before := r.eyes.all()
	r.result.log.add("all processes end, and start again")
	r.crashAll()
	r.eyes.idle, r.changed = nil, time.Now()
	counts := maps.Clone(r.counts) // other schedules do not start again
	r.faults = false
	r.settle()
	r.faults, r.counts = true, counts
	if r.result.finding != nil || r.result.broken != nil {
		return
	}
	now, after := r.look()
	if d := r.result.end.differs(now); d != "" {
		r.find("again", "a start without anything to do changes objects (- before, + after it):\n%s", d)
	}
	for _, s := range before {
		same := func(other seen) bool { return uidOf(other.object) == uidOf(s.object) }
		if !slices.ContainsFunc(after, same) && !slices.Contains(r.program.Ignore, s.collection) {
			r.find("again", "a start without anything to do deletes %v, and makes it again", s)
		}
	}
	if len(r.eyes.idle) > 0 {
		r.find("unchanged", "a start without anything to do sends writes that change nothing: %s", strings.Join(r.eyes.idle, ", "))
	}
}

// clear deletes all that users created and left.
func (r *run) clear() {
	r.result.log.add("all that users created is deleted")
	for _, s := range r.eyes.all() {
		if uid := uidOf(s.object); !r.eyes.there[uid] && !r.eyes.created[uid] {
			r.eyes.remove(s)
		}
	}
	r.changed = time.Now()
}

// judgeRest checks that nothing is left.
func (r *run) judgeRest() {
	r.hold("left", func() (left error) {
		for _, s := range r.eyes.all() {
			switch uid := uidOf(s.object); {
			case r.eyes.there[uid]:
			case !r.eyes.created[uid]: // what it owns is left, too, but that is no wonder
				return fmt.Errorf("%v was deleted, and is still there with the finalizers %v", s, meta(s.object)["finalizers"])
			case left == nil && !slices.Contains(r.program.Keeps, s.collection):
				left = fmt.Errorf("%v is left, and all that users created was deleted", s)
			}
		}
		return left
	})
	r.findLoops()
}
