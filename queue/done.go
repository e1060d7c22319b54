package queue

import (
	"time"

	"github.com/kinform/kinform/internal/note"
)

// Done gives the key back: it may be handed out again, and is queued at once if it was added
// meanwhile. Done returns false and does nothing if the item was given back before, or is the zero
// Item. O(1), with priorities O(log priorities in use); it needs a lookup only if the queue drops
// the key.
func (it Item[K]) Done() bool { return it.done(false) }

// done is Done. With forget, it first resets the key's failure count.
func (it Item[K]) done(forget bool) bool {
	q := it.q
	if q == nil {
		return false
	}
	q.mu.Lock()
	if it.e.gen != it.gen || it.e.state&running == 0 {
		q.mu.Unlock()
		return false
	}
	if forget {
		it.e.failures = 0
	}
	finish(q, it.e)
	w := wake(q)
	q.mu.Unlock()
	w.signal()
	return true
}

// bringBack is done and an add of the key with its old priority, in one lock hold. why is the note
// of the add. It calls no user code.
func bringBack[K comparable](it Item[K], after time.Duration, forget bool, why note.Note) {
	q := it.q
	q.mu.Lock()
	e := it.e
	if e.gen != it.gen || e.state&running == 0 {
		q.mu.Unlock()
		return
	}
	if forget {
		e.failures = 0
	}
	switch prio := clampPriority(it.Priority); {
	case q.down:
	case after > 0:
		q.count.retries++
		delay(q, e, prio, AddOptions{After: after}, why)
	case q.debounce > 0:
		e.notes.Add(why)
		q.hold(e, prio)
	default:
		e.notes.Add(why)
		enqueue(q, e, prio, 0)
	}
	finish(q, e)
	w := wake(q)
	q.mu.Unlock()
	w.signal()
}

// putBack gives a key back the notes of its hand-out, which have not been served.
func putBack[K comparable](it Item[K], notes *note.Notes) {
	it.q.mu.Lock()
	defer it.q.mu.Unlock()
	if it.e.gen == it.gen && it.e.state&running != 0 {
		it.e.notes.PutBack(notes)
	}
}

// Done gives a key back like [Item.Done], for callers that have the key and not the item. It costs
// one more table lookup. It returns false and does nothing if the key is not handed out.
func (q *Queue[K]) Done(key K) bool {
	hash := q.hash(key)
	q.mu.Lock()
	e := find(&q.store.table, key, hash)
	if e == nil || e.state&running == 0 {
		q.mu.Unlock()
		return false
	}
	finish(q, e)
	w := wake(q)
	q.mu.Unlock()
	w.signal()
	return true
}

// finish ends the run of an entry. Called with the lock held.
func finish[K comparable](q *Queue[K], e *entry[K]) {
	q.running--
	if q.timing != nil {
		q.timing.done(e, q.now())
	}
	if e.state&dirty != 0 {
		q.dirties--
		uncome(q, e)
		e.state = ready
		e.prio = e.again
		q.push(e, e.since)
		return
	}
	e.state = 0
	release(q, e)
	if q.down {
		checkIdle(q)
	}
}
