package eventlog

import (
	"errors"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
)

// Many readers that come and go, at all speeds, with a writer that waits for them: each
// gets exactly what came after it, and the writer is never let on too early. In a bubble,
// so that a wake-up that is lost is a deadlock and found at once.
func TestStress(t *testing.T) {
	rounds, events := 20, 20_000
	if testing.Short() {
		rounds, events = 3, 4_000
	}
	for seed := range rounds {
		synctest.Test(t, func(t *testing.T) { stress(t, uint64(seed), events) })
	}
}

func stress(t *testing.T, seed uint64, events int) {
	const cursors, limit = 16, 100
	var (
		l   Log[int]
		wg  sync.WaitGroup
		rnd = rand.New(rand.NewPCG(seed, 1))
	)
	open := map[*Cursor[int]]bool{}
	join := func(from int) {
		c := NewCursor(&l)
		open[c] = true
		quits := from + rnd.IntN(2*events)
		wg.Go(func() { follow(t, c, from, quits, seed) })
	}
	for i := range events {
		for len(open) < cursors && rnd.IntN(20) == 0 {
			join(i)
		}
		Append(&l, i)
		if rnd.IntN(5) > 0 {
			continue
		}
		Publish(&l)
		switch rnd.IntN(60) {
		case 0:
			for c := range open { // one that may be anywhere in Next
				Close(c)
				delete(open, c)
				break
			}
		case 1, 2, 3, 4:
			if err := l.WaitLag(t.Context(), limit); err != nil {
				t.Error(err)
			}
			for c := range open {
				if c.block.Load() != nil && Published(&l)-c.read.at() > limit {
					t.Errorf("let on with a cursor at %d of %d", c.read.at(), Published(&l))
				}
			}
		}
	}
	Publish(&l)
	if err := l.WaitLag(t.Context(), 0); err != nil {
		t.Error(err)
	}
	synctest.Wait() // all are parked or gone
	if err := l.verify(); err != nil {
		t.Error(err)
	}
	for c := range open {
		Close(c)
	}
	wg.Wait()
}

// follow reads until the cursor is closed, which it does itself at event quits.
func follow(t *testing.T, c *Cursor[int], want, quits int, seed uint64) {
	rnd := rand.New(rand.NewPCG(seed, uint64(want)))
	for {
		run, err := nextUntil(t.Context(), c)
		if errors.Is(err, ErrClosed) {
			return
		}
		if err != nil || len(run) == 0 {
			t.Errorf("got %d events, error %v", len(run), err)
			return
		}
		for _, event := range run {
			if event != want {
				t.Errorf("got event %d, want %d", event, want)
				return
			}
			if want++; want == quits {
				Close(c) // and reads its run to the end
			}
			if rnd.IntN(100) == 0 {
				runtime.Gosched()
			}
		}
	}
}

// spin waits a little without giving up the processor, to change the order of goroutines by
// single instructions.
func spin(n int) {
	var turns atomic.Int64
	for range n / 4 {
		turns.Add(1)
	}
}

// The windows in which a wake-up could be lost are a few instructions wide: between what a
// waiter sees and its saying that it waits. Two sides that do nothing but meet there find
// them. A lost wake-up is a deadlock of the bubble.
func TestNoWakeUpIsLost(t *testing.T) {
	rounds := 150_000
	if testing.Short() {
		rounds = 20_000
	}
	for _, spread := range []int{1, 50, 500} {
		synctest.Test(t, func(t *testing.T) {
			var l Log[int]
			var wg sync.WaitGroup
			c := NewCursor(&l)
			wg.Go(func() {
				rnd := rand.New(rand.NewPCG(1, 1))
				for {
					if _, err := nextUntil(t.Context(), c); err != nil {
						return
					}
					spin(rnd.IntN(spread))
				}
			})
			rnd := rand.New(rand.NewPCG(1, 2))
			for i := range rounds {
				for range 1 + rnd.IntN(3) { // the reader is on its way when the next comes
					Append(&l, i)
					Publish(&l)
					spin(rnd.IntN(spread))
				}
				if err := l.WaitLag(t.Context(), uint64(rnd.IntN(2))); err != nil {
					t.Fatal(err)
				}
				spin(rnd.IntN(spread))
			}
			Close(c)
			wg.Wait()
		})
	}
}

// The same for Close, with a reader that is about to wait and a writer that waits for it.
func TestNoCloseIsLost(t *testing.T) {
	rounds := 50_000
	if testing.Short() {
		rounds = 5_000
	}
	synctest.Test(t, func(t *testing.T) {
		rnd := rand.New(rand.NewPCG(1, 3))
		var l Log[int]
		for i := range rounds {
			c := NewCursor(&l)
			Append(&l, i)
			Publish(&l)
			var wg sync.WaitGroup
			wg.Go(func() {
				for {
					if _, err := nextUntil(t.Context(), c); err != nil {
						return
					}
				}
			})
			delay := rnd.IntN(2000)
			wg.Go(func() {
				spin(delay)
				Close(c)
			})
			if err := l.WaitLag(t.Context(), 0); err != nil {
				t.Fatal(err)
			}
			wg.Wait()
		}
	})
}
