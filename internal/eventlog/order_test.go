package eventlog

import (
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kinform/kinform/internal/longtest"
)

// together calls two functions at one moment, as near as can be.
type together struct {
	turn, ended atomic.Int64
	other       func()
}

// start returns a together, and a function that ends it.
func start() (m *together, stop func()) {
	m = &together{}
	var wg sync.WaitGroup
	wg.Go(m.run)
	return m, func() {
		m.other = nil
		m.turn.Add(1)
		wg.Wait()
	}
}

// run calls what other is set to for each turn, until that is nil.
func (m *together) run() {
	for turn := int64(1); ; turn++ {
		until(func() bool { return m.turn.Load() >= turn }, time.Hour)
		if m.other == nil {
			return
		}
		m.other()
		m.ended.Store(turn)
	}
}

// meet reports whether other has returned, too. If it has not after a minute, it never will.
func (m *together) meet(f, other func()) bool {
	m.other = other
	turn := m.turn.Add(1)
	f()
	return until(func() bool { return m.ended.Load() >= turn }, time.Minute)
}

// until spins, because a wait would change the order of goroutines too much.
func until(done func() bool, limit time.Duration) bool {
	var began time.Time
	for spins := 1; !done(); spins++ {
		if spins%1000 == 0 {
			runtime.Gosched()
		}
		switch {
		case spins%100_000 != 0:
		case began.IsZero():
			began = time.Now()
		case time.Since(began) > limit:
			return false
		}
	}
	return true
}

// windows calls test with pairs of delays for the two sides, many times or for some seconds: the
// windows that it looks for are an instruction wide.
func windows(t *testing.T, test func(one, other int)) {
	rounds, limit := longtest.N(30_000, 600_000), time.Duration(longtest.N(2, 60))*time.Second
	began := time.Now()
	for round := 0; round < rounds && time.Since(began) < limit && !t.Failed(); round++ {
		test(round%64, round/64%64)
	}
}

// A reader moves while the writer asks for its position. Then the writer either finds the new
// position, or is woken.
func TestMoveMeetsQuestion(t *testing.T) {
	var l Log[int]
	m, stop := start()
	defer stop()
	c := NewCursor(&l)
	defer Leave(c)
	windows(t, func(one, other int) {
		publish(&l, 1)
		if run, err := TryNext(c); len(run) != 1 || err != nil {
			t.Fatalf("got %v, %v", run, err)
		}
		var moved <-chan struct{}
		m.meet(func() { spin(one); moved = Lagging(&l, 0) }, func() { spin(other); done(c) })
		if moved == nil {
			return
		}
		select {
		case <-moved:
		default:
			t.Error("the writer waits for a reader that has moved")
		}
	})
}

// A Wake that meets a reader which is about to wait is not slept through.
func TestWakeMeetsWait(t *testing.T) {
	var l Log[int]
	m, stop := start()
	defer stop()
	c := NewCursor(&l)
	defer Leave(c)
	windows(t, func(one, other int) {
		if !m.meet(func() { spin(one); Wake(c) }, func() { spin(other); park(c) }) {
			t.Error("the reader sleeps on")
			c.wake <- struct{}{}
		}
		c.woken.Store(false)
		select {
		case <-c.wake: // an old token
		default:
		}
	})
}

// A reader that looks while a block fills up and gets a successor misses nothing.
func TestLookMeetsGrowth(t *testing.T) {
	m, stop := start()
	defer stop()
	windows(t, func(one, other int) {
		var l Log[int]
		c := NewCursor(&l)
		defer Leave(c)
		for n := range firstBlock - 1 {
			Append(&l, n)
		}
		Publish(&l)
		var all []int
		look := func() {
			run, err := TryNext(c)
			if err != nil {
				t.Error(err)
			}
			all = append(all, run...)
		}
		look()
		m.meet(func() {
			spin(one)
			Append(&l, firstBlock-1)
			Append(&l, firstBlock)
			Publish(&l)
		}, func() { spin(other); look() })
		look()
		look()
		for n, got := range all {
			if n != got || len(all) != firstBlock+1 {
				t.Fatalf("got %v", all)
			}
		}
	})
}

// A reader that looked at the events before a block was full, and at its successor after that,
// stays for the rest of the block.
func TestLookAcrossGrowth(t *testing.T) {
	var l Log[int]
	c := NewCursor(&l)
	defer Leave(c)
	publish(&l, firstBlock-1)
	if run, err := TryNext(c); len(run) != firstBlock-1 || err != nil {
		t.Fatalf("got %v, %v", run, err)
	}
	b := blockAt(c)
	publish(&l, 2)
	b.published.Store(firstBlock - 1) // what the first look saw
	if run, err := TryNext(c); run != nil || err != nil {
		t.Fatalf("got %v, %v", run, err)
	}
	b.published.Store(firstBlock)
	if run, err := TryNext(c); len(run) != 1 || err != nil || run[0] != 0 {
		t.Fatalf("got %v, %v", run, err)
	}
}

// A cursor that is closed while it moves to the next block stays closed. Blocks of one event make
// it move all the time.
func TestCloseMeetsMove(t *testing.T) {
	m, stop := start()
	defer stop()
	blocks := make([]*block[int], 1000)
	for n := range blocks {
		blocks[n] = newBlock[int](uint64(n), 1)
		blocks[n].published.Store(1)
		if n > 0 {
			blocks[n-1].next.Store(blocks[n])
		}
	}
	for round := range longtest.N(2000, 20_000) {
		var l Log[int]
		c := NewCursor(&l)
		c.block.Store(blocks[0])
		m.meet(func() { spin(20 * (round % 100)); Close(c) }, func() {
			for run, err := TryNext(c); run != nil && err == nil; run, err = TryNext(c) {
			}
		})
		if _, err := TryNext(c); !errors.Is(err, ErrClosed) {
			t.Fatalf("round %d: error %v", round, err)
		}
	}
}

// A waiting writer looks again when a cursor is finished. Events published at that moment do
// not count as lag.
func TestFinishAnswers(t *testing.T) {
	var l Log[int]
	c := NewCursor(&l)
	defer Leave(c)
	publish(&l, 1)
	moved := Lagging(&l, 0)
	Finish(c)
	select {
	case <-moved:
	default:
		t.Error("the writer is not told")
	}
}

// A reader is never ahead of the log's position, at any point of a Publish.
func TestReaderIsNotAhead(t *testing.T) {
	rounds := 300_000
	if testing.Short() {
		rounds = 50_000
	}
	var l Log[int]
	var wg sync.WaitGroup
	c := NewCursor(&l)
	wg.Go(func() {
		for {
			run, err := TryNext(c)
			if err != nil {
				return
			}
			if at := Position(c); run != nil && at > Published(&l) {
				t.Errorf("the reader is at %d, the log at %d", at, Published(&l))
				return
			}
		}
	})
	for i := range rounds {
		Append(&l, i)
		Publish(&l)
	}
	Close(c)
	wg.Wait()
}

// A cursor does not get events published after Finish, even if Finish was called while the
// cursor looked for events.
func TestFinishWhileTaking(t *testing.T) {
	var l Log[int]
	c := NewCursor(&l)
	b := blockAt(c)
	Finish(c)
	Append(&l, 1)
	Publish(&l)
	if run := take(c, b); run != nil {
		t.Errorf("got %v, want nothing at all", run)
	}
	Leave(c)
}

// A reader that has told the writer of a move tells it of no other before it is asked again: that
// would cost a lock per run.
func TestMovesAnswerOnce(t *testing.T) {
	var l Log[int]
	c := NewCursor(&l)
	for i := range 2 {
		Append(&l, i)
		Publish(&l)
	}
	if Lagging(&l, 1) == nil {
		t.Fatal("two events are no lag of more than one")
	}
	for range 2 { // the run, and that it is done with
		if _, err := TryNext(c); err != nil {
			t.Fatal(err)
		}
	}
	if c.read.advance(0) {
		t.Error("the next move would answer again")
	}
	Leave(c)
}

// A cursor within the limit is not asked to answer its next move.
func TestLaggingAsksOnlyThoseThatLag(t *testing.T) {
	var l Log[int]
	c := NewCursor(&l)
	defer Leave(c)
	publish(&l, 2)
	if Lagging(&l, 2) != nil {
		t.Fatal("two events are no lag of more than two")
	}
	if c.read.advance(0) {
		t.Error("the next move would answer")
	}
}

// A reader can be done with an event that was published while Finish was under way.
func TestLagPastTheEnd(t *testing.T) {
	var l Log[int]
	c := NewCursor(&l)
	defer Leave(c)
	publish(&l, 2)
	if run, err := TryNext(c); len(run) != 2 || err != nil {
		t.Fatalf("got %v, %v", run, err)
	}
	done(c)
	c.last.Store(1 + 1) // Finish read the position after the first event
	if lag := Lag(c); lag != 0 {
		t.Errorf("lag %d, want 0", lag)
	}
}

// Of a Close and a Cut that meet, either the cut has all events, or it is none.
func TestCloseMeetsCut(t *testing.T) {
	const lag = 1000
	m, stop := start()
	defer stop()
	var l Log[int]
	for round := range 500 {
		c := NewLossyCursor(&l)
		publish(&l, lag)
		var rest []int
		var cut bool
		m.meet(func() { rest, _, cut = Cut(&l, c, 0) }, func() { spin(round % 64); Leave(c) })
		if cut && len(rest) != lag || !cut && rest != nil {
			t.Fatalf("cut is %t with %d events", cut, len(rest))
		}
	}
}
