package deltafifo

import "context"

// Resync puts a Sync delta with the known object of every key that has nothing pending
// and is not in flight; the others are processed anyway. So a Sync delta is always the
// first of its key, and never brings back an older state. Nothing is put without a
// [Known] store. O(known keys), under the lock. See [DeltaFIFO.Add].
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
