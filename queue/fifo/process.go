package fifo

import "context"

// Process waits for an item, takes the one whose key came first, and calls process for it with no
// lock held. If process fails, the item goes back to the end of the queue, unless a newer object of
// its key came meanwhile or the queue was closed. Process does not wait between attempts.
//
// If ctx is done, Process takes nothing, even if it would not have to wait. If process panics, the
// item goes back even if the queue is closed, and [FIFO.Synced] waits for it.
//
// Errors: ctx's, [ErrClosed], *[ProcessError].
func (f *FIFO[K, T]) Process(ctx context.Context, process func(Item[K, T]) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s, err := f.takeLocked(ctx)
	if err != nil {
		return err
	}
	returned := false
	defer func() {
		if !returned {
			f.putBack(s)
		}
	}()
	err = process(s.item)
	returned = true
	if err == nil {
		f.through(s)
		return nil
	}
	return &ProcessError[K]{Key: s.item.Key, Err: err, Dropped: !f.retry(s)}
}

func (f *FIFO[K, T]) takeLocked(ctx context.Context) (slot[K, T], error) {
	f.gate.Lock()
	defer f.gate.Unlock()
	return f.take(ctx)
}

// through records that an item has been processed.
func (f *FIFO[K, T]) through(s slot[K, T]) {
	f.gate.Lock()
	defer f.gate.Unlock()
	if s.unsynced {
		f.settle(1)
	}
}

// retry puts back an item that failed, unless the queue has a newer object of its key or is closed.
// It reports whether it did.
func (f *FIFO[K, T]) retry(s slot[K, T]) bool {
	f.gate.Lock()
	defer f.gate.Unlock()
	if s.unsynced {
		f.settle(1)
	}
	if f.gate.closed || f.line.find(s.item.Key) != nil {
		return false
	}
	f.line.add(s.item)
	f.gate.signal()
	return true
}

// putBack puts back an item that was not processed. If the queue has a newer object of its key,
// that one becomes unsynced in its place.
func (f *FIFO[K, T]) putBack(s slot[K, T]) {
	f.gate.Lock()
	defer f.gate.Unlock()
	newer := f.line.find(s.item.Key)
	switch {
	case newer == nil:
		f.line.add(s.item).unsynced = s.unsynced
		f.gate.signal()
	case s.unsynced && newer.unsynced: // both count: they are of two lists
		f.settle(1)
	case s.unsynced:
		newer.unsynced, newer.item.Initial = true, true
	}
}
