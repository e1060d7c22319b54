package eventlog

import (
	"errors"
	"runtime"
	"testing"
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
		l.Append(b)
	}
	l.Publish()
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
	a, b := l.NewCursor(), l.NewCursor()
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
	l.Append(nil)
	l.Publish()
	if alive := tr.alive(); alive > 0 {
		t.Errorf("%d events alive after the next one", alive)
	}
	runtime.KeepAlive(&l)
	runtime.KeepAlive(a)
	runtime.KeepAlive(b)
}

// A log of few events pins the last ones only.
func TestIdleLogPinsLittle(t *testing.T) {
	var l Log[*blob]
	a, b := l.NewCursor(), l.NewCursor()
	for range 3 * maxBlock {
		var tr tracker
		tr.publish(&l, 2)
		drain(t, a, 2)
		drain(t, b, 2)
		l.Publish()
		if l.used%50 == 0 && tr.alive() > 0 {
			t.Fatalf("%d events alive that all cursors have passed", tr.alive())
		}
	}
	runtime.KeepAlive(&l)
}

// A cursor that lags keeps each event once; when it leaves they go, though it is kept.
func TestClosedCursorPinsNothing(t *testing.T) {
	var l Log[*blob]
	slow, fast := l.NewCursor(), l.NewCursor()
	var tr, later tracker
	tr.publish(&l, 1000)
	drain(t, fast, 1000)
	slow.Close()
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

// A cursor that leaves delays the clearing of a block, not of those after it.
func TestClearsAgainAfterClose(t *testing.T) {
	var l Log[*blob]
	c := l.NewCursor()
	l.NewCursor().Close()
	var tr, later tracker
	tr.publish(&l, firstBlock)
	drain(t, c, firstBlock)
	if l.Publish(); l.cleared > 0 {
		t.Fatal("cleared what the closed cursor might read")
	}
	later.publish(&l, 1)
	drain(t, c, 1)
	l.Publish()
	if alive := tr.alive() + later.alive(); alive > 0 {
		t.Errorf("%d events kept in the block after", alive)
	}
	runtime.KeepAlive(c)
	runtime.KeepAlive(&l)
}

// A log without cursors keeps nothing.
func TestNoCursorsNothingKept(t *testing.T) {
	var l Log[*blob]
	var tr tracker
	tr.publish(&l, 100)
	if alive := tr.alive(); alive > 0 {
		t.Errorf("%d events kept before there was a cursor", alive)
	}
	c := l.NewCursor()
	tr.publish(&l, 100)
	c.Close()
	tr.publish(&l, 1)
	if alive := tr.alive(); alive > 0 {
		t.Errorf("%d events kept after the last cursor left", alive)
	}
	runtime.KeepAlive(&l)
	runtime.KeepAlive(c)
}

// A run stays as it is until its cursor comes back, also if the cursor is closed: a
// handler may remove itself.
func TestRunStaysAfterClose(t *testing.T) {
	for _, closed := range []bool{false, true} {
		var l Log[int]
		slow, fast := l.NewCursor(), l.NewCursor()
		for i := range 3 {
			l.Append(i)
		}
		l.Publish()
		run, err := nextUntil(t.Context(), slow)
		if err != nil || len(run) != 3 {
			t.Fatalf("got %v, error %v", run, err)
		}
		if closed {
			slow.Close()
		}
		for i := 3; i < 3*maxBlock; i++ {
			l.Append(i)
			l.Publish()
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
