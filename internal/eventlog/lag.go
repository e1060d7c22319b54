package eventlog

import (
	"context"
	"slices"
)

// WaitLag waits until no cursor has more than limit published events before it, loose
// ones aside. An event counts until its reader is done with it. It returns ctx's error if
// it would have to wait longer.
func (l *Log[E]) WaitLag(ctx context.Context, limit uint64) error {
	for {
		moved := l.lagging(limit)
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

// Lags reports whether WaitLag would wait.
func (l *Log[E]) Lags(limit uint64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lags(limit)
}

func (l *Log[E]) lags(limit uint64) bool {
	return slices.ContainsFunc(l.cursors, func(c *Cursor[E]) bool { return !c.loose && c.Lag() > limit })
}

// lagging returns nil if no cursor lags, and otherwise a channel that is closed when one
// moves.
func (l *Log[E]) lagging(limit uint64) <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.lags(limit) {
		return nil
	}
	if l.caughtUp == nil {
		l.caughtUp = make(chan struct{})
		l.awaited.Store(true)
	}
	moved := l.caughtUp
	// The second look. A cursor that still lags by it will see awaited when it moves. One
	// that moved between the looks may not have seen it, and may have been the last; then
	// this is the place to tell. With an old channel, left by a wait that was given up,
	// awaited has been set all along.
	if !l.lags(limit) {
		l.moved()
	}
	return moved
}

// moved tells who waits for it that a cursor moved or left. Called with mu held.
func (l *Log[E]) moved() {
	if l.caughtUp != nil {
		close(l.caughtUp)
		l.caughtUp = nil
		l.awaited.Store(false)
	}
}

// Cut closes c if it has more than limit published events before it, so that it pins
// nothing more, and returns a copy of them and true. The first of them is the one at
// position from; c's reader may be done with some more by the time it finds the cursor
// closed, up to c.Position() then. Like Append, Cut is the writer's. O(events returned).
func (l *Log[E]) Cut(c *Cursor[E], limit uint64) (rest []E, from uint64, cut bool) {
	l.Publish()
	// The block before the position: the reader moves its position first, so that the block
	// begins at or before it.
	b := c.block.Load()
	from = c.read.Load()
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
	if !c.close() {
		return nil, 0, false // somebody else did, in the meantime
	}
	return rest, from, true
}
