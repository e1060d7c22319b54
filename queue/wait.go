package queue

import "context"

// waiter is a goroutine that waits for a key. Guarded by Queue.mu but for the channel.
type waiter struct {
	links[waiter]               // on the stack, or among the spare ones
	ch            chan struct{} // has one token from the moment the waiter is chosen until it has seen it
	listed        bool
}

// signal wakes a waiter that was removed from the stack. It does nothing for nil. Called without
// the lock, so that the woken goroutine need not wait for it.
func (w *waiter) signal() {
	if w != nil {
		w.ch <- struct{}{}
	}
}

// keepSpare is the number of waiters kept for reuse.
const keepSpare = 64

// waiters is the stack of waiting goroutines. The last one to come is woken first, because its
// memory is most likely still in the processor's cache.
type waiters struct {
	stack  list[waiter, *waiter] // the tail is the top
	spare  *waiter               // for reuse, linked by next
	spares int32                 // their number, at most keepSpare
	waking int32                 // waiters chosen that have not run yet
	n      int                   // waiters on the stack
}

func (ws *waiters) push() *waiter {
	w := ws.spare
	if w == nil {
		w = &waiter{ch: make(chan struct{}, 1)}
	} else {
		ws.spare = w.next
		ws.spares--
	}
	w.listed = true
	ws.stack.push(w)
	ws.n++
	return w
}

func (ws *waiters) remove(w *waiter) {
	w.listed = false
	ws.stack.remove(w)
	ws.n--
}

// recycle keeps a waiter for reuse, unless there are enough. The waiter must be off the stack, with
// an empty channel.
func (ws *waiters) recycle(w *waiter) {
	if ws.spares >= keepSpare {
		return
	}
	ws.spares++
	w.next = ws.spare
	ws.spare = w
}

// wake chooses a waiter if a key is ready. The caller must signal the waiter after it releases the
// lock. Only one waiter is chosen at a time: it takes a key and then chooses the next one, so that
// a stream of adds wakes no more goroutines than there are keys. Called with the lock held.
func wake[K comparable](q *Queue[K]) *waiter {
	w := q.parked.stack.tail
	if w == nil || q.parked.waking > 0 || q.ready.n == 0 {
		return nil
	}
	q.parked.remove(w)
	q.parked.waking++
	return w
}

// wakeAll wakes every waiter. Called with the lock held, for shutdown.
func wakeAll[K comparable](q *Queue[K]) {
	for w := q.parked.stack.tail; w != nil; w = q.parked.stack.tail {
		q.parked.remove(w)
		q.parked.waking++
		w.signal()
	}
}

// await waits until a key is ready. It returns nil with the lock held, or an error with the lock
// released. After shutdown, a patient caller still waits while keys run; its ctx must end when they
// are done. Called with the lock held.
func await[K comparable](ctx context.Context, q *Queue[K], patient bool) error {
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
			giveUp(q, w)
			return context.Cause(ctx)
		}
	}
	return nil
}

// giveUp ends a wait whose context ended. If the waiter was chosen at the same moment, giveUp
// chooses another one.
func giveUp[K comparable](q *Queue[K], w *waiter) {
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
	next := wake(q)
	q.mu.Unlock()
	next.signal()
}
