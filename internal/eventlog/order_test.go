package eventlog

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
)

// together calls two functions at one moment, as near as can be, and returns when both have.
type together struct {
	turn, ended atomic.Int64
	other       func()
}

// run calls what other is set to for each turn, until that is nil.
func (m *together) run() {
	for turn := int64(1); ; turn++ {
		for spins := 1; m.turn.Load() < turn; spins++ {
			if spins%1000 == 0 {
				runtime.Gosched()
			}
		}
		if m.other == nil {
			return
		}
		m.other()
		m.ended.Store(turn)
	}
}

func (m *together) meet(f, other func()) {
	m.other = other
	turn := m.turn.Add(1)
	f()
	for spins := 1; m.ended.Load() < turn; spins++ {
		if spins%1000 == 0 {
			runtime.Gosched()
		}
	}
}

// A reader that moves while the writer asks how far it is: either the writer finds it moved, or
// is told. The window is an instruction wide, so the two meet in it as often as can be.
func TestMoveMeetsQuestion(t *testing.T) {
	rounds := 300_000
	if testing.Short() {
		rounds = 60_000
	}
	var l Log[int]
	var m together
	var wg sync.WaitGroup
	wg.Go(m.run)
	defer wg.Wait()
	defer func() { m.other = nil; m.turn.Add(1) }()
	c := l.NewCursor()
	defer c.Leave()
	for round := range rounds {
		publish(&l, 1)
		if run, err := c.TryNext(); len(run) != 1 || err != nil {
			t.Fatalf("got %v, %v", run, err)
		}
		var moved <-chan struct{}
		m.meet(func() { spin(round % 64); moved = l.Lagging(0) }, func() { spin(round / 64 % 64); c.done() })
		if moved == nil {
			continue
		}
		select {
		case <-moved:
		default:
			t.Fatalf("round %d: the writer waits for a reader that has moved", round)
		}
	}
}

// A Wake that meets a reader which is about to wait is not slept through. In a bubble, so that
// one that is lost is a deadlock.
func TestNoWakeIsLost(t *testing.T) {
	rounds := 100_000
	if testing.Short() {
		rounds = 20_000
	}
	synctest.Test(t, func(t *testing.T) {
		var l Log[int]
		c := l.NewCursor()
		woken := make(chan struct{}, 1)
		var wg sync.WaitGroup
		wg.Go(func() {
			for {
				if _, err := c.Next(); err != nil {
					return
				}
				woken <- struct{}{}
			}
		})
		for round := range rounds {
			c.Wake()
			<-woken
			spin(round % 400) // the reader is on its way to wait again
		}
		c.Close()
		wg.Wait()
	})
}

// A writer that waits looks again when a cursor is told to finish: what is published while that
// is being said does not count as lag.
func TestFinishAnswers(t *testing.T) {
	var l Log[int]
	c := l.NewCursor()
	defer c.Leave()
	publish(&l, 1)
	moved := l.Lagging(0)
	c.Finish()
	select {
	case <-moved:
	default:
		t.Error("the writer is not told")
	}
}

// A reader never is ahead of the log's position, whatever it meets Publish in the middle of.
func TestReaderIsNotAhead(t *testing.T) {
	rounds := 300_000
	if testing.Short() {
		rounds = 50_000
	}
	var l Log[int]
	var wg sync.WaitGroup
	c := l.NewCursor()
	wg.Go(func() {
		for {
			run, err := c.TryNext()
			if err != nil {
				return
			}
			if at := c.Position(); run != nil && at > l.Position() {
				t.Errorf("the reader is at %d, the log at %d", at, l.Position())
				return
			}
		}
	})
	for i := range rounds {
		l.Append(i)
		l.Publish()
	}
	c.Close()
	wg.Wait()
}

// What is published after Finish is not the cursor's, though it was told to finish while it looked for events.
func TestFinishWhileTaking(t *testing.T) {
	var l Log[int]
	c := l.NewCursor()
	b := c.at()
	c.Finish()
	l.Append(1)
	l.Publish()
	if run := c.take(b); run != nil {
		t.Errorf("got %v, want nothing at all", run)
	}
	c.Leave()
}

// A reader that has told the writer of a move tells it of no other before it is asked again: that would cost a lock per run.
func TestMovesAnswerOnce(t *testing.T) {
	var l Log[int]
	c := l.NewCursor()
	for i := range 2 {
		l.Append(i)
		l.Publish()
	}
	if l.Lagging(1) == nil {
		t.Fatal("two events are no lag of more than one")
	}
	for range 2 { // the run, and that it is done with
		if _, err := c.TryNext(); err != nil {
			t.Fatal(err)
		}
	}
	if c.read.advance(0) {
		t.Error("the next move would answer again")
	}
	c.Leave()
}
