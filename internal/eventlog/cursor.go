package eventlog

import (
	"sync/atomic"

	"github.com/kinform/kinform/internal/nocmp"
)

// Cursor is one reader's place in a log. It must be closed, or the log keeps all later events.
type Cursor[E any] struct {
	_ nocmp.Type

	// Set when it is made and never changed.
	log   *Log[E]
	lossy bool // Lagging leaves it out

	// Owned by the reader.
	from  int // first event of block that Next has not returned
	taken int // events that the last Next returned

	block  atomic.Pointer[block[E]] // moved by the reader; nil once the cursor is closed
	read   place                    // events that the reader is done with; ask is called with the log's mu held
	last   atomic.Uint64            // position to end at, plus 1; 0 for none
	woken  atomic.Bool              // Wake was called, and Next has not returned for it
	parked atomic.Bool              // the reader waits for wake, or is about to
	wake   chan struct{}

	left bool // guarded by the log's mu: the cursor is closed, and its reader has no run
}

// Next waits for published events and returns a run of them. The run is shared with other cursors,
// so it must not be written to. It is valid until the next call of Next or TryNext, or until Leave;
// Close does not invalidate it. Next returns [ErrClosed] if the cursor was closed. It returns nil
// and no error if there are no events and Wake was called since it last did so.
func Next[E any](c *Cursor[E]) ([]E, error) {
	for {
		run, err := TryNext(c)
		if run != nil || err != nil {
			return run, err
		}
		if c.woken.Load() {
			c.woken.Store(false)
			return nil, nil
		}
		park(c)
	}
}

// TryNext is Next without the wait: it returns nil if there is nothing yet.
func TryNext[E any](c *Cursor[E]) ([]E, error) {
	done(c)
	b := blockAt(c)
	if b == nil {
		Leave(c)
		return nil, ErrClosed
	}
	return take(c, b), nil
}

// Wake makes a waiting Next, or else the next call that would wait, return without events, so that
// the reader can look at something else, such as the end of a context. Wake never blocks.
func Wake[E any](c *Cursor[E]) {
	c.woken.Store(true) // before the look at parked
	unpark(c)
}

// blockAt returns the cursor's block, nil if it is closed or is at its end.
func blockAt[E any](c *Cursor[E]) *block[E] {
	if ended(c) {
		Close(c)
	}
	return c.block.Load()
}

// ended reports whether the cursor was told to finish and has.
func ended[E any](c *Cursor[E]) bool {
	last := c.last.Load()
	return last != 0 && c.read.at() >= last-1
}

// Finish makes the cursor end at the log's present position: Next returns the events published so
// far, and then ErrClosed. A concurrent Next may return some later events too.
//
//go:noinline
func Finish[E any](c *Cursor[E]) {
	c.last.Store(c.log.position.Load() + 1)
	c.log.mu.Lock()
	defer c.log.mu.Unlock()
	c.log.caughtUp.Send() // events after the end do not count as lag
	unpark(c)
}

// take returns the published events after the cursor, or nil if there are none or the cursor was
// closed. b is the cursor's block. After Cut has closed a cursor, the writer may publish more
// events in the same block; the cursor must not return them.
func take[E any](c *Cursor[E], b *block[E]) []E {
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

// park waits until there may be events, or another reason to look again. The order matters: park
// sets parked before its last look at the state that Publish, Close and Wake change, and they look
// at parked after the change. A token in wake may be old, from a Publish whose events were already
// taken; it only costs one more look. park waits for a single channel: a select would lock each
// channel for every wait, and needs so much stack that an idle reader took twice the memory.
func park[E any](c *Cursor[E]) {
	c.parked.Store(true)
	if !awake(c) {
		idle(c.log)
		<-c.wake
		c.log.busy.Add(1)
	}
	c.parked.Store(false)
}

// awake reports whether Next need not wait.
func awake[E any](c *Cursor[E]) bool {
	b := c.block.Load()
	return b == nil || c.woken.Load() || ended(c) || c.from < int(b.published.Load()) || b.next.Load() != nil
}

// unpark wakes the reader if it waits. An old token in wake serves as well as a new one.
func unpark[E any](c *Cursor[E]) {
	if c.parked.Load() && c.parked.CompareAndSwap(true, false) {
		select {
		case c.wake <- struct{}{}:
		default:
		}
	}
}

// done counts the last run as read, and wakes the writer if it waits for that.
func done[E any](c *Cursor[E]) {
	if c.taken == 0 {
		return
	}
	awaited := c.read.advance(c.taken)
	c.taken = 0
	if awaited {
		c.log.mu.Lock()
		defer c.log.mu.Unlock()
		c.read.answered()
		c.log.caughtUp.Send()
	}
}

// Position returns the log's position up to which the reader is done, the last run included. Only
// the reader may call it.
func Position[E any](c *Cursor[E]) uint64 { return c.read.at() + uint64(c.taken) }

// Waits reports whether the reader waits for events in Next, or is about to. Any goroutine may call it.
func Waits[E any](c *Cursor[E]) bool { return c.parked.Load() }

// Lag returns the number of published events that the reader is not done with. After Finish, later
// events do not count.
func Lag[E any](c *Cursor[E]) uint64 { return lagAt(c, c.read.at()) }

// lagAt is Lag for position read, which must have been loaded before the call, so that the log's
// position is not before it.
func lagAt[E any](c *Cursor[E], read uint64) uint64 {
	end := c.log.position.Load()
	if last := c.last.Load(); last != 0 {
		end = last - 1
	}
	return max(end, read) - read
}

// Close ends the cursor: Next returns ErrClosed from now on, and the writer does not wait for the
// cursor any more. The cursor keeps no events in memory, except for the block of the reader's last
// run, 256 events at most: the log keeps that until Leave, or until Next has returned ErrClosed.
// Closing again does nothing.
func Close[E any](c *Cursor[E]) {
	if c.block.Swap(nil) == nil {
		return
	}
	c.log.mu.Lock()
	defer c.log.mu.Unlock()
	drop(c.log, c)
}

// drop removes a cursor that was just closed. Called with mu held.
func drop[E any](l *Log[E], c *Cursor[E]) {
	l.cursors = without(l.cursors, c)
	if !c.left {
		l.leaving = append(l.leaving, c)
	}
	l.caughtUp.Send()
	unpark(c)
}

// without returns cursors but for c, in the same memory.
//
//go:noinline
func without[E any](cursors []*Cursor[E], c *Cursor[E]) []*Cursor[E] {
	n := 0
	for _, other := range cursors {
		if other != c {
			cursors[n] = other
			n++
		}
	}
	clear(cursors[n:])
	return cursors[:n]
}

// Leave closes the cursor and says that its reader is done with the last run. Only the reader may
// call it, or another goroutine after the reader has ended. Leaving again does nothing.
//
//go:noinline
func Leave[E any](c *Cursor[E]) {
	done(c)
	Close(c)
	l := c.log
	l.mu.Lock()
	defer l.mu.Unlock()
	if c.left {
		return
	}
	c.left = true
	l.leaving = without(l.leaving, c)
	l.busy.Add(-1)
	sweep(l)
}
