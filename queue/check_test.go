package queue

import (
	"fmt"
	"math"
	"testing"
)

// check fails the test when an invariant of the queue does not hold.
func (q *Queue[K]) check(t testing.TB) {
	t.Helper()
	if err := q.verify(); err != nil {
		t.Fatal(err)
	}
}

// verify checks every invariant of the queue's state. It costs as much as the queue is large.
func (q *Queue[K]) verify() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, f := range []func() error{q.verifyEntries, q.verifyReady, q.verifyTimers, q.verifyWaiters, q.verifyClasses} {
		if err := f(); err != nil {
			return err
		}
	}
	return nil
}

func (q *Queue[K]) verifyEntries() error {
	var nReady, nRunning, nDirty int
	coming := map[int32]int{}
	for e := range q.store.table.all {
		k := e.key
		switch {
		case q.find(k) != e:
			return fmt.Errorf("entry of %v cannot be found", k)
		case e.idle():
			return fmt.Errorf("%v is idle but not forgotten", k)
		case e.state&ready != 0 && e.state&running != 0:
			return fmt.Errorf("%v is ready and runs", k)
		case e.state&dirty != 0 && e.state&running == 0:
			return fmt.Errorf("%v is dirty but does not run", k)
		case e.pos[held] != 0 && e.state&(ready|dirty) != 0:
			return fmt.Errorf("%v is held and queued", k)
		case (q.classes != nil) != (e.class != nil):
			return fmt.Errorf("%v: class is %v", k, e.class)
		case (e.notes.Adds() > 0) != (e.state&(ready|dirty) != 0 || e.pos[held] != 0):
			return fmt.Errorf("%v has %d notes in state %b", k, e.notes.Adds(), e.state)
		}
		if e.state&dirty != 0 {
			coming[e.again]++
		}
		nReady += int(e.state & ready / ready)
		nRunning += int(e.state & running / running)
		nDirty += int(e.state & dirty / dirty)
	}
	if nReady != q.ready.n || nRunning != q.running || nDirty != q.dirties {
		return fmt.Errorf("counted %d ready %d running %d dirty, noted %d %d %d",
			nReady, nRunning, nDirty, q.ready.n, q.running, q.dirties)
	}
	for l := range q.ready.all {
		if l.coming != coming[l.prio] {
			return fmt.Errorf("priority %d: %d to come, noted %d", l.prio, coming[l.prio], l.coming)
		}
		delete(coming, l.prio)
	}
	if len(coming) > 0 {
		return fmt.Errorf("no level for those to come: %v", coming)
	}
	nFree := 0
	for e := q.store.free; e != nil; e = e.next {
		nFree++
		if !e.idle() || e.class != nil || e.prev != nil || q.find(e.key) == e {
			return fmt.Errorf("recycled entry in use: %v", e.key)
		}
	}
	if nFree != q.store.nFree || nFree > keepFree {
		return fmt.Errorf("%d recycled entries, noted %d", nFree, q.store.nFree)
	}
	return nil
}

func (q *Queue[K]) verifyReady() error {
	levels := q.ready.levels
	if levels == nil {
		levels = []*level[K]{&q.ready.base}
	}
	total := 0
	for i, l := range levels {
		if i > 0 && levels[i-1].prio <= l.prio {
			return fmt.Errorf("levels out of order: %d before %d", levels[i-1].prio, l.prio)
		}
		n, err := verifyLane(&l.lane, q, l.prio)
		if err != nil {
			return err
		}
		if l.fair != nil {
			inLine := 0
			for tl := l.fair.line.head; tl != nil; tl = tl.next {
				inLine++
				if l.fair.lanes[tl.class] != tl {
					return fmt.Errorf("lane of class %q is in line but not known", tl.class.name)
				}
				if tl.head == nil || tl.next != nil && tl.next.prev != tl || tl.next == nil && l.fair.line.tail != tl {
					return fmt.Errorf("lane of class %q is empty or ill linked", tl.class.name)
				}
				m, err := verifyLane(&tl.lane, q, l.prio)
				if err != nil {
					return err
				}
				n += m
			}
			if inLine != len(l.fair.lanes) {
				return fmt.Errorf("%d lanes in line, %d known", inLine, len(l.fair.lanes))
			}
		}
		if n != l.n {
			return fmt.Errorf("priority %d holds %d, noted %d", l.prio, n, l.n)
		}
		total += n
	}
	if total != q.ready.n {
		return fmt.Errorf("levels hold %d, noted %d", total, q.ready.n)
	}
	return nil
}

func verifyLane[K comparable](l *lane[K], q *Queue[K], prio int32) (n int, err error) {
	var prev *entry[K]
	for e := l.head; e != nil; prev, e = e, e.next {
		n++
		if e.prev != prev || e.state != ready || e.prio != prio || q.find(e.key) != e {
			return n, fmt.Errorf("lane %d: entry of %v is not as it should be: %+v", prio, e.key, e)
		}
	}
	if l.tail != prev {
		return n, fmt.Errorf("lane %d: tail is not the last", prio)
	}
	return n, nil
}

func (q *Queue[K]) verifyTimers() error {
	for which := range q.pending {
		h := &q.pending[which]
		for i, s := range h.slots {
			if i > 0 && !h.slots[(i-1)/arity].before(&s) {
				return fmt.Errorf("heap %d: slot %d is before its parent", which, i)
			}
			if int(s.e.pos[which]) != i+1 || q.find(s.e.key) != s.e {
				return fmt.Errorf("heap %d: entry of slot %d thinks that it is at %d", which, i, s.e.pos[which]-1)
			}
		}
		n := 0
		for e := range q.store.table.all {
			if e.pos[which] != 0 {
				n++
			}
		}
		if n != len(h.slots) {
			return fmt.Errorf("heap %d has %d, %d entries think that they are in it", which, len(h.slots), n)
		}
		if len(h.slots) > 0 && (q.down || h.slots[0].at < math.MaxInt64 && (q.armed == 0 || q.armed > h.slots[0].at && !q.due(h))) {
			return fmt.Errorf("heap %d: first at %d, timer set for %d, down %v", which, h.slots[0].at, q.armed, q.down)
		}
	}
	return nil
}

// due says that a heap's first is overdue, so that the timer's goroutine is about to take the lock.
func (q *Queue[K]) due(h *timers[K]) bool { return h.slots[0].at <= q.now() }

func (q *Queue[K]) verifyWaiters() error {
	spares := 0
	for w := q.parked.spare; w != nil; w = w.next {
		spares++
	}
	if spares != int(q.parked.spares) || spares > keepSpare {
		return fmt.Errorf("%d spare waiters, noted %d", spares, q.parked.spares)
	}
	if q.parked.stack.head != nil && q.ready.n > 0 && q.parked.waking == 0 {
		return fmt.Errorf("%d ready while a waiter sleeps", q.ready.n)
	}
	if q.parked.stack.head != nil && q.down && q.ready.n == 0 && q.running == 0 && q.idle == nil { // Run's workers wait for its word
		return fmt.Errorf("a waiter sleeps after shutdown")
	}
	return nil
}

func (q *Queue[K]) verifyClasses() error {
	if q.classes == nil {
		return nil
	}
	if n := len(q.classes.byName); q.classes.peak > max(keepClasses, n*tooLarge) {
		return fmt.Errorf("%d classes in a map that had %d", n, q.classes.peak)
	}
	for l := range q.ready.all {
		if l.fair != nil && l.fair.peak > max(keepClasses, len(l.fair.lanes)*tooLarge) {
			return fmt.Errorf("%d lanes in a map that had %d", len(l.fair.lanes), l.fair.peak)
		}
	}
	refs := 0
	for _, c := range q.classes.byName {
		if c.refs <= 0 {
			return fmt.Errorf("class %q has %d references", c.name, c.refs)
		}
		refs += c.refs
	}
	if refs != q.store.table.n {
		return fmt.Errorf("classes have %d references, there are %d entries", refs, q.store.table.n)
	}
	return nil
}

// find looks a key up. Called with the lock held.
func (q *Queue[K]) find(key K) *entry[K] { return find(&q.store.table, key, q.hash(key)) }
