package queue

import (
	"context"

	"github.com/kinform/kinform/internal/note"
)

// Item is a key that was handed out. Give it back with Done. The zero value is no item.
type Item[K comparable] struct {
	// Key is the key.
	Key K
	// Priority is the priority with which the key was queued. Pass it on when you add the key
	// again.
	Priority int

	q   *Queue[K]
	e   *entry[K]
	gen uint32
}

// Get waits for a key and hands it out. No other caller gets that key until [Item.Done] (or
// [Queue.Done]). Get returns [ErrShutDown] if the queue is shut down and no key is queued, and the
// context's cause if ctx ends first or has ended before the call. If a key is queued, Get is O(1),
// with priorities O(priorities in use).
func (q *Queue[K]) Get(ctx context.Context) (Item[K], error) { return get(ctx, q, false, nil) }

// get is Get, and sets notes to those of the hand-out, unless notes is nil. After shutdown, a
// patient caller also waits while keys run, because they can come back.
func get[K comparable](ctx context.Context, q *Queue[K], patient bool, notes *note.Notes) (Item[K], error) {
	if ctx.Err() != nil {
		return Item[K]{}, context.Cause(ctx)
	}
	q.mu.Lock()
	if q.ready.n == 0 {
		if err := await(ctx, q, patient); err != nil {
			return Item[K]{}, err
		}
	}
	it := take(q, notes)
	w := wake(q)
	q.mu.Unlock()
	w.signal()
	return it, nil
}

// GetBatch waits for a key like Get, then takes up to n queued keys without waiting again, and
// appends the items to dst. Give back each of them with [Item.Done]. An n below one means one.
// Errors: the errors of Get.
func (q *Queue[K]) GetBatch(ctx context.Context, dst []Item[K], n int) ([]Item[K], error) {
	if ctx.Err() != nil {
		return dst, context.Cause(ctx)
	}
	q.mu.Lock()
	if q.ready.n == 0 {
		if err := await(ctx, q, false); err != nil {
			return dst, err
		}
	}
	for n = min(max(n, 1), q.ready.n); n > 0; n-- {
		dst = append(dst, take(q, nil))
	}
	w := wake(q)
	q.mu.Unlock()
	w.signal()
	return dst, nil
}

// take hands out the next entry; there must be one. Its notes go with it. Called with the lock held.
func take[K comparable](q *Queue[K], notes *note.Notes) Item[K] {
	now := int64(0) // unknown
	if q.timing != nil {
		now = q.now()
	}
	e := q.ready.pop(pick(q, now))
	e.state = running
	e.gen++
	if notes != nil {
		*notes = e.notes
	}
	e.notes = note.Notes{}
	q.running++
	if q.timing != nil {
		q.timing.got(e, now)
	}
	return Item[K]{Key: e.key, Priority: int(e.prio), q: q, e: e, gen: e.gen}
}
