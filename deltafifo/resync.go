package deltafifo

import "context"

// Resync adds a Sync delta, with the known object, for every key that is neither pending nor in
// flight. The other keys are processed anyway. So a Sync delta is always the first of its key in a
// batch, and never brings back an older state. Without a [KnownObjects] store, Resync adds nothing.
// O(known keys), under the lock. See [DeltaFIFO.Add].
func (f *DeltaFIFO[K, T]) Resync(ctx context.Context) error {
	if err := admit(ctx, &f.gate); err != nil {
		return err
	}
	defer f.mu.Unlock()
	eachUnlisted(&f.core, nil, func(key K, obj T) {
		push(f.pending, key, &Delta[T]{Type: Sync, Object: obj})
	})
	moved(&f.gate, "")
	return nil
}
