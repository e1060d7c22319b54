package deltafifo

import (
	"context"
)

// Add adds an Added delta. resourceVersion is the version of the store after this delta; if it is
// empty, the version does not move. Like all producing methods, Add waits while the queue is at its
// limit, and returns ctx's error or [ErrClosed] if it added nothing.
//
//go:noinline
func (f *DeltaFIFO[K, T]) Add(ctx context.Context, key K, obj T, resourceVersion string) error {
	return produce(ctx, &f.core, key, &Delta[T]{Type: Added, Object: obj, ResourceVersion: resourceVersion})
}

// Update adds an Updated delta. See [DeltaFIFO.Add].
//
//go:noinline
func (f *DeltaFIFO[K, T]) Update(ctx context.Context, key K, obj T, resourceVersion string) error {
	return produce(ctx, &f.core, key, &Delta[T]{Type: Updated, Object: obj, ResourceVersion: resourceVersion})
}

// Delete adds a Deleted delta with the object's last state. If the key has no object in the queue
// or the known store, only resourceVersion counts. Of two deletions in a row the queue keeps one:
// the one whose final state is known. See [DeltaFIFO.Add].
//
//go:noinline
func (f *DeltaFIFO[K, T]) Delete(ctx context.Context, key K, obj T, resourceVersion string) error {
	return produce(ctx, &f.core, key, &Delta[T]{Type: Deleted, Object: obj, ResourceVersion: resourceVersion})
}

// addDeletion adds the Deleted delta d. Called with the lock held.
func addDeletion[K comparable, T any](f *core[K, T], key K, d *Delta[T]) {
	if e := findEntry(f.pending, key); e != nil && latest(e).Type == Deleted {
		if latest(e).FinalStateUnknown {
			*latest(e) = *d
		}
	} else if _, ok := newest(f, key); ok || awaits(f, key) {
		push(f.pending, key, d)
	}
}

// awaits is compare.Known.Awaits.
func awaits[K comparable, T any](f *core[K, T], key K) bool {
	return f.comparer != nil && f.comparer.Awaits(key)
}

// Bookmark says that all changes up to resourceVersion have been added. See [DeltaFIFO.Add].
//
//go:noinline
func (f *DeltaFIFO[K, T]) Bookmark(ctx context.Context, resourceVersion string) error {
	return produce(ctx, &f.core, *new(K), &Delta[T]{ResourceVersion: resourceVersion})
}

// newest returns the object of key in the newest state that came through the queue. Called with the lock held.
func newest[K comparable, T any](f *core[K, T], key K) (obj T, ok bool) {
	for _, b := range []*buffer[K, T]{f.pending, f.inFlight} {
		if b == nil {
			continue
		}
		if n, ok := numberOf(b, key); ok {
			return newestAt(b, n)
		}
	}
	if f.known == nil {
		return obj, false
	}
	if f.comparer != nil {
		return f.comparer.Brought(key)
	}
	return f.known.Get(key)
}

// produce waits for room, adds d and wakes the consumer.
func produce[K comparable, T any](ctx context.Context, f *core[K, T], key K, d *Delta[T]) error {
	if err := admit(ctx, &f.gate); err != nil {
		return err
	}
	defer f.mu.Unlock()
	addDelta(f, key, d)
	moved(&f.gate, d.ResourceVersion)
	return nil
}

// mostNow is the largest number of deltas that a producer processes: more would hold it up.
const mostNow = 64

// produceNow is produce for [Sink.ApplyNow].
func produceNow[K comparable, T any](ctx context.Context, f *core[K, T], key K, d *Delta[T], process func(Batch[K, T]) error) error {
	batch, ok, err := addAndTake(ctx, f, key, d)
	if err != nil || !ok {
		return err
	}
	defer handBack(f)
	return process(batch)
}

// addAndTake adds d. It returns everything pending if the consumer waits for that, and otherwise
// wakes the consumer.
func addAndTake[K comparable, T any](ctx context.Context, f *core[K, T], key K, d *Delta[T]) (b Batch[K, T], ok bool, err error) {
	if err := admit(ctx, &f.gate); err != nil {
		return b, false, err
	}
	defer f.mu.Unlock()
	addDelta(f, key, d)
	if f.inFlight != nil || f.pending.list != nil || f.pending.deltas > mostNow {
		moved(&f.gate, d.ResourceVersion)
		return b, false, nil
	}
	if moveTo(f.waiting, d.ResourceVersion); isEmpty(f.waiting) {
		return b, false, nil
	}
	f.lent = true
	return take(f), true, nil
}

// handBack ends the batch that addAndTake returned. It wakes the consumer for keys that were given
// back.
func handBack[K comparable, T any](f *core[K, T]) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lent = false
	endBatch(f)
	returned(&f.gate)
}

// addDelta adds d. Without a type, or if the queue does not keep the object, it is a bookmark. Called with the lock
// held.
func addDelta[K comparable, T any](f *core[K, T], key K, d *Delta[T]) {
	switch {
	case d.Type == 0:
	case d.Type == Deleted:
		addDeletion(f, key, d)
	case f.keeps == nil || f.keeps(d.Object):
		push(f.pending, key, d)
	}
}
