package eventlog

import (
	"context"
	"slices"
	"sync/atomic"
)

// Cursor is one reader's place in a log.
type Cursor[E any] struct {
	log *Log[E]

	// Owned by the goroutine that calls Next.
	block *block[E]
	from  int // first event of block that Next has not returned
	taken int // events that the last Next returned

	read   atomic.Uint64 // position: events that are done with
	closed atomic.Bool
	parked atomic.Bool
	wake   chan struct{}
}

// Next waits for published events and returns a run of them, never empty. The run is
// done with, and may not be read any more, at the next call. It returns ctx's error or
// [ErrClosed].
func (c *Cursor[E]) Next(ctx context.Context) ([]E, error) {
	c.done()
	for {
		if c.closed.Load() {
			return nil, ErrClosed
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if run := c.take(); run != nil {
			return run, nil
		}
		c.parked.Store(true)
		if c.available() || c.closed.Load() {
			c.parked.Store(false)
			continue
		}
		select {
		case <-c.wake:
		case <-ctx.Done():
		}
		c.parked.Store(false)
	}
}

// take returns the published events from the cursor on, nil if there are none.
func (c *Cursor[E]) take() []E {
	for {
		n := int(c.block.published.Load())
		if c.from < n {
			run := c.block.events[c.from:n:n]
			c.from, c.taken = n, len(run)
			return run
		}
		next := c.block.next.Load()
		if n < len(c.block.events) || next == nil {
			return nil
		}
		c.block, c.from = next, 0
	}
}

func (c *Cursor[E]) available() bool {
	return c.from < int(c.block.published.Load()) || c.block.next.Load() != nil
}

// done counts the last run as read and tells a writer that waits for it.
func (c *Cursor[E]) done() {
	if c.taken == 0 {
		return
	}
	c.read.Add(uint64(c.taken))
	c.taken = 0
	if c.log.awaited.Load() {
		c.log.mu.Lock()
		c.log.moved()
		c.log.mu.Unlock()
	}
}

// Read returns the log's position up to which the cursor is done. Safe from any
// goroutine.
func (c *Cursor[E]) Read() uint64 { return c.read.Load() }

// Close ends the cursor: Next returns ErrClosed from now on, and a writer no longer waits
// for it. Closing again does nothing.
func (c *Cursor[E]) Close() {
	if !c.closed.CompareAndSwap(false, true) {
		return
	}
	l := c.log
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cursors = slices.DeleteFunc(l.cursors, func(other *Cursor[E]) bool { return other == c })
	l.moved()
	c.unpark()
}

// unpark wakes a Next that waits.
func (c *Cursor[E]) unpark() {
	if c.parked.CompareAndSwap(true, false) {
		select {
		case c.wake <- struct{}{}:
		default:
		}
	}
}
