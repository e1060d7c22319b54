package queue

import "slices"

// keepLevels is the number of priorities that keep their level while no key has them.
const keepLevels = 8

// lane is a list of ready entries, first in first out. It is a list and not a ring, because an
// entry leaves from the middle when its priority is raised.
type lane[K comparable] = list[entry[K], *entry[K]]

// level holds the ready entries of one priority: in one lane, or with Options.Class in a lane per
// class.
type level[K comparable] struct {
	prio   int32
	n      int // ready
	coming int // running and dirty entries that will come back with this priority
	lane   lane[K]
	fair   *turns[K] // nil until the first entry with a class
}

func (l *level[K]) push(e *entry[K]) {
	l.n++
	if e.class == nil {
		l.lane.push(e)
		return
	}
	if l.fair == nil {
		l.fair = &turns[K]{}
	}
	l.fair.push(e)
}

func (l *level[K]) remove(e *entry[K]) {
	l.n--
	if e.class == nil {
		l.lane.remove(e)
		return
	}
	l.fair.remove(e)
}

// peek returns the next entry of a level that is not empty.
func (l *level[K]) peek() *entry[K] {
	if l.fair == nil {
		return l.lane.head
	}
	return l.fair.peek()
}

// pop removes and returns the next entry of a level that is not empty.
func (l *level[K]) pop() *entry[K] {
	l.n--
	if l.fair == nil {
		e := l.lane.head
		l.lane.remove(e)
		return e
	}
	return l.fair.pop()
}

// readyQueue holds the ready entries of all priorities. Guarded by Queue.mu.
type readyQueue[K comparable] struct {
	n      int         // entries in all levels
	base   level[K]    // priority 0
	levels []*level[K] // highest first, including base; nil while only priority 0 was used
}

// push appends e to the level of e.prio.
func (r *readyQueue[K]) push(e *entry[K]) {
	r.n++
	if e.prio == 0 {
		r.base.push(e)
		return
	}
	r.level(e.prio).push(e)
}

// remove removes e, which must be in the level of e.prio.
func (r *readyQueue[K]) remove(e *entry[K]) {
	r.n--
	l := r.level(e.prio)
	l.remove(e)
	prune(r, l)
}

// pop removes and returns the next entry of a level that is not empty.
func (r *readyQueue[K]) pop(l *level[K]) *entry[K] {
	r.n--
	e := l.pop()
	if r.levels != nil {
		prune(r, l)
	}
	return e
}

// level returns the level of a priority, and makes it if necessary. O(log levels), or O(levels) for
// a new one.
func (r *readyQueue[K]) level(prio int32) *level[K] {
	if prio == 0 {
		return &r.base
	}
	if r.levels == nil {
		r.levels = append(make([]*level[K], 0, keepLevels), &r.base)
	}
	i, ok := slices.BinarySearchFunc(r.levels, prio, func(l *level[K], p int32) int {
		return int(p) - int(l.prio)
	})
	if !ok {
		r.levels = slices.Insert(r.levels, i, &level[K]{prio: prio})
	}
	return r.levels[i]
}

// prune drops an empty level if there are many, so that priorities from a large range stay cheap.
func prune[K comparable](r *readyQueue[K], l *level[K]) {
	if l.n+l.coming > 0 || l == &r.base || len(r.levels) <= keepLevels {
		return
	}
	i := slices.Index(r.levels, l)
	r.levels = slices.Delete(r.levels, i, i+1)
	if c := cap(r.levels); c > keepTimers && len(r.levels)*tooLarge <= c {
		r.levels = append(make([]*level[K], 0, 2*len(r.levels)), r.levels...)
	}
}

// all calls yield for each level, highest first.
func (r *readyQueue[K]) all(yield func(*level[K]) bool) {
	if r.levels == nil {
		yield(&r.base)
		return
	}
	for _, l := range r.levels {
		if !yield(l) {
			return
		}
	}
}

// all calls yield for each entry of the level, lane by lane.
func (l *level[K]) all(yield func(*entry[K]) bool) {
	if !l.lane.all(yield) || l.fair == nil {
		return
	}
	for t := l.fair.line.head; t != nil; t = t.next {
		if !t.all(yield) {
			return
		}
	}
}
