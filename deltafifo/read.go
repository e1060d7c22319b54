package deltafifo

import "iter"

// Get returns a copy of the pending deltas of key, oldest first, and nil if there are none. It does
// not return the deltas of a batch that the consumer has taken. The objects are shared: treat them
// as read-only. O(deltas of the key), under the lock.
func (f *DeltaFIFO[K, T]) Get(key K) []Delta[T] {
	f.mu.Lock()
	defer f.mu.Unlock()
	n, ok := numberOf(f.pending, key)
	if !ok {
		return nil
	}
	return copyDeltas(deltasAt(f.pending, n))
}

// All iterates over the pending keys with their deltas, in the order in which the consumer will get
// them. Each loop makes a copy when it begins, and holds no lock while it goes on. So the loop body
// may use the queue, and sees the state of one moment. All is for a debug page or a log: it holds
// the lock for O(pending deltas), and producers and consumer wait meanwhile.
func (f *DeltaFIFO[K, T]) All() iter.Seq2[K, []Delta[T]] {
	return func(yield func(K, []Delta[T]) bool) {
		for _, e := range copyOf(&f.core) {
			if !yield(e.key, e.deltas) {
				return
			}
		}
	}
}

// copyOf returns copies of the pending entries, including the entries of an untouched list.
func copyOf[K comparable, T any](f *core[K, T]) []entry[K, T] {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := make([]entry[K, T], 0, countKeys(f.pending))
	eachKey(f.pending, func(key K, deltas []Delta[T]) bool {
		all = append(all, entry[K, T]{key: key, deltas: copyDeltas(deltas)})
		return true
	})
	return all
}
