package queue

import "context"

// waiter is a goroutine that waits for a key. Guarded by Queue.mu but for the channel.
type waiter struct {
	ch         chan struct{} // holds one token from being chosen until the waiter has seen it
	next, prev *waiter
	listed     bool
}

// signal wakes a waiter that was taken off the list; nil means none. Called without the lock, so that the woken
// goroutine does not meet it.
func (w *waiter) signal() {
	if w != nil {
		w.ch <- struct{}{}
	}
}

// keepSpare is how many waiters are kept for later ones.
const keepSpare = 64

// waiters is the stack of waiting goroutines; the last to come is the first to be woken, its memory being warm.
type waiters struct {
	top    *waiter
	spare  *waiter // for the next ones, by next
	spares int32   // their number, at most keepSpare
	waking int32   // chosen and not back yet
	n      int     // on the stack
}

func (ws *waiters) push() *waiter {
	w := ws.spare
	if w == nil {
		w = &waiter{ch: make(chan struct{}, 1)}
	} else {
		ws.spare = w.next
		ws.spares--
	}
	w.prev, w.next, w.listed = nil, ws.top, true
	if ws.top != nil {
		ws.top.prev = w
	}
	ws.top = w
	ws.n++
	return w
}

func (ws *waiters) remove(w *waiter) {
	if w.prev == nil {
		ws.top = w.next
	} else {
		w.prev.next = w.next
	}
	if w.next != nil {
		w.next.prev = w.prev
	}
	w.next, w.prev, w.listed = nil, nil, false
	ws.n--
}

// recycle keeps a waiter that is off the list and whose channel is empty, unless there are enough.
func (ws *waiters) recycle(w *waiter) {
	if ws.spares >= keepSpare {
		return
	}
	ws.spares++
	w.next = ws.spare
	ws.spare = w
}

// wake chooses a waiter to be signalled after the lock is released, when there is something to get. One at a time: who
// wakes up takes a key and chooses the next one, so that a stream of adds does not wake more goroutines than it feeds.
// Called with the lock held.
func (q *Queue[K]) wake() *waiter {
	w := q.parked.top
	if w == nil || q.parked.waking > 0 || q.ready.n == 0 {
		return nil
	}
	q.parked.remove(w)
	q.parked.waking++
	return w
}

// wakeAll wakes every waiter. Called with the lock held, for shutdown.
func (q *Queue[K]) wakeAll() {
	for w := q.parked.top; w != nil; w = q.parked.top {
		q.parked.remove(w)
		q.parked.waking++
		w.signal()
	}
}

// await returns nil with the lock held once something is ready; on error it returns without the lock. A patient caller
// goes on waiting after shutdown while keys run, and has to be told by its ctx when they are done. Called with the lock
// held.
func (q *Queue[K]) await(ctx context.Context, patient bool) error {
	for q.ready.n == 0 {
		if q.down && (!patient || q.running == 0) {
			q.mu.Unlock()
			return ErrShutDown
		}
		w := q.parked.push()
		q.mu.Unlock()
		select {
		case <-w.ch:
			q.mu.Lock()
			q.parked.waking--
			q.parked.recycle(w)
		case <-ctx.Done():
			q.giveUp(w)
			return context.Cause(ctx)
		}
	}
	return nil
}

// giveUp ends a wait whose context ended. If the waiter was chosen at that very moment, another one is chosen for it.
func (q *Queue[K]) giveUp(w *waiter) {
	q.mu.Lock()
	if w.listed {
		q.parked.remove(w)
		q.parked.recycle(w)
		q.mu.Unlock()
		return
	}
	q.mu.Unlock()
	<-w.ch
	q.mu.Lock()
	q.parked.waking--
	q.parked.recycle(w)
	next := q.wake()
	q.mu.Unlock()
	next.signal()
}
