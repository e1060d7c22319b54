package queue

import "math"

// ageing keeps lower priorities from starving. Guarded by Queue.mu.
type ageing struct {
	turn bool // the last hand-out was of an aged entry
}

// pick chooses the level of the next hand-out; at least one key must be ready. It chooses the
// highest level, except that keys which have waited for ageAfter get every second turn. So no key
// starves (controller-runtime#3496), and many aged keys take no more than half of the turns. now may
// be zero: then pick reads the clock if it needs to. Called with the lock held.
func pick[K comparable](q *Queue[K], now int64) *level[K] {
	r := &q.ready
	if r.levels == nil {
		return &r.base
	}
	i := 0
	for r.levels[i].n == 0 {
		i++
	}
	top := r.levels[i]
	if top.n == r.n {
		q.age.turn = false
		return top
	}
	if q.age.turn {
		q.age.turn = false
		return top
	}
	best := aged(q, r.levels[i+1:], now)
	if best == nil {
		return top
	}
	q.age.turn = true
	return best
}

// aged returns the level whose next key has waited longest, or nil if no next key has waited for
// ageAfter.
func aged[K comparable](q *Queue[K], levels []*level[K], now int64) *level[K] {
	var best *level[K]
	if now == 0 {
		now = q.now()
	}
	oldest := int64(math.MaxInt64)
	for _, l := range levels {
		if l.n == 0 {
			continue
		}
		e := l.peek()
		if e.since == 0 {
			e.since = now // added before priorities were used: its age counts from now
		}
		if now-e.since >= q.ageAfter && e.since < oldest {
			best, oldest = l, e.since
		}
	}
	return best
}
