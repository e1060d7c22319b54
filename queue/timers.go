package queue

// arity of the timer heap: four children share two cache lines, and the heap is half as deep as a
// binary one.
const arity = 4

// keepTimers is the heap capacity that is always kept.
const keepTimers = 64

// timers is a heap of entries ordered by time; entries with the same time are in the order in which
// they were set. Entries know their places in the heap, so that moving or removing one needs no
// search. The times are in the heap's own array, so that ordering reads no entry. Guarded by
// Queue.mu.
type timers[K comparable] struct {
	which int // delayed or held: the index into entry.pos
	slots []timerSlot[K]
}

type timerSlot[K comparable] struct {
	at  int64  // nanoseconds since Queue.base
	seq uint64 // number of the set, over both heaps
	e   *entry[K]
}

// before reports whether s is due first.
func (s *timerSlot[K]) before(o *timerSlot[K]) bool {
	return s.at < o.at || s.at == o.at && s.seq < o.seq
}

// at returns e's time; e must be in the heap.
func (t *timers[K]) at(e *entry[K]) int64 { return t.slots[e.pos[t.which]-1].at }

// set adds e to the heap or moves it to another time. If e already has the time at, it keeps its
// place among the entries of that time. seq must be larger than in earlier calls. O(log n).
func (t *timers[K]) set(e *entry[K], at int64, seq uint64) {
	s := timerSlot[K]{at: at, seq: seq, e: e}
	i := int(e.pos[t.which]) - 1
	if i < 0 {
		i = len(t.slots)
		t.slots = append(t.slots, s)
		up(t, i, s)
		return
	}
	switch was := t.slots[i].at; {
	case at < was:
		up(t, i, s)
	case at > was:
		down(t, i, s)
	}
}

// remove removes e from the heap; it must be in it. O(log n).
func (t *timers[K]) remove(e *entry[K]) {
	i := int(e.pos[t.which]) - 1
	e.pos[t.which] = 0
	n := len(t.slots) - 1
	moved, gone := t.slots[n], t.slots[i]
	t.slots[n] = timerSlot[K]{}
	t.slots = t.slots[:n]
	if i < n {
		if moved.before(&gone) {
			up(t, i, moved)
		} else {
			down(t, i, moved)
		}
	}
	if c := cap(t.slots); c > keepTimers && n*tooLarge <= c {
		t.slots = append(make([]timerSlot[K], 0, 2*n), t.slots...)
	}
}

// place writes s to slot i and updates its entry.
func place[K comparable](t *timers[K], i int, s timerSlot[K]) {
	t.slots[i] = s
	s.e.pos[t.which] = int32(i + 1)
}

// up finds the place of s from slot i, which is free, towards the root.
func up[K comparable](t *timers[K], i int, s timerSlot[K]) {
	for i > 0 {
		p := (i - 1) / arity
		if t.slots[p].before(&s) {
			break
		}
		place(t, i, t.slots[p])
		i = p
	}
	place(t, i, s)
}

// down finds the place of s from slot i, which is free, away from the root.
func down[K comparable](t *timers[K], i int, s timerSlot[K]) {
	n := len(t.slots)
	for {
		first := arity*i + 1
		if first >= n {
			break
		}
		least := first
		for c := first + 1; c < min(first+arity, n); c++ {
			if t.slots[c].before(&t.slots[least]) {
				least = c
			}
		}
		if s.before(&t.slots[least]) {
			break
		}
		place(t, i, t.slots[least])
		i = least
	}
	place(t, i, s)
}
