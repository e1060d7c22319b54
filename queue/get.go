package queue

import "context"

// Item is a key that was handed out, with what is needed to give it back. The zero value is no item.
type Item[K comparable] struct {
	// Key is the key.
	Key K
	// Priority is the one that the key was queued with; pass it on when adding the key again.
	Priority int

	q   *Queue[K]
	e   *entry[K]
	gen uint32
}

// Get waits for a key and hands it out; until [Item.Done] (or [Queue.Done]) nobody else gets that key. It returns
// [ErrShutDown] when the queue is shut down and nothing is queued, and the context's cause when ctx ends first or had
// ended before. When a key is there it is O(1), with priorities O(priorities in use).
func (q *Queue[K]) Get(ctx context.Context) (Item[K], error) { return q.get(ctx, false) }

// get is Get; for a patient caller the queue is not at its end while keys run, since they can come back.
func (q *Queue[K]) get(ctx context.Context, patient bool) (Item[K], error) {
	if ctx.Err() != nil {
		return Item[K]{}, context.Cause(ctx)
	}
	q.mu.Lock()
	if q.ready.n == 0 {
		if err := q.await(ctx, patient); err != nil {
			return Item[K]{}, err
		}
	}
	it := q.take()
	w := q.wake()
	q.mu.Unlock()
	w.signal()
	return it, nil
}

// GetBatch waits for a key like Get, then takes what is queued up to n keys without further waiting, and appends the
// items to dst. Each is to be given back with [Item.Done]. An n below one means one. The errors are those of Get.
func (q *Queue[K]) GetBatch(ctx context.Context, dst []Item[K], n int) ([]Item[K], error) {
	if ctx.Err() != nil {
		return dst, context.Cause(ctx)
	}
	q.mu.Lock()
	if q.ready.n == 0 {
		if err := q.await(ctx, false); err != nil {
			return dst, err
		}
	}
	for n = min(max(n, 1), q.ready.n); n > 0; n-- {
		dst = append(dst, q.take())
	}
	w := q.wake()
	q.mu.Unlock()
	w.signal()
	return dst, nil
}

// take hands out the next entry; there must be one. Called with the lock held.
func (q *Queue[K]) take() Item[K] {
	e := q.ready.pop(q.pick())
	e.state = running
	e.gen++
	q.running++
	if q.timing != nil {
		q.timing.got(e, q.now())
	}
	return Item[K]{Key: e.key, Priority: int(e.prio), q: q, e: e, gen: e.gen}
}
