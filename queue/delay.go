package queue

import (
	"math"
	"time"

	"github.com/kinform/kinform/internal/note"
)

// fireBatch is the number of due keys that the timer moves in one lock hold. It keeps the lock hold
// short even if 100,000 keys are due at once.
const fireBatch = 128

// Cancel removes the pending delay of a key, and reports whether there was one. It does not change
// a key that is queued, held by debounce or running. O(log delayed).
func (q *Queue[K]) Cancel(key K) bool {
	hash := q.hash(key)
	q.mu.Lock()
	defer q.mu.Unlock()
	e := find(&q.store.table, key, hash)
	if e == nil || e.pos[delayed] == 0 {
		return false
	}
	undelay(q, e)
	release(q, e)
	return true
}

// undelay drops the pending delay of an entry, if there is one. Called with the lock held.
func undelay[K comparable](q *Queue[K], e *entry[K]) {
	if e.pos[delayed] != 0 {
		q.pending[delayed].remove(e)
		disarm(q)
	}
}

// delay schedules the add of a key after opts.After. why is the note of that add. Called with the lock held.
func delay[K comparable](q *Queue[K], e *entry[K], prio int32, opts AddOptions, why note.Note) {
	h := &q.pending[delayed]
	at := saturatingAdd(q.now(), int64(opts.After), 1)
	if e.pos[delayed] != 0 && !opts.Replace {
		if earlier := h.at(e); earlier <= at {
			at, why = earlier, note.Note(e.why)
		}
		prio = max(prio, e.later[delayed])
	}
	e.later[delayed], e.why = prio, uint8(why)
	q.set(h, e, at)
	arm(q)
}

// set is timers.set; among entries of the same time, the last one set comes last. Called with the
// lock held.
func (q *Queue[K]) set(h *timers[K], e *entry[K], at int64) {
	q.sets++
	h.set(e, at, q.sets)
}

// hold delays an added key until there was no add of it for Options.Debounce. Called with the lock
// held.
func (q *Queue[K]) hold(e *entry[K], prio int32) {
	h := &q.pending[held]
	if e.state&(ready|dirty) != 0 {
		enqueue(q, e, prio, 0) // queued already: this add is part of that burst
		return
	}
	now := q.now()
	if e.pos[held] == 0 {
		e.since = now
		e.later[held] = prio
	} else {
		e.later[held] = max(e.later[held], prio)
	}
	q.set(h, e, min(saturatingAdd(now, q.debounce, 1), saturatingAdd(e.since, q.debounceMax, 1)))
	arm(q)
}

// saturatingAdd returns a + b*times for non-negative values, or the largest int64 if that
// overflows.
func saturatingAdd(a, b, times int64) int64 {
	if b > (math.MaxInt64-a)/times {
		return math.MaxInt64
	}
	return a + b*times
}

// arm sets the timer for the first pending time, unless it will fire before that anyway. Called
// with the lock held.
func arm[K comparable](q *Queue[K]) {
	at := int64(math.MaxInt64)
	for i := range q.pending {
		if s := q.pending[i].slots; len(s) > 0 {
			at = min(at, s[0].at)
		}
	}
	if at == math.MaxInt64 || q.armed != 0 && q.armed <= at {
		return
	}
	q.armed = at
	d := max(0, time.Duration(at-q.now()))
	if q.timer == nil {
		q.timer = time.AfterFunc(d, q.fire)
	} else {
		q.timer.Reset(d)
	}
}

// disarm stops the timer if no key is delayed or held, so that the timer does not keep the queue in
// memory. Called with the lock held.
func disarm[K comparable](q *Queue[K]) {
	for i := range q.pending {
		if len(q.pending[i].slots) > 0 {
			return
		}
	}
	if q.armed != 0 {
		q.armed = 0
		q.timer.Stop() // if it has fired already, fire finds nothing to do
	}
}

// fire moves due keys to the ready queue. It runs in the timer's goroutine, which ends with this
// call.
func (q *Queue[K]) fire() {
	for more := true; more; {
		q.mu.Lock()
		more = expire(q, q.now(), fireBatch)
		if !more {
			q.armed = 0
			arm(q)
		}
		w := wake(q)
		q.mu.Unlock()
		w.signal()
	}
}

// expire moves up to limit keys that are due, in the order of their times, and reports whether it
// stopped at the limit. Called with the lock held.
func expire[K comparable](q *Queue[K], now int64, limit int) bool {
	for ; ; limit-- {
		h := nextDue(q, now)
		if h == nil {
			return false
		}
		if limit == 0 {
			return true
		}
		e := h.slots[0].e
		h.remove(e)
		since := int64(0)
		if h.which == held {
			since = e.since
		} else {
			e.notes.Add(note.Note(e.why))
		}
		enqueue(q, e, e.later[h.which], since)
	}
}

// nextDue returns the heap that has the earliest of all due entries, or nil if none is due. Called
// with the lock held.
func nextDue[K comparable](q *Queue[K], now int64) *timers[K] {
	var next *timers[K]
	for i := range q.pending {
		h := &q.pending[i]
		if len(h.slots) > 0 && h.slots[0].at <= now && (next == nil || h.slots[0].before(&next.slots[0])) {
			next = h
		}
	}
	return next
}
