package eventlog

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kinform/kinform/internal/waittest"
)

// next reads one run, which run is set to.
func next(ctx context.Context, c *Cursor[int], run *[]int) waittest.Call {
	return waittest.Start(func() (err error) {
		*run, err = nextUntil(ctx, c)
		return err
	})
}

// nextUntil is Next for a reader that has a context: it ends with that, though there may be
// events. Such a reader wakes itself.
func nextUntil[E any](ctx context.Context, c *Cursor[E]) ([]E, error) {
	defer context.AfterFunc(ctx, func() { Wake(c) })()
	for {
		done(c)
		if blockAt(c) == nil {
			return nil, ErrClosed
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if run, err := Next(c); run != nil || err != nil {
			return run, err
		}
	}
}

func publish(l *Log[int], n int) {
	for i := range n {
		Append(l, i)
	}
	Publish(l)
}

func TestNextWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l Log[int]
		var run []int
		c := NewCursor(&l)
		for round := range 3 * maxBlock { // over the ends of blocks
			parked := next(t.Context(), c, &run)
			parked.Waits(t)
			Append(&l, round)
			parked.Waits(t) // not published
			Publish(&l)
			parked.Want(t, nil)
			if !slices.Equal(run, []int{round}) {
				t.Fatalf("got %v, want %d", run, round)
			}
		}
	})
}

// An empty Publish may wake a reader, but the reader then waits again.
func TestNextWaitsOnWithoutEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l Log[int]
		var run []int
		c := NewCursor(&l)
		parked := next(t.Context(), c, &run)
		Publish(&l)
		Close(NewCursor(&l))
		Publish(&l)
		parked.Waits(t)
		publish(&l, 2)
		parked.Want(t, nil)
		if len(run) != 2 {
			t.Errorf("got %v", run)
		}
	})
}

func TestNextEndsWithContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l Log[int]
		var run []int
		c := NewCursor(&l)
		for range 3 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			parked := next(ctx, c, &run)
			parked.Waits(t)
			time.Sleep(time.Hour)
			parked.Want(t, context.DeadlineExceeded)
			cancel()
		}
		publish(&l, 1)
		next(never, c, &run).Want(t, context.Canceled) // though there is an event
		next(t.Context(), c, &run).Want(t, nil)
		next(t.Context(), c, &run).Waits(t)
		Close(c)
	})
}

// Wake is seen by the Next that waits, or by the one that would, and by no other.
func TestWake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l Log[int]
		run := []int{1}
		c, other := NewCursor(&l), NewCursor(&l)
		start := func(c *Cursor[int]) waittest.Call {
			return waittest.Start(func() (err error) {
				run, err = Next(c)
				return err
			})
		}
		parked := start(c)
		parked.Waits(t)
		Wake(c)
		parked.Want(t, nil)
		if run != nil {
			t.Errorf("woken with %v", run)
		}
		on := start(c)
		on.Waits(t) // the call is used up
		publish(&l, 1)
		on.Want(t, nil)
		WakeAll(&l) // before anybody waits
		publish(&l, 1)
		start(c).Want(t, nil)
		if len(run) != 1 {
			t.Errorf("events come before a wake: %v", run)
		}
		start(c).Want(t, nil)
		if run != nil {
			t.Errorf("woken with %v", run)
		}
		last := start(c)
		last.Waits(t)
		start(other).Want(t, nil)
		Close(c)
		last.Want(t, ErrClosed)
		Wake(c)
		start(c).Want(t, ErrClosed)
	})
}

func TestCloseWhileParked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l Log[int]
		var run, other []int
		c, stays := NewCursor(&l), NewCursor(&l)
		parked, on := next(t.Context(), c, &run), next(t.Context(), stays, &other)
		parked.Waits(t)
		Close(c)
		Close(c)
		parked.Want(t, ErrClosed)
		next(t.Context(), c, &run).Want(t, ErrClosed)
		next(never, c, &run).Want(t, ErrClosed)
		on.Waits(t)
		publish(&l, 1)
		on.Want(t, nil)
	})
}

// A closed cursor gives nothing more, though there is more.
func TestCloseWithEventsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l Log[int]
		var run []int
		c := NewCursor(&l)
		publish(&l, 3*maxBlock)
		next(t.Context(), c, &run).Want(t, nil)
		Close(c)
		next(t.Context(), c, &run).Want(t, ErrClosed)
	})
}

// WaitLag ends with the first run that brings the last cursor within the limit, and not
// before its reader is done with it.
func TestWaitLag(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l Log[int]
		var run []int
		slow, fast := NewCursor(&l), NewCursor(&l)
		publish(&l, firstBlock) // a run each
		publish(&l, 2*firstBlock)
		const all = 3 * firstBlock
		waittest.Start(func() error { return l.WaitLag(t.Context(), all) }).Want(t, nil)
		lag := waittest.Start(func() error { return l.WaitLag(t.Context(), all-1) })
		none := waittest.Start(func() error { return l.WaitLag(t.Context(), 0) })
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
		lag.Want(t, nil)
		none.Want(t, nil)
	})
}

func TestWaitLagEndsWithContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l Log[int]
		var run []int
		c := NewCursor(&l)
		publish(&l, 1)
		for range 2 { // the second finds the first's traces
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			wait := waittest.Start(func() error { return l.WaitLag(ctx, 0) })
			wait.Waits(t)
			time.Sleep(time.Hour)
			wait.Want(t, context.DeadlineExceeded)
			cancel()
		}
		next(t.Context(), c, &run).Want(t, nil)
		wait := waittest.Start(func() error { return l.WaitLag(t.Context(), 0) })
		wait.Waits(t)
		parked := next(t.Context(), c, &run)
		wait.Want(t, nil)
		Close(c)
		parked.Want(t, ErrClosed)
	})
}

// A wait for a lagging cursor ends when the cursor leaves.
func TestWaitLagEndsWithClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l Log[int]
		a, b := NewCursor(&l), NewCursor(&l)
		publish(&l, 1)
		wait := waittest.Start(func() error { return l.WaitLag(t.Context(), 0) })
		wait.Waits(t)
		Close(a)
		wait.Waits(t)
		Close(b)
		wait.Want(t, nil)
	})
}

// A cursor may be made while somebody waits for the others.
func TestNewCursorBesideWaitLag(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l Log[int]
		a := NewCursor(&l)
		publish(&l, 1)
		wait := waittest.Start(func() error { return l.WaitLag(t.Context(), 0) })
		b := NewCursor(&l)
		wait.Waits(t)
		Close(a)
		wait.Want(t, nil) // b has nothing before it
		Close(b)
	})
}

// An event between the look that found nothing and the wait must end the wait.
func TestParkLooksOnceMore(t *testing.T) {
	for name, happens := range map[string]func(l *Log[int], c *Cursor[int]){
		"events in the block":   func(l *Log[int], _ *Cursor[int]) { publish(l, 1) },
		"events in a new block": func(l *Log[int], _ *Cursor[int]) { publish(l, firstBlock) },
		"close":                 func(_ *Log[int], c *Cursor[int]) { Close(c) },
		"wake":                  func(_ *Log[int], c *Cursor[int]) { Wake(c) },
		"finish":                func(_ *Log[int], c *Cursor[int]) { done(c); Finish(c) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var l Log[int]
				var run []int
				c := NewCursor(&l)
				publish(&l, firstBlock-1)
				if name == "events in a new block" {
					publish(&l, 1)
				}
				next(t.Context(), c, &run).Want(t, nil)
				if got := take(c, c.block.Load()); got != nil {
					t.Fatalf("got %v", got)
				}
				happens(&l, c)
				park := waittest.Start(func() error { park(c); return nil })
				park.Want(t, nil)
			})
		})
	}
}

// TestAwaited: a log is awaited while one of its readers is done with everything published.
func TestAwaited(t *testing.T) {
	var l Log[int]
	check := func(want bool, when string) {
		t.Helper()
		if got := Awaited(&l); got != want {
			t.Errorf("%s: awaited is %t", when, got)
		}
	}
	check(false, "without readers")
	slow, fast := NewCursor(&l), NewCursor(&l)
	check(true, "at first")
	publish(&l, 2)
	check(false, "after events")
	must := func(_ []int, err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	must(TryNext(fast))
	check(false, "while the reader has the events")
	must(TryNext(fast))
	check(true, "when one reader is done")
	Leave(fast)
	check(false, "when that one has left")
	Leave(slow)
}
