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

// Delete adds a Deleted delta with the object's last state. If the key has no object in the queue
// or the known store, only resourceVersion counts. Of two deletions in a row the queue keeps one:
// the one whose final state is known. See [DeltaFIFO.Add].
func (f *DeltaFIFO[K, T]) Delete(ctx context.Context, key K, obj T, resourceVersion string) error {
	return f.put(ctx, key, Delta[T]{Type: Deleted, Object: obj, ResourceVersion: resourceVersion})
}

// delete adds the Deleted delta d. Called with the lock held.
func (f *DeltaFIFO[K, T]) delete(key K, d Delta[T]) {
	if e := f.pending.find(key); e != nil && e.last().Type == Deleted {
		if e.last().FinalStateUnknown {
			*e.last() = d
		}
	} else if _, ok := f.newest(key); ok || f.awaits(key) {
		f.pending.push(key, d)
	}
}

// awaits is Comparer.Awaits.
func (f *DeltaFIFO[K, T]) awaits(key K) bool {
	known, ok := f.known.(Comparer[K, T])
	return ok && known.Awaits(key)
}

// Bookmark says that all changes up to resourceVersion have been added. See [DeltaFIFO.Add].
func (f *DeltaFIFO[K, T]) Bookmark(ctx context.Context, resourceVersion string) error {
	return f.put(ctx, *new(K), Delta[T]{ResourceVersion: resourceVersion})
}

// newest returns the object of key in the newest state that came through the queue. Called with the lock held.
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
	if known, ok := f.known.(Comparer[K, T]); ok {
		return known.Brought(key)
	}
	return f.known.Get(key)
}

// put waits for room, adds d and wakes the consumer.
func (f *DeltaFIFO[K, T]) put(ctx context.Context, key K, d Delta[T]) error {
	if err := f.admit(ctx); err != nil {
		return err
	}
	defer f.mu.Unlock()
	f.add(key, d)
	f.moved(d.ResourceVersion)
	return nil
}

// mostNow is the largest number of deltas that a producer processes: more would hold it up.
const mostNow = 64

// putNow is put for [Sink.ApplyNow].
func (f *DeltaFIFO[K, T]) putNow(ctx context.Context, key K, d Delta[T], process func(Batch[K, T]) error) error {
	batch, ok, err := f.putAndTake(ctx, key, d)
	if err != nil || !ok {
		return err
	}
	defer f.handBack()
	return process(batch)
}

// putAndTake adds d. It returns everything pending if the consumer waits for that, and otherwise
// wakes the consumer.
func (f *DeltaFIFO[K, T]) putAndTake(ctx context.Context, key K, d Delta[T]) (b Batch[K, T], ok bool, err error) {
	if err := f.admit(ctx); err != nil {
		return b, false, err
	}
	defer f.mu.Unlock()
	f.add(key, d)
	if f.inFlight != nil || f.pending.list != nil || f.pending.deltas > mostNow {
		f.moved(d.ResourceVersion)
		return b, false, nil
	}
	if f.pending.moveTo(d.ResourceVersion); f.pending.empty() {
		return b, false, nil
	}
	f.lent = true
	return f.take(), true, nil
}

// handBack ends the batch that putAndTake returned. It wakes the consumer for keys that were given
// back.
func (f *DeltaFIFO[K, T]) handBack() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lent = false
	f.processed()
	if !f.closed && !f.pending.empty() {
		f.signalReady()
	}
	f.back.Send()
}

// add adds d. Without a type, or if the queue does not keep the object, it is a bookmark. Called with the lock
// held.
func (f *DeltaFIFO[K, T]) add(key K, d Delta[T]) {
	switch {
	case d.Type == 0:
	case d.Type == Deleted:
		f.delete(key, d)
	case f.keeps == nil || f.keeps(d.Object):
		f.pending.push(key, d)
	}
}

// moved records the version and wakes the consumer. Called with the lock held.
func (f *DeltaFIFO[K, T]) moved(rv string) {
	f.pending.moveTo(rv)
	if !f.pending.empty() {
		f.signalReady()
	}
}
