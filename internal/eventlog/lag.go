package eventlog

// Lagging returns nil if no cursor has a lag of more than limit events, lossy cursors aside.
// Otherwise it returns a channel that is closed when the caller should look again. Only the writer
// may call it, or a goroutine that will write if the result is nil.
//
//go:noinline
func Lagging[E any](l *Log[E], limit uint64) <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.cursors {
		// Ask only cursors that lag, so that most moves have no wait to end.
		if c.lossy || Lag(c) <= limit || lagAt(c, c.read.ask()) <= limit {
			continue
		}
		return l.caughtUp.Wait()
	}
	return nil
}

// Cut closes c if its lag is more than limit events, so that it keeps no more events in memory. It
// returns a copy of the events that c's reader is not done with, the first of which is at position
// from, and true. Before the reader finds the cursor closed, it may be done with some of them:
// those before the cursor's Position at that time. Only the writer may call Cut. O(events returned).
//
//go:noinline
func Cut[E any](l *Log[E], c *Cursor[E], limit uint64) (rest []E, from uint64, cut bool) {
	Publish(l)
	l.mu.Lock() // so that no event is cleared during the copy
	defer l.mu.Unlock()
	// Load the block before the position: the reader moves its position before its block, so
	// that this block begins at or before the position.
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
		return nil, 0, false // it was closed in the meantime
	}
	drop(l, c)
	return rest, from, true
}
