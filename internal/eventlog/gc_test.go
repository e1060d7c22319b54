package eventlog

import (
	"errors"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"weak"
)

// blob is an event whose end can be seen: too large to share an allocation.
type blob struct{ _ [64]byte }

// tracker makes events and watches their end.
type tracker struct{ made []weak.Pointer[blob] }

func (tr *tracker) publish(l *Log[*blob], n int) {
	for range n {
		b := new(blob)
		tr.made = append(tr.made, weak.Make(b))
		Append(l, b)
	}
	Publish(l)
}

// alive returns how many of the events still are.
func (tr *tracker) alive() int {
	runtime.GC()
	n := 0
	for _, w := range tr.made {
		if w.Value() != nil {
			n++
		}
	}
	return n
}

// drain reads n events and is done with them, provided that no more are published.
func drain(t *testing.T, c *Cursor[*blob], n int) {
	t.Helper()
	for n > 0 {
		run, err := nextUntil(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		n -= len(run)
	}
	if _, err := nextUntil(never, c); err == nil || n < 0 {
		t.Fatalf("%d events too many, error %v", -n, err)
	}
}

// An event that all cursors have passed goes, at the latest when its block is passed or
// with the next Publish.
func TestPassedEventsGo(t *testing.T) {
	var l Log[*blob]
	a, b := NewCursor(&l), NewCursor(&l)
	var tr tracker
	tr.publish(&l, 10000)
	drain(t, a, 10000)
	if alive := tr.alive(); alive != 10000 {
		t.Fatalf("%d events alive with a cursor that has read none, want 10000", alive)
	}
	drain(t, b, 10000)
	if alive := tr.alive(); alive > maxBlock {
		t.Errorf("%d events alive that all cursors have passed, want a block at most", alive)
	}
	Publish(&l)
	if alive := tr.alive(); alive > 0 {
		t.Errorf("%d events alive after the next Publish", alive)
	}
	runtime.KeepAlive(&l)
	runtime.KeepAlive(a)
	runtime.KeepAlive(b)
}

// A log of few events pins the last ones only.
func TestIdleLogPinsLittle(t *testing.T) {
	var l Log[*blob]
	a, b := NewCursor(&l), NewCursor(&l)
	for range 3 * maxBlock {
		var tr tracker
		tr.publish(&l, 2)
		drain(t, a, 2)
		drain(t, b, 2)
		Publish(&l)
		if l.used%50 == 0 && tr.alive() > 0 {
			t.Fatalf("%d events alive that all cursors have passed", tr.alive())
		}
	}
	runtime.KeepAlive(&l)
}

// A cursor that lags keeps each event once; when it leaves they go, though it is kept.
func TestClosedCursorPinsNothing(t *testing.T) {
	var l Log[*blob]
	slow, fast := NewCursor(&l), NewCursor(&l)
	var tr, later tracker
	tr.publish(&l, 1000)
	drain(t, fast, 1000)
	Close(slow)
	for range 20 { // past a block
		later.publish(&l, maxBlock)
		drain(t, fast, maxBlock)
	}
	if alive := tr.alive() + later.alive(); alive > maxBlock {
		t.Errorf("a closed cursor keeps %d events", alive)
	}
	if _, err := nextUntil(t.Context(), slow); !errors.Is(err, ErrClosed) {
		t.Errorf("got error %v", err)
	}
	runtime.KeepAlive(slow)
	runtime.KeepAlive(fast)
	runtime.KeepAlive(&l)
}

// Events go without another Publish once all readers wait for more.
func TestPassedEventsGoWhenAllWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l Log[*blob]
		var tr tracker
		var wg sync.WaitGroup
		quit := NewCursor(&l)
		follow := func(c *Cursor[*blob]) {
			for {
				if _, err := Next(c); err != nil {
					return
				}
			}
		}
		cursors := []*Cursor[*blob]{NewCursor(&l), NewCursor(&l), NewLossyCursor(&l)}
		for _, c := range cursors {
			wg.Go(func() { follow(c) })
		}
		for _, n := range []int{1, 3, maxBlock, 5} {
			tr.publish(&l, n)
			synctest.Wait()
			if quit != nil {
				if alive := tr.alive(); alive != n {
					t.Errorf("%d events alive with a cursor that has read none, want %d", alive, n)
				}
				Leave(quit)
				quit = nil
			}
			if alive := tr.alive(); alive > 0 {
				t.Errorf("%d events alive of %d that all have read", alive, n)
			}
		}
		for _, c := range cursors {
			Close(c)
		}
		wg.Wait()
		Leave(cursors[0]) // again
		if busy := l.busy.Load(); busy != 0 {
			t.Errorf("%d cursors counted that were left", busy)
		}
	})
}

// A cursor that is closed keeps the run of its reader, and no more than the block, until the
// reader is done with it.
func TestClosedCursorKeepsRun(t *testing.T) {
	ends := map[string]func(*Cursor[*blob]){
		"Leave": func(c *Cursor[*blob]) { Leave(c) },
		"Next":  func(c *Cursor[*blob]) { _, _ = Next(c) },
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			var l Log[*blob]
			c, quits := NewCursor(&l), NewCursor(&l)
			var tr, later tracker
			tr.publish(&l, firstBlock)
			drain(t, c, firstBlock)
			run, err := TryNext(quits)
			if err != nil || len(run) != firstBlock {
				t.Fatalf("got %d events, error %v", len(run), err)
			}
			Close(quits)
			Publish(&l)
			if slices.Contains(run, nil) {
				t.Error("events went that the reader has not left")
			}
			run = nil
			end(quits)
			if alive := tr.alive(); alive > 0 {
				t.Errorf("%d events alive after the reader left", alive)
			}
			later.publish(&l, 1)
			drain(t, c, 1)
			Publish(&l)
			if alive := later.alive(); alive > 0 {
				t.Errorf("%d events alive in the block after", alive)
			}
			Leave(quits)
			Close(quits)
			if len(l.leaving) > 0 {
				t.Error("the cursor came back")
			}
			runtime.KeepAlive(c)
			runtime.KeepAlive(quits)
			runtime.KeepAlive(&l)
		})
	}
}

// A log without cursors keeps nothing.
func TestNoCursorsNothingKept(t *testing.T) {
	var l Log[*blob]
	var tr tracker
	tr.publish(&l, 100)
	if alive := tr.alive(); alive > 0 {
		t.Errorf("%d events kept before there was a cursor", alive)
	}
	c := NewCursor(&l)
	tr.publish(&l, 100)
	Close(c)
	tr.publish(&l, 1)
	if alive := tr.alive(); alive > 0 {
		t.Errorf("%d events kept after the last cursor left", alive)
	}
	runtime.KeepAlive(&l)
	runtime.KeepAlive(c)
}

// A run stays as it is until its cursor comes back, even if the cursor is closed: a handler may
// remove itself.
func TestRunStaysAfterClose(t *testing.T) {
	for _, closed := range []bool{false, true} {
		var l Log[int]
		slow, fast := NewCursor(&l), NewCursor(&l)
		for i := range 3 {
			Append(&l, i)
		}
		Publish(&l)
		run, err := nextUntil(t.Context(), slow)
		if err != nil || len(run) != 3 {
			t.Fatalf("got %v, error %v", run, err)
		}
		if closed {
			Close(slow)
		}
		for i := 3; i < 3*maxBlock; i++ {
			Append(&l, i)
			Publish(&l)
			if _, err := nextUntil(t.Context(), fast); err != nil {
				t.Fatal(err)
			}
			for at, event := range run {
				if at != event {
					t.Fatalf("closed: %t; the run is %v after %d events", closed, run, i)
				}
			}
		}
	}
}
