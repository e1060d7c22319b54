package eventlog

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// call is a method that runs in a goroutine of its own: its error, once it has ended.
type call chan error

// start runs f and returns once it has ended or waits.
func start(f func() error) call {
	c := make(call, 1)
	go func() { c <- f() }()
	synctest.Wait()
	return c
}

// want fails the test unless the call has ended with err.
func (c call) want(t *testing.T, err error) {
	t.Helper()
	synctest.Wait()
	select {
	case got := <-c:
		if !errors.Is(got, err) {
			t.Fatalf("got error %v, want %v", got, err)
		}
	default:
		t.Fatalf("waits, want error %v", err)
	}
}

func (c call) waits(t *testing.T) {
	t.Helper()
	synctest.Wait()
	if len(c) > 0 {
		t.Fatalf("does not wait, error %v", <-c)
	}
}

// next reads one run, which run is set to.
func next(ctx context.Context, c *Cursor[int], run *[]int) call {
	return start(func() (err error) {
		*run, err = c.Next(ctx)
		return err
	})
}

func publish(l *Log[int], n int) {
	for i := range n {
		l.Append(i)
	}
	l.Publish()
}

func TestNextWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l Log[int]
		var run []int
		c := l.NewCursor()
		for round := range 3 * maxBlock { // over the ends of blocks
			parked := next(t.Context(), c, &run)
			parked.waits(t)
			l.Append(round)
			parked.waits(t) // not published
			l.Publish()
			parked.want(t, nil)
			if !slices.Equal(run, []int{round}) {
				t.Fatalf("got %v, want %d", run, round)
			}
		}
	})
}

// A Publish of nothing wakes nobody for good.
func TestNextWaitsOnWithoutEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l Log[int]
		var run []int
		c := l.NewCursor()
		parked := next(t.Context(), c, &run)
		l.Publish()
		l.NewCursor().Close()
		l.Publish()
		parked.waits(t)
		publish(&l, 2)
		parked.want(t, nil)
		if len(run) != 2 {
			t.Errorf("got %v", run)
		}
	})
}

func TestNextEndsWithContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l Log[int]
		var run []int
		c := l.NewCursor()
		for range 3 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			parked := next(ctx, c, &run)
			parked.waits(t)
			time.Sleep(time.Hour)
			parked.want(t, context.DeadlineExceeded)
			cancel()
		}
		publish(&l, 1)
		next(never, c, &run).want(t, context.Canceled) // though there is an event
		next(t.Context(), c, &run).want(t, nil)
		next(t.Context(), c, &run).waits(t)
		c.Close()
	})
}

func TestCloseWhileParked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l Log[int]
		var run, other []int
		c, stays := l.NewCursor(), l.NewCursor()
		parked, on := next(t.Context(), c, &run), next(t.Context(), stays, &other)
		parked.waits(t)
		c.Close()
		c.Close()
		parked.want(t, ErrClosed)
		next(t.Context(), c, &run).want(t, ErrClosed)
		next(never, c, &run).want(t, ErrClosed)
		on.waits(t)
		publish(&l, 1)
		on.want(t, nil)
	})
}

// A closed cursor gives nothing more, though there is more.
func TestCloseWithEventsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l Log[int]
		var run []int
		c := l.NewCursor()
		publish(&l, 3*maxBlock)
		next(t.Context(), c, &run).want(t, nil)
		c.Close()
		next(t.Context(), c, &run).want(t, ErrClosed)
	})
}

// WaitLag ends with the first run that brings the last cursor within the limit, and not
// before its reader is done with it.
func TestWaitLag(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l Log[int]
		var run []int
		slow, fast := l.NewCursor(), l.NewCursor()
		publish(&l, firstBlock) // a run each
		publish(&l, 2*firstBlock)
		const all = 3 * firstBlock
		start(func() error { return l.WaitLag(t.Context(), all) }).want(t, nil)
		lag := start(func() error { return l.WaitLag(t.Context(), all-1) })
		none := start(func() error { return l.WaitLag(t.Context(), 0) })
		for _, step := range []struct {
			cursor    *Cursor[int]
			lag, none bool // ended
			ctx       context.Context
		}{
			{fast, false, false, t.Context()},
			{slow, false, false, t.Context()}, // got it, but is not done with it
			{fast, false, false, t.Context()},
			{slow, true, false, t.Context()},
			{fast, true, false, never},
			{slow, true, true, never},
		} {
			<-next(step.ctx, step.cursor, &run)
			synctest.Wait()
			if len(lag) > 0 != step.lag || len(none) > 0 != step.none {
				t.Fatalf("ended: %t, %t; want %t, %t", len(lag) > 0, len(none) > 0, step.lag, step.none)
			}
		}
		lag.want(t, nil)
		none.want(t, nil)
	})
}

func TestWaitLagEndsWithContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l Log[int]
		var run []int
		c := l.NewCursor()
		publish(&l, 1)
		for range 2 { // the second finds the first's traces
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			wait := start(func() error { return l.WaitLag(ctx, 0) })
			wait.waits(t)
			time.Sleep(time.Hour)
			wait.want(t, context.DeadlineExceeded)
			cancel()
		}
		next(t.Context(), c, &run).want(t, nil)
		wait := start(func() error { return l.WaitLag(t.Context(), 0) })
		wait.waits(t)
		parked := next(t.Context(), c, &run)
		wait.want(t, nil)
		c.Close()
		parked.want(t, ErrClosed)
	})
}

// Who waits for a lagging cursor is free when it leaves.
func TestWaitLagEndsWithClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l Log[int]
		a, b := l.NewCursor(), l.NewCursor()
		publish(&l, 1)
		wait := start(func() error { return l.WaitLag(t.Context(), 0) })
		wait.waits(t)
		a.Close()
		wait.waits(t)
		b.Close()
		wait.want(t, nil)
	})
}

// A cursor may be made while somebody waits for the others.
func TestNewCursorBesideWaitLag(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l Log[int]
		a := l.NewCursor()
		publish(&l, 1)
		wait := start(func() error { return l.WaitLag(t.Context(), 0) })
		b := l.NewCursor()
		wait.waits(t)
		a.Close()
		wait.want(t, nil) // b has nothing before it
		b.Close()
	})
}

// What happens between the look that found nothing and the wait must not be slept through.
func TestParkLooksOnceMore(t *testing.T) {
	for name, happens := range map[string]func(l *Log[int], c *Cursor[int]){
		"events in the block":   func(l *Log[int], _ *Cursor[int]) { publish(l, 1) },
		"events in a new block": func(l *Log[int], _ *Cursor[int]) { publish(l, firstBlock) },
		"close":                 func(_ *Log[int], c *Cursor[int]) { c.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var l Log[int]
				var run []int
				c := l.NewCursor()
				publish(&l, firstBlock-1)
				if name == "events in a new block" {
					publish(&l, 1)
				}
				next(t.Context(), c, &run).want(t, nil)
				if got := c.take(c.block.Load()); got != nil {
					t.Fatalf("got %v", got)
				}
				happens(&l, c)
				park := start(func() error { c.park(t.Context()); return nil })
				park.want(t, nil)
			})
		})
	}
}
