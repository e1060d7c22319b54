package deltafifo

import (
	"context"
	"errors"
)

// Requeue gives back a key of the batch in flight that could not be processed: all its
// deltas of the batch become pending again, before those that came meanwhile. The key
// keeps its place among the pending ones, or gets the last one. Nothing is lost and
// nothing changes places, as it would if the consumer added the deltas again; what was
// put for the key while it was in flight stays right, since it was judged against them.
//
// It never waits, so that up to twice the limit can be pending. What is given back counts
// for the limit until it is processed: a consumer that gives back for ever what it cannot
// process stops its producers in the end, and when the queue is closed it never sees
// [ErrClosed]. The batch itself stays as it is. O(deltas of the key).
//
// It returns [ErrNotInFlight].
func (f *DeltaFIFO[K, T]) Requeue(key K) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.inFlight == nil {
		return ErrNotInFlight
	}
	n, ok := f.inFlight.numberOf(key)
	if !ok || !f.giveBack(n) {
		return ErrNotInFlight
	}
	return nil
}

// giveBack puts the deltas of a key in flight back and returns true, once. There is nobody
// to be woken: while something is in flight, the consumer does not wait. Called with the
// lock held.
func (f *DeltaFIFO[K, T]) giveBack(n int) bool {
	b := f.inFlight
	if !b.giveBack(n) {
		return false
	}
	f.pending.prepend(b.key(n), b.deltasOf(n))
	return true
}

// Process is [DeltaFIFO.Pop] for a consumer that takes one key at a time: it waits until
// something is pending and calls process for each key of the batch, in order and with no
// lock held. The deltas, never none, belong to the queue and may be used until process
// returns. When Process returns, the batch has been processed.
//
// A key for which process fails is given back as with [DeltaFIFO.Requeue], and comes
// again, with what was put since, in the next call. Process itself does not space out
// attempts: the caller may wait before it calls again, or give up on a key by returning
// nil for it. Once the queue is closed a failed key is dropped instead, so that a loop
// comes to its end.
//
// If ctx is done, unlike with Pop also when nothing has to be waited for, or process
// panics, then all keys that it has not returned for are given back, closed or not, and
// [DeltaFIFO.Synced] waits for them.
//
// Errors: ctx's, [ErrClosed], and a *[ProcessError], the first and the last also joined.
func (f *DeltaFIFO[K, T]) Process(ctx context.Context, process func(key K, deltas []Delta[T]) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	batch, err := f.Pop(ctx)
	if err != nil {
		return err
	}
	done := 0
	defer func() { f.leave(done) }()
	var failed []Failure[K]
	for key, deltas := range batch.All() {
		if err = ctx.Err(); err != nil {
			break
		}
		if err := process(key, deltas); err != nil {
			failed = append(failed, Failure[K]{Key: key, Err: err, Dropped: !f.retry(done)})
		}
		done++
	}
	switch {
	case failed == nil:
		return err
	case err == nil:
		return &ProcessError[K]{Failed: failed}
	}
	return errors.Join(err, &ProcessError[K]{Failed: failed})
}

// retry gives back key n of the batch in flight, unless the queue is closed.
func (f *DeltaFIFO[K, T]) retry(n int) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return false
	}
	f.giveBack(n)
	return true
}

// leave ends the batch in flight, of which the keys from the given one on have not
// been processed.
func (f *DeltaFIFO[K, T]) leave(from int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	keys := f.inFlight.keys()
	for n := from; n < keys; n++ {
		f.giveBack(n)
	}
	if from < keys && f.inFlight.endsInitial {
		f.inFlight.endsInitial, f.pending.endsInitial = false, true
	}
	f.processed()
}
