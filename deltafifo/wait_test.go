package deltafifo

import (
	"context"
	"errors"
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

type waitQueue struct {
	*DeltaFIFO[int, int]
	got Batch[int, int]
}

func newWaitQueue(limit int) *waitQueue {
	return &waitQueue{DeltaFIFO: New[int, int](nil, Options{Limit: limit})}
}

func (q *waitQueue) pop(ctx context.Context) call {
	return start(func() (err error) {
		q.got, err = q.Pop(ctx)
		return err
	})
}

func (q *waitQueue) add(ctx context.Context, key int) call {
	return start(func() error { return q.Add(ctx, key, key, "") })
}

// producers is every method that waits for room.
func (q *waitQueue) producers(ctx context.Context) map[string]func() error {
	return map[string]func() error{
		"Add":      func() error { return q.Add(ctx, 100, 1, "100") },
		"Update":   func() error { return q.Update(ctx, 100, 1, "100") },
		"Delete":   func() error { return q.Delete(ctx, 100, 1, "100") },
		"Bookmark": func() error { return q.Bookmark(ctx, "100") },
		"Replace":  func() error { return q.Replace(ctx, List[int, int]{ResourceVersion: "100"}) },
	}
}

func TestPopWaits(t *testing.T) {
	for name := range newWaitQueue(1).producers(t.Context()) {
		synctest.Test(t, func(t *testing.T) {
			q := newWaitQueue(1)
			pop := q.pop(t.Context())
			pop.waits(t)
			start(q.producers(t.Context())[name]).want(t, nil)
			pop.want(t, nil)
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
		start(func() error { return q.Delete(t.Context(), 1, 1, "") }).want(t, nil)
		start(func() error { return q.Bookmark(t.Context(), "") }).want(t, nil)
		pop.waits(t)
		q.Close()
		pop.want(t, ErrClosed)
	})
}

func TestPopEndsWithContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newWaitQueue(1)
		for range 3 { // and leaves nothing behind that would disturb the next
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			pop := q.pop(ctx)
			pop.waits(t)
			time.Sleep(time.Minute)
			pop.want(t, context.DeadlineExceeded)
			cancel()
		}
		q.add(t.Context(), 1).want(t, nil)
		q.pop(t.Context()).want(t, nil)
		pop := q.pop(t.Context())
		pop.waits(t)
		q.add(t.Context(), 2).want(t, nil)
		pop.want(t, nil)
	})
}

// A context that is over stops nobody who need not wait.
func TestNoWaitNoContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newWaitQueue(1000)
		for name, put := range q.producers(never) {
			if err := put(); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		q.pop(never).want(t, nil)
		q.pop(never).want(t, context.Canceled)
	})
}

func TestProducersWaitAtLimit(t *testing.T) {
	for name := range newWaitQueue(1).producers(t.Context()) {
		synctest.Test(t, func(t *testing.T) {
			q := newWaitQueue(2)
			q.add(t.Context(), 1).want(t, nil)
			q.add(t.Context(), 1).want(t, nil)
			ctx, cancel := context.WithCancel(t.Context())
			first := start(q.producers(ctx)[name])
			second := start(q.producers(t.Context())[name])
			first.waits(t)
			cancel()
			first.want(t, context.Canceled)
			second.waits(t)
			if n := q.Len(); n != 2 {
				t.Errorf("%s: %d deltas pending at a limit of 2", name, n)
			}
			q.pop(t.Context()).want(t, nil)
			second.want(t, nil)
			third := start(q.producers(t.Context())[name])
			third.want(t, nil)
			q.Close()
		})
	}
}

// However many wait, no more come in than there is room for.
func TestBackPressure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const limit, producers = 3, 10
		q := newWaitQueue(limit)
		var adds []call
		for key := range producers {
			adds = append(adds, q.add(t.Context(), key))
		}
		for left := producers; left > 0; left -= limit {
			if want := min(left, limit); q.Len() != want {
				t.Fatalf("%d deltas pending, want %d", q.Len(), want)
			}
			q.pop(t.Context()).want(t, nil)
			if want := min(left, limit); q.got.Len() != want {
				t.Fatalf("a batch of %d, want %d", q.got.Len(), want)
			}
		}
		for _, add := range adds {
			add.want(t, nil)
		}
	})
}

// A list that fits nowhere is taken whole, and everything else waits until it is gone.
func TestReplaceIsTakenWhole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newWaitQueue(2)
		var list List[int, int]
		for key := range 10 {
			list.Items = append(list.Items, Item[int, int]{Key: key})
		}
		q.add(t.Context(), 0).want(t, nil)
		start(func() error { return q.Replace(t.Context(), list) }).want(t, nil)
		if q.Len() != 11 {
			t.Fatalf("%d deltas pending, want 11", q.Len())
		}
		add := q.add(t.Context(), 1)
		add.waits(t)
		q.pop(t.Context()).want(t, nil)
		add.want(t, nil)
	})
}

func TestDefaultLimit(t *testing.T) {
	for _, limit := range []int{0, -1} {
		q := newWaitQueue(limit)
		for key := range DefaultLimit {
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
		pop.waits(t)
		q.Close()
		pop.want(t, ErrClosed)
		q.Close()
		q.pop(t.Context()).want(t, ErrClosed)
	})
}

func TestCloseWhileProducersWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newWaitQueue(1)
		q.add(t.Context(), 7).want(t, nil)
		calls := map[string]call{}
		for name, put := range q.producers(t.Context()) {
			calls[name] = start(put)
			calls[name].waits(t)
		}
		q.Close()
		for _, c := range calls {
			c.want(t, ErrClosed)
		}
		q.pop(t.Context()).want(t, nil) // what came in goes out
		if q.got.Len() != 1 || q.got.ResourceVersion() != "" {
			t.Errorf("got %d deltas at %q", q.got.Len(), q.got.ResourceVersion())
		}
		q.pop(t.Context()).want(t, ErrClosed)
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
		q.pop(t.Context()).want(t, ErrClosed)
	})
}

// The consumer may close the queue between Pop and Pop, with its batch in hands.
func TestCloseInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newWaitQueue(1)
		q.add(t.Context(), 1).want(t, nil)
		q.pop(t.Context()).want(t, nil)
		q.Close()
		for key, deltas := range q.got.All() {
			if key != 1 || len(deltas) != 1 {
				t.Errorf("got key %d with %v", key, deltas)
			}
		}
		q.pop(t.Context()).want(t, ErrClosed)
	})
}

// All who wait are woken, though only one should.
func TestCloseWakesAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newWaitQueue(1)
		var pops []call
		for range 10 {
			pops = append(pops, start(func() error { _, err := q.Pop(t.Context()); return err }))
		}
		q.Close()
		for _, pop := range pops {
			pop.want(t, ErrClosed)
		}
	})
}
