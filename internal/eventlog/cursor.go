package eventlog

import (
	"slices"
	"sync/atomic"
)

// Cursor is one reader's place in a log. It must be closed, or the log keeps all that
// comes after it.
type Cursor[E any] struct {
	// Set when it is made and never changed.
	log      *Log[E]
	cuttable bool // is not waited for

	// Owned by the reader.
	from  int // first event of block that Next has not returned
	taken int // events that the last Next returned

	block  atomic.Pointer[block[E]] // moved by the reader; nil once the cursor is closed
	read   place                    // events that are done with; asked with the log's mu held
	last   atomic.Uint64            // position to end at, and one more; 0 for none
	woken  atomic.Bool              // Wake was called, and Next has not returned for it
	parked atomic.Bool              // the reader waits for wake, or is about to
	wake   chan struct{}

	left bool // guarded by the log's mu: the cursor is closed, and its reader has no run
}

// Next waits for published events and returns a run of them. The run is shared with other
// cursors, so it must not be written to. It is done with, and may not be read any more, at
// the next call, or at Leave; closing the cursor leaves it readable. Next returns [ErrClosed], or nothing
// if there are no events but somebody called Wake since it last returned nothing.
func (c *Cursor[E]) Next() ([]E, error) {
	for {
		run, err := c.TryNext()
		if run != nil || err != nil {
			return run, err
		}
		if c.woken.Load() {
			c.woken.Store(false)
			return nil, nil
		}
		c.park()
	}
}

// TryNext is Next without the wait: it returns nil if there is nothing yet.
func (c *Cursor[E]) TryNext() ([]E, error) {
	c.done()
	b := c.at()
	if b == nil {
		c.Leave()
		return nil, ErrClosed
	}
	return c.take(b), nil
}

// Wake makes a Next that waits, or else the next one that would, return without events: its
// caller has something else to look at, such as the end of a context. It never blocks.
func (c *Cursor[E]) Wake() {
	c.woken.Store(true) // before it looks who waits
	c.unpark()
}

// at returns the cursor's block, nil if it is closed or is at its end.
func (c *Cursor[E]) at() *block[E] {
	if c.ended() {
		c.Close()
	}
	return c.block.Load()
}

// ended reports whether the cursor was told to finish and has.
func (c *Cursor[E]) ended() bool {
	last := c.last.Load()
	return last != 0 && c.read.at() >= last-1
}

// Finish makes the cursor end where the log is now: Next returns what is published, and
// then ErrClosed. A Next that runs meanwhile may return some events more.
func (c *Cursor[E]) Finish() {
	c.last.Store(c.log.position.Load() + 1)
	c.log.mu.Lock()
	defer c.log.mu.Unlock()
	c.log.moved() // what comes after it does not count as lag
	c.unpark()
}

// take returns the published events from the cursor on, nil if there are none or if the
// cursor was closed. b is the cursor's block. Whoever closes a cursor, as Cut does, may
// publish more to the same block at once: that is no longer the cursor's.
func (c *Cursor[E]) take(b *block[E]) []E {
	for {
		n := int(b.published.Load())
		if c.block.Load() != b {
			return nil
		}
		if c.from < n {
			if last := c.last.Load(); last != 0 {
				if n = min(n, c.from+int(int64(last-1-c.read.at()))); n <= c.from {
					return nil // told to finish just now
				}
			}
			run := b.events[c.from:n:n]
			c.from, c.taken = n, len(run)
			return run
		}
		next := b.next.Load()
		if n < len(b.events) || next == nil || !c.block.CompareAndSwap(b, next) {
			return nil
		}
		b, c.from = next, 0
	}
}

// park waits until there may be something to take, or another reason to look again. The
// order matters: parked is set before the last look at what Publish, Close and Wake change,
// and they look at parked after they have changed it. A token in wake may be an old one,
// from a Publish that was seen here before the token was; it costs one more look. It waits
// for one channel and nothing else: a select would lock each for every wait, and needs so
// much stack that an idle reader took twice the memory.
func (c *Cursor[E]) park() {
	c.parked.Store(true)
	if !c.awake() {
		c.log.idle()
		<-c.wake
		c.log.busy.Add(1)
	}
	c.parked.Store(false)
}

// awake reports whether Next need not wait.
func (c *Cursor[E]) awake() bool {
	b := c.block.Load()
	return b == nil || c.woken.Load() || c.ended() || c.from < int(b.published.Load()) || b.next.Load() != nil
}

// unpark wakes the reader if it waits. An old token in wake serves as well as a new one.
func (c *Cursor[E]) unpark() {
	if c.parked.Load() && c.parked.CompareAndSwap(true, false) {
		select {
		case c.wake <- struct{}{}:
		default:
		}
	}
}

// done counts the last run as read and tells a writer that waits for that.
func (c *Cursor[E]) done() {
	if c.taken == 0 {
		return
	}
	awaited := c.read.advance(c.taken)
	c.taken = 0
	if awaited {
		c.log.mu.Lock()
		defer c.log.mu.Unlock()
		c.read.answered()
		c.log.moved()
	}
}

// Position returns the log's position up to which the reader is done, the last run included. Only the
// reader may call it.
func (c *Cursor[E]) Position() uint64 { return c.read.at() + uint64(c.taken) }

// Lag returns the number of events that are published and that the cursor is not done
// with, up to where it is to finish.
func (c *Cursor[E]) Lag() uint64 { return c.lagAt(c.read.at()) }

// lagAt is Lag at a position that the cursor had before the call: the log's is not behind it.
func (c *Cursor[E]) lagAt(read uint64) uint64 {
	end := c.log.position.Load()
	if last := c.last.Load(); last != 0 {
		end = min(end, last-1)
	}
	return max(end, read) - read
}

// Close ends the cursor: Next returns ErrClosed from now on, and nobody waits for the
// cursor any more. It keeps no events, except for the reader's last run: until Leave, or
// until Next has returned ErrClosed, the log keeps those that share a block with it, which
// are 256 at most. Closing again does nothing.
func (c *Cursor[E]) Close() {
	if c.block.Swap(nil) == nil {
		return
	}
	c.log.mu.Lock()
	defer c.log.mu.Unlock()
	c.log.drop(c)
}

// drop takes off a cursor that was just closed. Called with mu held.
func (l *Log[E]) drop(c *Cursor[E]) {
	l.cursors = slices.DeleteFunc(l.cursors, func(other *Cursor[E]) bool { return other == c })
	if !c.left {
		l.leaving = append(l.leaving, c)
	}
	l.moved()
	c.unpark()
}

// Leave closes the cursor for its reader, who is done with the last run. Only the reader may
// call it, or whoever knows that there is none any more. Leaving again does nothing.
func (c *Cursor[E]) Leave() {
	c.done()
	c.Close()
	l := c.log
	l.mu.Lock()
	defer l.mu.Unlock()
	if c.left {
		return
	}
	c.left = true
	l.leaving = slices.DeleteFunc(l.leaving, func(other *Cursor[E]) bool { return other == c })
	l.busy.Add(-1)
	l.sweep()
}
