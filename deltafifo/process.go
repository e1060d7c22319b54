package deltafifo

import "context"

// Requeue gives back a key of the batch in flight that could not be processed. All deltas that the
// key has in the batch become pending again, before the deltas added since. If the key has pending
// deltas, it keeps its place among the pending keys; otherwise it goes to the end. Unlike adding
// the deltas again, this loses none and keeps their order. Deltas added while the key was in flight
// stay correct, because the queue took the deltas in flight into account.
//
// Requeue never waits, so up to twice the limit can be pending. Deltas given back count toward the
// limit until they are processed. A consumer that gives back the same keys for ever therefore stops
// its producers in the end, and never gets [ErrClosed] after Close. The batch itself does not
// change. O(deltas of the key).
//
// It returns an error if the key is not in flight.
func (f *DeltaFIFO[K, T]) Requeue(key K) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.inFlight == nil {
		return errNotInFlight
	}
	n, ok := numberOf(f.inFlight, key)
	if !ok || !giveBack(&f.core, n) {
		return errNotInFlight
	}
	return nil
}

// giveBack makes the deltas of key n of the batch in flight pending again, and returns false if
// that has been done before. It need not wake the consumer: whoever ends the batch in flight looks
// for pending deltas. Called with the lock held.
func giveBack[K comparable, T any](f *core[K, T], n int) bool {
	b := f.inFlight
	if !markReturned(&b.header, n) {
		return false
	}
	prepend(f.pending, keyAt(b, n), deltasAt(b, n))
	return true
}

// Process is [DeltaFIFO.Pop] for a consumer that handles one key at a time. It waits until there
// are pending deltas, and calls process for each key of the batch, in order and with no lock held.
// There is at least one delta; the slice belongs to the queue and is valid until process returns.
// When Process returns, the batch has been processed.
//
// A key for which process fails is given back as with [DeltaFIFO.Requeue]. It comes again in the
// next call, with the deltas added since. Process does not wait between attempts: the caller may
// wait before the next call, or make process return nil to give up on a key. Once the queue is
// closed, a failed key is dropped, so that a loop comes to its end.
//
// If ctx is done, even if Process would not have to wait, or if process panics, all keys for which
// process has not returned are given back, even if the queue is closed. [DeltaFIFO.Synced] then
// waits for these keys.
//
// Errors: ctx's; [ErrClosed]; a *[ProcessError], which may be joined with ctx's.
func (f *DeltaFIFO[K, T]) Process(ctx context.Context, process func(key K, deltas []Delta[T]) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	batch, err := f.Pop(ctx)
	if err != nil {
		return err
	}
	done := 0
	defer func() { leave(&f.core, done) }()
	var failed []Failure[K]
	eachKey(batch.buf, func(key K, deltas []Delta[T]) bool {
		if err = ctx.Err(); err != nil {
			return false
		}
		if err := process(key, deltas); err != nil {
			failed = append(failed, Failure[K]{Key: key, Err: err, Dropped: !retry(&f.core, done)})
		}
		done++
		return true
	})
	if failed == nil {
		return err
	}
	return joined(err, &ProcessError[K]{Failed: failed})
}

// retry gives back key n of the batch in flight, unless the queue is closed.
func retry[K comparable, T any](f *core[K, T], n int) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return false
	}
	giveBack(f, n)
	return true
}

// leave ends the batch in flight, and gives back its keys from number from on.
func leave[K comparable, T any](f *core[K, T], from int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	keys := countKeys(f.inFlight)
	for n := from; n < keys; n++ {
		giveBack(f, n)
	}
	if from < keys && f.inFlight.endsInitial {
		f.inFlight.endsInitial, f.pending.endsInitial = false, true
	}
	endBatch(f)
}
