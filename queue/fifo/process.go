package fifo

import "context"

// Process waits until there is an item, takes the one whose key came first, and calls
// process for it with no lock held. If that fails, the item is put back at the end,
// unless a newer object of its key came meanwhile or the queue was closed. Process itself
// does not space out attempts.
//
// If ctx is done, unlike with Pop also when nothing has to be waited for, nothing is
// taken. If process panics, the item is put back even if the queue is closed, and
// [FIFO.Synced] waits for it.
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
	f.door.Lock()
	defer f.door.Unlock()
	return f.take(ctx)
}

// through says that an item has been processed.
func (f *FIFO[K, T]) through(s slot[K, T]) {
	f.door.Lock()
	defer f.door.Unlock()
	if s.owed {
		f.settle(1)
	}
}

// retry puts back an item that failed and reports whether it did.
func (f *FIFO[K, T]) retry(s slot[K, T]) bool {
	f.door.Lock()
	defer f.door.Unlock()
	if s.owed {
		f.settle(1)
	}
	if f.door.closed || f.line.find(s.item.Key) != nil {
		return false
	}
	f.line.add(s.item)
	f.door.signal()
	return true
}

// putBack puts back an item that was not processed, or leaves what it owes to the newer
// one of its key.
func (f *FIFO[K, T]) putBack(s slot[K, T]) {
	f.door.Lock()
	defer f.door.Unlock()
	newer := f.line.find(s.item.Key)
	switch {
	case newer == nil:
		f.line.add(s.item).owed = s.owed
		f.door.signal()
	case s.owed && newer.owed: // of two lists
		f.settle(1)
	case s.owed:
		newer.owed, newer.item.Initial = true, true
	}
}
