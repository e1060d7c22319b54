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
			c := l.NewLossyCursor()
			cuts := make(chan piece, 1)
			var wg sync.WaitGroup
			pace := 1 + rnd.IntN(50)
			wg.Go(func() { followCut(t, c, pace, cuts) })
			for i := 0; ; i++ {
				l.Append(i)
				if rnd.IntN(4) == 0 {
					l.Publish()
				}
				spin(rnd.IntN(20))
				if i > 300 {
					if rest, from, cut := l.Cut(c, uint64(rnd.IntN(5))); cut {
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
	if cut.from > c.Position() {
		t.Errorf("the cut begins at %d, the reader is at %d", cut.from, c.Position())
		return
	}
	for _, event := range cut.rest[c.Position()-cut.from:] {
		if event != want {
			t.Errorf("got event %d of the cut, want %d", event, want)
		}
		want++
	}
}

// A lossy cursor is not waited for, and pins nothing once it is cut.
func TestLossyCursor(t *testing.T) {
	var l Log[int]
	c := l.NewLossyCursor()
	for i := range 1000 {
		l.Append(i)
	}
	l.Publish()
	if l.Lagging(0) != nil || l.WaitLag(never, 0) != nil {
		t.Error("a lossy cursor is waited for")
	}
	if rest, _, cut := l.Cut(c, 1000); cut {
		t.Errorf("cut %d events within the limit", len(rest))
	}
	if rest, from, cut := l.Cut(c, 999); !cut || len(rest) != 1000 || from != 0 {
		t.Errorf("cut is %t, %d events from %d on", cut, len(rest), from)
	}
	if _, _, cut := l.Cut(c, 0); cut {
		t.Error("cut twice")
	}
	if n := memtest.Allocs(10, func() { l.Cut(c, 0) }); n > 0 {
		t.Errorf("to cut a closed cursor costs %v allocations", n)
	}
	if _, err := nextUntil(t.Context(), c); !errors.Is(err, ErrClosed) {
		t.Errorf("Next of a cut cursor returned %v", err)
	}
	l.Publish()
	if l.tail != nil {
		t.Error("the log keeps a block for a cursor that was cut")
	}
}

// Finish ends a reader that is waiting, and one that is behind when it has caught up.
func TestFinish(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l Log[int]
		waiting, behind := l.NewCursor(), l.NewCursor()
		ended := make(chan error)
		go func() {
			_, err := nextUntil(context.Background(), waiting)
			ended <- err
		}()
		synctest.Wait()
		waiting.Finish()
		if err := <-ended; !errors.Is(err, ErrClosed) {
			t.Errorf("Next returned %v", err)
		}
		l.Append(0)
		l.Append(1)
		l.Publish()
		behind.Finish()
		l.Append(2)
		l.Publish()
		if run, err := nextUntil(t.Context(), behind); err != nil || len(run) != 2 {
			t.Errorf("got %v, error %v, want the two events from before Finish", run, err)
		}
		if lag := behind.Lag(); lag != 2 {
			t.Errorf("lag %d before the run is done with, want 2", lag)
		}
		if run, err := behind.TryNext(); !errors.Is(err, ErrClosed) {
			t.Errorf("got %v, error %v, want ErrClosed", run, err)
		}
		if behind.Lag() != 0 || l.WaitLag(never, 0) != nil {
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
		c := l.NewLossyCursor()
		var wg sync.WaitGroup
		wg.Go(func() {
			for {
				if _, err := c.TryNext(); err != nil {
					return
				}
			}
		})
		for i := 0; ; i++ {
			l.Append(i)
			l.Publish()
			rest, from, cut := l.Cut(c, 1)
			if !cut && i < 200 {
				continue
			}
			end := from + uint64(len(rest))
			if !cut {
				c.Close()
				end = l.Position()
			}
			l.Append(-1)
			l.Publish()
			wg.Wait()
			if at := c.Position(); at > end {
				t.Fatalf("the reader came to %d, but the cursor ended at %d", at, end)
			}
			break
		}
	}
}
