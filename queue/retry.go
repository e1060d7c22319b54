package queue

import (
	"time"

	"github.com/kinform/kinform/internal/note"
)

// AddRateLimited counts a failure of the key and queues it after the delay of the limiter. In
// everything else it is like AddAfter. If the limiter panics, the delay is the zero
// [Exponential]'s, and the panic is reported to [Options.OnError]. After shutdown it does nothing
// and does not call the limiter. O(log delayed).
func (q *Queue[K]) AddRateLimited(key K) { addRateLimited(q, key, 0, AddOptions{}) }

// Forget sets the key's failure count to zero and calls the limiter's Forget, if it has
// one: see [Limiter]. It does not remove a pending delay: see [Queue.Cancel]. O(1).
func (q *Queue[K]) Forget(key K) {
	hash := q.hash(key)
	q.mu.Lock()
	if e := find(&q.store.table, key, hash); e != nil {
		e.failures = 0
		release(q, e)
	}
	q.mu.Unlock()
	tellForgetter(q, key)
}

// tellForgetter calls the Forget of the limiter. Called without the lock.
func tellForgetter[K comparable](q *Queue[K], key K) {
	limiter, ok := q.limiter.(forgetter[K])
	if !ok {
		return
	}
	if err := q.call("Limiter", func() { limiter.Forget(key) }); err != nil {
		report(q, key, err)
	}
}

// Retries returns the number of AddRateLimited calls for the key since the last Forget. O(1).
func (q *Queue[K]) Retries(key K) int {
	hash := q.hash(key)
	q.mu.Lock()
	defer q.mu.Unlock()
	if e := find(&q.store.table, key, hash); e != nil {
		return int(e.failures)
	}
	return 0
}

// addRateLimited is AddRateLimited with a priority. With the built-in backoff it takes the lock
// once. Any other limiter is called between two lock holds.
func addRateLimited[K comparable](q *Queue[K], key K, prio int32, opts AddOptions) {
	class, hash := q.className(key), q.hash(key)
	q.mu.Lock()
	if q.down {
		q.mu.Unlock()
		return
	}
	e := q.entry(key, hash, class)
	failures := int(e.failures)
	if e.failures+1 != 0 {
		e.failures++
	}
	var d time.Duration
	if q.limiter == nil {
		d = q.backoff.Delay(key, failures)
	} else {
		q.mu.Unlock()
		d = askLimiter(q, key, failures)
		q.mu.Lock()
		if q.down {
			q.mu.Unlock()
			return
		}
		e = q.entry(key, hash, class) // the entry may have been dropped meanwhile
	}
	if opts.After <= 0 || d < opts.After {
		opts.After = d
	}
	q.count.retries++
	if opts.After > 0 {
		delay(q, e, prio, opts, note.Retry)
	} else {
		if opts.Replace {
			undelay(q, e)
		}
		e.notes.Add(note.Retry)
		enqueue(q, e, prio, 0)
	}
	w := wake(q)
	q.mu.Unlock()
	w.signal()
}

// askLimiter calls the limiter. Called without the lock.
func askLimiter[K comparable](q *Queue[K], key K, failures int) time.Duration {
	var d time.Duration
	if err := q.call("Limiter", func() { d = q.limiter.Delay(key, failures) }); err != nil {
		report(q, key, err)
		return Exponential[K]{}.Delay(key, failures)
	}
	return d
}
