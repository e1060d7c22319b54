package controller

import (
	"context"
	"sync"
	"time"
)

// lookAfter is how long reads wait for the watch of the cache before the server is asked what
// they lack. If that remains unknown, it is asked again after twice the time, and so on.
const lookAfter = 500 * time.Millisecond

// turns has goroutines work for each other: all calls of do that come before a turn begins share it. A turn
// begins when the one before it ends, or lookAfter after that one began.
type turns struct {
	gate chan struct{} // set once, with room for one value; holds one until the next turn may begin

	mu   sync.Mutex
	next *turn // has not begun; nil if nobody waits for one
}

// turn is a call of work.
type turn struct {
	ended chan struct{} // closed at its end
	well  bool          // whether work has succeeded; set before ended is closed
}

// do returns nil once a call of work that began after do has succeeded. It returns the error of the
// caller's own work, and the cause if ctx is done.
func (t *turns) do(ctx context.Context, work func() error) error {
	for {
		mine, first := t.join()
		if first {
			return t.take(ctx, mine, work)
		}
		select {
		case <-mine.ended:
			if mine.well {
				return nil
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// join returns the next turn. The first one to join has to take it.
func (t *turns) join() (mine *turn, first bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if first = t.next == nil; first {
		t.next = &turn{ended: make(chan struct{})}
	}
	return t.next, first
}

// take works for all that have joined a turn by the time when it begins.
func (t *turns) take(ctx context.Context, mine *turn, work func() error) error {
	defer close(mine.ended)
	select {
	case t.gate <- struct{}{}:
		open := time.AfterFunc(lookAfter, t.open)
		defer func() {
			if open.Stop() {
				t.open()
			}
		}()
	case <-ctx.Done():
	}
	t.mu.Lock()
	t.next = nil
	t.mu.Unlock()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	err := work()
	mine.well = err == nil
	return err
}

// open lets the next turn begin.
func (t *turns) open() { <-t.gate }
