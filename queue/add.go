package queue

import (
	"math"
	"time"

	"github.com/kinform/kinform/internal/note"
)

// Add queues a key, to be handed out once however often it is added before that. A key added while
// it runs comes back after it is done. Ignored after shutdown. O(1); with Debounce O(log held).
func (q *Queue[K]) Add(key K) { q.add(key, 0, addMode{}) }

// AddAfter queues a key once d has passed; zero and negative mean now. If the key is delayed
// already, the earlier time wins; [Queue.AddWith] can replace the delay and [Queue.Cancel] can
// remove it. Keys with the same time come in the order in which they were added. A key can be
// delayed and queued at once: a key that is queued or runs meanwhile comes again at its time.
// Delays are dropped at shutdown. O(log delayed).
func (q *Queue[K]) AddAfter(key K, d time.Duration) {
	if d <= 0 {
		q.add(key, 0, addMode{retry: true})
		return
	}
	addAfter(q, key, 0, AddOptions{After: d})
}

// AddWith is Add, AddAfter and AddRateLimited in one, with priority: see [AddOptions].
func (q *Queue[K]) AddWith(key K, opts AddOptions) {
	prio := clampPriority(opts.Priority)
	if opts.RateLimited {
		addRateLimited(q, key, prio, opts)
		return
	}
	if opts.After > 0 {
		addAfter(q, key, prio, opts)
		return
	}
	q.add(key, prio, addMode{replace: opts.Replace, note: opts.Note})
}

func clampPriority(p int) int32 { return int32(min(max(p, math.MinInt32), math.MaxInt32)) }

// addMode modifies an add without a delay.
type addMode struct {
	replace bool // cancel a pending delay
	retry   bool // count it in Metrics.Retries
	note    note.Note
}

// add is Add with a priority.
func (q *Queue[K]) add(key K, prio int32, mode addMode) {
	class, hash := q.className(key), q.hash(key)
	q.mu.Lock()
	if q.down {
		q.mu.Unlock()
		return
	}
	if mode.retry {
		q.count.retries++
	}
	e := find(&q.store.table, key, hash)
	if mode.replace && e != nil {
		undelay(q, e)
	}
	if e != nil && e.state&ready != 0 && prio <= e.prio {
		e.notes.Add(mode.note)
		q.mu.Unlock() // queued already: by far the most frequent case in a burst
		return
	}
	if e == nil {
		e = newEntry(q, key, hash, class)
	}
	e.notes.Add(mode.note)
	if q.debounce > 0 {
		q.hold(e, prio)
	} else {
		enqueue(q, e, prio, 0)
	}
	w := wake(q)
	q.mu.Unlock()
	w.signal()
}

// addAfter is AddAfter with a priority; opts.After is positive.
func addAfter[K comparable](q *Queue[K], key K, prio int32, opts AddOptions) {
	class, hash := q.className(key), q.hash(key)
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.down {
		return
	}
	q.count.retries++
	delay(q, q.entry(key, hash, class), prio, opts, note.Delayed)
}

// entry finds the entry of a key or makes one. Called with the lock held.
func (q *Queue[K]) entry(key K, hash uint32, className string) *entry[K] {
	e := find(&q.store.table, key, hash)
	if e == nil {
		e = newEntry(q, key, hash, className)
	}
	return e
}

// newEntry makes the entry of a key that has none. Called with the lock held.
func newEntry[K comparable](q *Queue[K], key K, hash uint32, className string) *entry[K] {
	e := q.store.make(key, hash)
	if q.classes != nil {
		e.class = q.classes.join(className)
	}
	return e
}

// release drops an entry that has nothing left to record. Called with the lock held.
func release[K comparable](q *Queue[K], e *entry[K]) {
	if !e.idle() {
		return
	}
	if e.class != nil {
		q.classes.leave(e.class)
	}
	if drop(&q.store, e) { // so nothing is delayed or queued either
		q.ready = readyQueue[K]{}
		for i := range q.pending {
			q.pending[i].slots = nil
		}
	}
}

// enqueue adds a key to the ready queue, or marks it dirty if it runs. All adds come here in the
// end. since is the start of the key's waiting time, zero for now. Called with the lock held.
func enqueue[K comparable](q *Queue[K], e *entry[K], prio int32, since int64) {
	if q.debounce > 0 && e.pos[held] != 0 {
		since = e.since // the held add is served by this hand-out as well
		prio = max(prio, e.later[held])
		q.pending[held].remove(e)
		disarm(q)
	}
	switch {
	case e.state == 0:
		e.state = ready
		e.prio = prio
		q.count.adds++
		q.push(e, since)
	case e.state&ready != 0:
		if prio > e.prio {
			q.ready.remove(e)
			e.prio = prio
			q.ready.push(e)
		}
	case e.state&dirty == 0:
		e.state |= dirty
		e.again = prio
		q.ready.level(prio).coming++
		e.since = since
		if since == 0 {
			e.since = stamp(q)
		}
		q.dirties++
		q.count.adds++
	case prio > e.again:
		uncome(q, e)
		e.again = prio
		q.ready.level(prio).coming++
	}
}

// uncome removes a dirty entry from the count of its level. Called with the lock held.
func uncome[K comparable](q *Queue[K], e *entry[K]) {
	l := q.ready.level(e.again)
	l.coming--
	prune(&q.ready, l)
}

// push puts an entry that is marked ready into the ready queue. Called with the lock held.
func (q *Queue[K]) push(e *entry[K], since int64) {
	q.ready.push(e)
	if since == 0 {
		since = stamp(q)
	}
	e.since = since
}

// className returns the class of a key by Options.Class. Called without the lock.
func (q *Queue[K]) className(key K) string {
	if q.classOf == nil {
		return ""
	}
	return askClass(q, key)
}

// askClass is the slow part of className. It is a separate function so that className is inlined.
func askClass[K comparable](q *Queue[K], key K) string {
	var name string
	if err := q.call("Options.Class", func() { name = q.classOf(key) }); err != nil {
		report(q, key, err)
	}
	return name
}
