package eventlog

import "context"

// WaitLag waits until no cursor has more than limit published events before it, except
// cuttable ones. An event counts until its reader is done with it. It returns ctx's error if
// it would have to wait longer.
func (l *Log[E]) WaitLag(ctx context.Context, limit uint64) error {
	for {
		moved := l.Lagging(limit)
		if moved == nil {
			return nil
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Lagging returns nil if no cursor has more than limit published events before it, except
// cuttable ones, and otherwise a channel that is closed when there is reason to look again. It
// is the writer's.
func (l *Log[E]) Lagging(limit uint64) <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.cursors {
		// Asked only where it lags, so that most moves answer nobody.
		if c.cuttable || c.Lag() <= limit || c.lagAt(c.read.ask()) <= limit {
			continue
		}
		if l.caughtUp == nil {
			l.caughtUp = make(chan struct{})
		}
		return l.caughtUp
	}
	return nil
}

// moved tells who waits for it that a cursor moved or left. Called with mu held.
func (l *Log[E]) moved() {
	if l.caughtUp != nil {
		close(l.caughtUp)
		l.caughtUp = nil
	}
}

// Cut closes c if it has more than limit published events before it, so that it pins
// nothing more, and returns a copy of them and true. The first of them is the one at
// position from; c's reader may be done with some more by the time it finds the cursor
// closed, up to c.Position() then. Like Append, Cut is the writer's. O(events returned).
func (l *Log[E]) Cut(c *Cursor[E], limit uint64) (rest []E, from uint64, cut bool) {
	l.Publish()
	l.mu.Lock() // nothing is swept while it is copied
	defer l.mu.Unlock()
	// The block before the position: the reader moves its position first, so that the block
	// begins at or before it.
	b := c.block.Load()
	from = c.read.at()
	position := l.position.Load()
	if b == nil || position-from <= limit {
		return nil, 0, false
	}
	rest = make([]E, 0, position-from)
	for at := from; b != nil; b = b.next.Load() {
		if end := b.start + uint64(b.published.Load()); at < end {
			rest = append(rest, b.events[at-b.start:end-b.start]...)
			at = end
		}
	}
	if c.block.Swap(nil) == nil {
		return nil, 0, false // somebody else closed it in the meantime
	}
	l.drop(c)
	return rest, from, true
}
