package deltafifo

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kinform/kinform/internal/waittest"
)

type waitQueue struct {
	*DeltaFIFO[int, int]
	got Batch[int, int]
}

func newWaitQueue(limit int) *waitQueue {
	return &waitQueue{DeltaFIFO: New[int, int](nil, Options{Limit: limit})}
}

func (q *waitQueue) pop(ctx context.Context) waittest.Call {
	return waittest.Start(func() (err error) {
		q.got, err = q.Pop(ctx)
		return err
	})
}

func (q *waitQueue) add(ctx context.Context, key int) waittest.Call {
	return waittest.Start(func() error { return q.Add(ctx, key, key, "") })
}

// producers is every method that waits for room.
func (q *waitQueue) producers(ctx context.Context) map[string]func() error {
	return map[string]func() error{
		"Add":      func() error { return q.Add(ctx, 100, 1, "100") },
		"Update":   func() error { return q.Update(ctx, 100, 1, "100") },
		"Delete":   func() error { return q.Delete(ctx, 100, 1, "100") },
		"Bookmark": func() error { return q.Bookmark(ctx, "100") },
		"Replace":  func() error { return q.Replace(ctx, Replacement[int, int]{ResourceVersion: "100"}) },
	}
}

func TestPopWaits(t *testing.T) {
	for name := range newWaitQueue(1).producers(t.Context()) {
		synctest.Test(t, func(t *testing.T) {
			q := newWaitQueue(1)
			pop := q.pop(t.Context())
			pop.Waits(t)
			waittest.Start(q.producers(t.Context())[name]).Want(t, nil)
			pop.Want(t, nil)
			want := 0 // of a deletion of nothing and an empty list, the version
			if name == "Add" || name == "Update" {
				want = 1
			}
			if q.got.Len() != want || q.got.ResourceVersion() != "100" {
				t.Errorf("%s: got %d deltas at %q", name, q.got.Len(), q.got.ResourceVersion())
			}
		})
	}
}

func TestPopWaitsOnWhenNothingIsPut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newWaitQueue(1)
		pop := q.pop(t.Context())
		waittest.Start(func() error { return q.Delete(t.Context(), 1, 1, "") }).Want(t, nil)
		waittest.Start(func() error { return q.Bookmark(t.Context(), "") }).Want(t, nil)
		pop.Waits(t)
		q.Close()
		pop.Want(t, ErrClosed)
	})
}

func TestPopEndsWithContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newWaitQueue(1)
		for range 3 { // and leaves nothing behind that would disturb the next
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			pop := q.pop(ctx)
			pop.Waits(t)
			time.Sleep(time.Minute)
			pop.Want(t, context.DeadlineExceeded)
			cancel()
		}
		q.add(t.Context(), 1).Want(t, nil)
		q.pop(t.Context()).Want(t, nil)
		pop := q.pop(t.Context())
		pop.Waits(t)
		q.add(t.Context(), 2).Want(t, nil)
		pop.Want(t, nil)
	})
}

// A context that has ended does not stop a call that need not wait.
func TestNoWaitNoContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newWaitQueue(1000)
		for name, put := range q.producers(never) {
			if err := put(); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		q.pop(never).Want(t, nil)
		q.pop(never).Want(t, context.Canceled)
	})
}

func TestProducersWaitAtLimit(t *testing.T) {
	for name := range newWaitQueue(1).producers(t.Context()) {
		synctest.Test(t, func(t *testing.T) {
			q := newWaitQueue(2)
			q.add(t.Context(), 1).Want(t, nil)
			q.add(t.Context(), 1).Want(t, nil)
			ctx, cancel := context.WithCancel(t.Context())
			first := waittest.Start(q.producers(ctx)[name])
			second := waittest.Start(q.producers(t.Context())[name])
			first.Waits(t)
			cancel()
			first.Want(t, context.Canceled)
			second.Waits(t)
			if n := q.Len(); n != 2 {
				t.Errorf("%s: %d deltas pending at a limit of 2", name, n)
			}
			q.pop(t.Context()).Want(t, nil)
			second.Want(t, nil)
			third := waittest.Start(q.producers(t.Context())[name])
			third.Want(t, nil)
			q.Close()
		})
	}
}

// However many wait, no more come in than there is room for.
func TestBackPressure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const limit, producers = 3, 10
		q := newWaitQueue(limit)
		var adds []waittest.Call
		for key := range producers {
			adds = append(adds, q.add(t.Context(), key))
		}
		for left := producers; left > 0; left -= limit {
			if want := min(left, limit); q.Len() != want {
				t.Fatalf("%d deltas pending, want %d", q.Len(), want)
			}
			q.pop(t.Context()).Want(t, nil)
			if want := min(left, limit); q.got.Len() != want {
				t.Fatalf("a batch of %d, want %d", q.got.Len(), want)
			}
		}
		for _, add := range adds {
			add.Want(t, nil)
		}
	})
}

// A list that fits nowhere is taken whole, and everything else waits until it is gone.
func TestReplaceIsTakenWhole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newWaitQueue(2)
		list := Replacement[int, int]{Objects: &Objects[int, int]{}}
		for key := range 10 {
			list.Objects.Set(key, 0, "")
		}
		q.add(t.Context(), 0).Want(t, nil)
		waittest.Start(func() error { return q.Replace(t.Context(), list) }).Want(t, nil)
		if q.Len() != 11 {
			t.Fatalf("%d deltas pending, want 11", q.Len())
		}
		add := q.add(t.Context(), 1)
		add.Waits(t)
		q.pop(t.Context()).Want(t, nil)
		add.Want(t, nil)
	})
}

func TestDefaultLimit(t *testing.T) {
	for _, limit := range []int{0, -1} {
		q := newWaitQueue(limit)
		for key := range defaultLimit {
			if err := q.Add(never, key, key, ""); err != nil {
				t.Fatal(err)
			}
		}
		if err := q.Add(never, 0, 0, ""); !errors.Is(err, context.Canceled) {
			t.Errorf("limit %d: got error %v over the default", limit, err)
		}
	}
}

func TestCloseWhilePopWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newWaitQueue(1)
		pop := q.pop(t.Context())
		pop.Waits(t)
		q.Close()
		pop.Want(t, ErrClosed)
		q.Close()
		q.pop(t.Context()).Want(t, ErrClosed)
	})
}

func TestCloseWhileProducersWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newWaitQueue(1)
		q.add(t.Context(), 7).Want(t, nil)
		calls := map[string]waittest.Call{}
		for name, put := range q.producers(t.Context()) {
			calls[name] = waittest.Start(put)
			calls[name].Waits(t)
		}
		q.Close()
		for _, c := range calls {
			c.Want(t, ErrClosed)
		}
		q.pop(t.Context()).Want(t, nil) // what came in goes out
		if q.got.Len() != 1 || q.got.ResourceVersion() != "" {
			t.Errorf("got %d deltas at %q", q.got.Len(), q.got.ResourceVersion())
		}
		q.pop(t.Context()).Want(t, ErrClosed)
	})
}

func TestCloseFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newWaitQueue(1)
		q.Close()
		for name, put := range q.producers(t.Context()) {
			if err := put(); !errors.Is(err, ErrClosed) {
				t.Errorf("%s: got error %v", name, err)
			}
		}
		q.pop(t.Context()).Want(t, ErrClosed)
	})
}

// The consumer may close the queue between Pop and Pop, with its batch in hands.
func TestCloseInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newWaitQueue(1)
		q.add(t.Context(), 1).Want(t, nil)
		q.pop(t.Context()).Want(t, nil)
		q.Close()
		for key, deltas := range q.got.All() {
			if key != 1 || len(deltas) != 1 {
				t.Errorf("got key %d with %v", key, deltas)
			}
		}
		q.pop(t.Context()).Want(t, ErrClosed)
	})
}

// All waiting goroutines are woken, though there is room for one only.
func TestCloseWakesAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newWaitQueue(1)
		var pops []waittest.Call
		for range 10 {
			pops = append(pops, waittest.Start(func() error { _, err := q.Pop(t.Context()); return err }))
		}
		q.Close()
		for _, pop := range pops {
			pop.Want(t, ErrClosed)
		}
	})
}
