package queue

import "context"

// ShutDown makes the queue ignore further adds and drop delayed keys. Keys that are queued, held by
// debounce, or added again while they run are still handed out; then Get returns [ErrShutDown].
// ShutDown does not wait: see [Queue.Drain]. Calling it again does nothing. O(delayed).
func (q *Queue[K]) ShutDown() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.down {
		return
	}
	for h := &q.pending[held]; len(h.slots) > 0; {
		e := h.slots[0].e
		h.remove(e)
		enqueue(q, e, e.later[held], e.since)
	}
	for h := &q.pending[delayed]; len(h.slots) > 0; {
		e := h.slots[len(h.slots)-1].e
		h.remove(e)
		release(q, e)
	}
	disarm(q)
	q.down = true
	wakeAll(q)
	checkIdle(q)
}

// ShuttingDown reports whether ShutDown or Drain was called.
func (q *Queue[K]) ShuttingDown() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.down
}

// Drain shuts the queue down and waits until every queued key was handed out and given back,
// including keys added again while they ran. It then returns nil. If ctx ends first, it returns the
// context's cause; the queue stays shut down and Drain may be called again. Workers must keep
// getting keys meanwhile.
func (q *Queue[K]) Drain(ctx context.Context) error {
	q.ShutDown()
	idle := q.drained()
	select {
	case <-idle:
		return nil
	default:
	}
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// drained returns a channel that is closed when the queue is shut down and no key is queued or
// running.
func (q *Queue[K]) drained() <-chan struct{} {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.idle == nil {
		q.idle = make(chan struct{})
		checkIdle(q)
	}
	return q.idle
}

// checkIdle closes idle once the queue is shut down and no key is queued or running. No key can be
// added after that, so it is closed once. Called with the lock held.
func checkIdle[K comparable](q *Queue[K]) {
	if q.idle == nil || !q.down || q.ready.n > 0 || q.running > 0 {
		return
	}
	select {
	case <-q.idle:
	default:
		close(q.idle)
	}
}
