package deltafifo

import "context"

// Resync adds a Sync delta, with the known object, for every key that is neither pending nor in
// flight. The other keys are processed anyway. So a Sync delta is always the first of its key in a
// batch, and never brings back an older state. Without a [KnownObjects] store, Resync adds nothing.
// O(known keys), under the lock. See [DeltaFIFO.Add].
func (f *DeltaFIFO[K, T]) Resync(ctx context.Context) error {
	if err := f.admit(ctx); err != nil {
		return err
	}
	defer f.mu.Unlock()
	if f.known == nil {
		return nil
	}
	for key, obj := range f.known.All() {
		if !f.pending.has(key) && !f.inFlight.has(key) {
			f.pending.push(key, Delta[T]{Type: Sync, Object: obj})
		}
	}
	f.moved("")
	return nil
}
