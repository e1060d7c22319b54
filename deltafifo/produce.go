package deltafifo

import "context"

// Add adds an Added delta. resourceVersion is the version of the store after this delta; if it is
// empty, the version does not move. Like all producing methods, Add waits while the queue is at its
// limit, and returns ctx's error or [ErrClosed] if it added nothing.
func (f *DeltaFIFO[K, T]) Add(ctx context.Context, key K, obj T, resourceVersion string) error {
	return f.put(ctx, key, Delta[T]{Type: Added, Object: obj, ResourceVersion: resourceVersion})
}

// Update adds an Updated delta. See [DeltaFIFO.Add].
func (f *DeltaFIFO[K, T]) Update(ctx context.Context, key K, obj T, resourceVersion string) error {
	return f.put(ctx, key, Delta[T]{Type: Updated, Object: obj, ResourceVersion: resourceVersion})
}

// Delete adds a Deleted delta with the object's last state. If the key has no object in the queue or
// the known store, only resourceVersion counts. Of two deletions in a row the queue keeps one: the
// one whose final state is known. See [DeltaFIFO.Add].
func (f *DeltaFIFO[K, T]) Delete(ctx context.Context, key K, obj T, resourceVersion string) error {
	if err := f.admit(ctx); err != nil {
		return err
	}
	defer f.mu.Unlock()
	f.delete(key, Delta[T]{Type: Deleted, Object: obj, ResourceVersion: resourceVersion})
	f.moved(resourceVersion)
	return nil
}

// delete adds the Deleted delta d. Called with the lock held.
func (f *DeltaFIFO[K, T]) delete(key K, d Delta[T]) {
	if e := f.pending.find(key); e != nil && e.last().Type == Deleted {
		if e.last().FinalStateUnknown {
			*e.last() = d
		}
	} else if _, ok := f.newest(key); ok {
		f.pending.push(key, d)
	}
}

// Bookmark says that all changes up to resourceVersion have been added. See [DeltaFIFO.Add].
func (f *DeltaFIFO[K, T]) Bookmark(ctx context.Context, resourceVersion string) error {
	if err := f.admit(ctx); err != nil {
		return err
	}
	defer f.mu.Unlock()
	f.moved(resourceVersion)
	return nil
}

// newest returns the object of key in its newest known state. Called with the lock held.
func (f *DeltaFIFO[K, T]) newest(key K) (obj T, ok bool) {
	for _, b := range []*buffer[K, T]{f.pending, f.inFlight} {
		if b == nil {
			continue
		}
		if n, ok := b.numberOf(key); ok {
			last := b.last(n)
			return last.Object, last.Type != Deleted
		}
	}
	if f.known == nil {
		return obj, false
	}
	return f.known.Get(key)
}

func (f *DeltaFIFO[K, T]) put(ctx context.Context, key K, d Delta[T]) error {
	if err := f.admit(ctx); err != nil {
		return err
	}
	defer f.mu.Unlock()
	f.pending.push(key, d)
	f.moved(d.ResourceVersion)
	return nil
}

// moved records the version and wakes the consumer. Called with the lock held.
func (f *DeltaFIFO[K, T]) moved(rv string) {
	f.pending.moveTo(rv)
	if !f.pending.empty() {
		f.signalReady()
	}
}
