package eventlog

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/kinform/kinform/internal/memtest"
)

// piece is the part that a cut took from a cursor.
type piece struct {
	rest []int
	from uint64
}

// A reader whose cursor is cut goes on with what the cut returned and misses nothing,
// wherever it was at that moment.
func TestCutStress(t *testing.T) {
	rounds := 3000
	if testing.Short() {
		rounds = 300
	}
	synctest.Test(t, func(t *testing.T) {
		rnd := rand.New(rand.NewPCG(1, 4))
		for range rounds {
			var l Log[int]
			c := NewLossyCursor(&l)
			cuts := make(chan piece, 1)
			var wg sync.WaitGroup
			pace := 1 + rnd.IntN(50)
			wg.Go(func() { followCut(t, c, pace, cuts) })
			for i := 0; ; i++ {
				Append(&l, i)
				if rnd.IntN(4) == 0 {
					Publish(&l)
				}
				spin(rnd.IntN(20))
				if i > 300 {
					if rest, from, cut := Cut(&l, c, uint64(rnd.IntN(5))); cut {
						cuts <- piece{rest, from}
						break
					}
				}
			}
			wg.Wait()
		}
	})
}

func followCut(t *testing.T, c *Cursor[int], pace int, cuts chan piece) {
	want := 0
	for {
		run, err := nextUntil(t.Context(), c)
		if err != nil {
			break
		}
		for _, event := range run {
			if event != want {
				t.Errorf("got event %d, want %d", event, want)
			}
			want++
			spin(pace)
		}
	}
	cut := <-cuts
	if cut.from > Position(c) {
		t.Errorf("the cut begins at %d, the reader is at %d", cut.from, Position(c))
		return
	}
	for _, event := range cut.rest[Position(c)-cut.from:] {
		if event != want {
			t.Errorf("got event %d of the cut, want %d", event, want)
		}
		want++
	}
}

// A lossy cursor is not waited for, and pins nothing once it is cut.
func TestLossyCursor(t *testing.T) {
	var l Log[int]
	c := NewLossyCursor(&l)
	for i := range 1000 {
		Append(&l, i)
	}
	Publish(&l)
	if Lagging(&l, 0) != nil || l.WaitLag(never, 0) != nil {
		t.Error("a lossy cursor is waited for")
	}
	if rest, _, cut := Cut(&l, c, 1000); cut {
		t.Errorf("cut %d events within the limit", len(rest))
	}
	if rest, from, cut := Cut(&l, c, 999); !cut || len(rest) != 1000 || from != 0 {
		t.Errorf("cut is %t, %d events from %d on", cut, len(rest), from)
	}
	if _, _, cut := Cut(&l, c, 0); cut {
		t.Error("cut twice")
	}
	if n := memtest.Allocs(10, func() { Cut(&l, c, 0) }); n > 0 {
		t.Errorf("to cut a closed cursor costs %v allocations", n)
	}
	if _, err := nextUntil(t.Context(), c); !errors.Is(err, ErrClosed) {
		t.Errorf("Next of a cut cursor returned %v", err)
	}
	Publish(&l)
	if l.tail != nil {
		t.Error("the log keeps a block for a cursor that was cut")
	}
}

// Finish ends a reader that is waiting, and one that is behind when it has caught up.
func TestFinish(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l Log[int]
		waiting, behind := NewCursor(&l), NewCursor(&l)
		ended := make(chan error)
		go func() {
			_, err := nextUntil(context.Background(), waiting)
			ended <- err
		}()
		synctest.Wait()
		Finish(waiting)
		if err := <-ended; !errors.Is(err, ErrClosed) {
			t.Errorf("Next returned %v", err)
		}
		Append(&l, 0)
		Append(&l, 1)
		Publish(&l)
		Finish(behind)
		Append(&l, 2)
		Publish(&l)
		if run, err := nextUntil(t.Context(), behind); err != nil || len(run) != 2 {
			t.Errorf("got %v, error %v, want the two events from before Finish", run, err)
		}
		if lag := Lag(behind); lag != 2 {
			t.Errorf("lag %d before the run is done with, want 2", lag)
		}
		if run, err := TryNext(behind); !errors.Is(err, ErrClosed) {
			t.Errorf("got %v, error %v, want ErrClosed", run, err)
		}
		if Lag(behind) != 0 || l.WaitLag(never, 0) != nil {
			t.Error("a cursor that has finished lags")
		}
	})
}

// TestPublishAfterCut: a reader gets no event that was published after its cursor was cut.
// Otherwise the part that the cut has left over would not be all that the reader misses.
func TestPublishAfterCut(t *testing.T) {
	rounds := 150_000 // without the check some ten of them fail
	if testing.Short() {
		rounds = 15_000
	}
	for range rounds {
		var l Log[int]
		c := NewLossyCursor(&l)
		var wg sync.WaitGroup
		wg.Go(func() {
			for {
				if _, err := TryNext(c); err != nil {
					return
				}
			}
		})
		for i := 0; ; i++ {
			Append(&l, i)
			Publish(&l)
			rest, from, cut := Cut(&l, c, 1)
			if !cut && i < 200 {
				continue
			}
			end := from + uint64(len(rest))
			if !cut {
				Close(c)
				end = Published(&l)
			}
			Append(&l, -1)
			Publish(&l)
			wg.Wait()
			if at := Position(c); at > end {
				t.Fatalf("the reader came to %d, but the cursor ended at %d", at, end)
			}
			break
		}
	}
}
