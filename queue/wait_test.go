package queue

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
)

// getters starts n goroutines that wait for one key each and send what they got.
func getters(ctx context.Context, q *Queue[int], n int) <-chan any {
	got := make(chan any, n)
	for range n {
		go func() {
			it, err := q.Get(ctx)
			if err != nil {
				got <- err
				return
			}
			it.Done()
			got <- it.Key
		}()
	}
	synctest.Wait()
	return got
}

func TestGetWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(Options[int]{})
		got := getters(t.Context(), q, 3)
		if w := q.Metrics().Waiting; w != 3 {
			t.Fatalf("Waiting = %d, want 3", w)
		}
		seen := map[any]bool{}
		for i := range 3 {
			q.Add(i)
		}
		for range 3 {
			seen[<-got] = true
		}
		if len(seen) != 3 || seen[ErrShutDown] {
			t.Fatalf("got %v, want the three keys", seen)
		}
		q.check(t)
	})
}

func TestGetEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(Options[int]{})
		cause := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		first := getters(ctx, q, 2)
		other := getters(t.Context(), q, 2)
		cancel(cause)
		for range 2 {
			if err := <-first; err != cause {
				t.Fatalf("Get = %v, want the context's cause", err)
			}
		}
		if w := q.Metrics().Waiting; w != 2 {
			t.Fatalf("Waiting = %d, want 2", w)
		}
		q.Add(1)
		if k := <-other; k != 1 {
			t.Fatalf("the other waiter got %v, want 1", k)
		}
		q.ShutDown()
		if err := <-other; err != ErrShutDown {
			t.Fatalf("Get = %v, want ErrShutDown", err)
		}
		q.Add(2)
		if _, err := q.GetBatch(ctx, nil, 1); err != cause {
			t.Fatalf("GetBatch with an ended context = %v, want its cause", err)
		}
		q.check(t)
	})
}

// A waiter that is chosen at the moment when its context ends must pass the choice on.
func TestChosenWaiterGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(Options[int]{})
		got := getters(t.Context(), q, 1)
		q.mu.Lock()
		mine := q.parked.push()
		q.mu.Unlock()

		q.mu.Lock()
		enqueue(q, q.entry(7, q.hash(7), ""), 0, 0)
		chosen := wake(q)
		q.mu.Unlock()
		if chosen != mine {
			t.Fatal("the last to come must be chosen")
		}
		go giveUp(q, mine)
		synctest.Wait()
		chosen.signal()
		if k := <-got; k != 7 {
			t.Fatalf("the other waiter got %v, want 7", k)
		}
		q.check(t)
	})
}

// One wake-up at a time must still get everybody going.
func TestWakesAsManyAsNeeded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(Options[int]{})
		const n = 16
		hold := make(chan struct{})
		var busy atomic.Int32
		var wg sync.WaitGroup
		for range n {
			wg.Go(func() {
				it, _ := q.Get(t.Context())
				busy.Add(1)
				<-hold
				it.Done()
			})
		}
		synctest.Wait()
		for i := range n {
			q.Add(i)
		}
		synctest.Wait()
		if b := busy.Load(); b != n {
			t.Fatalf("%d workers are busy, want %d", b, n)
		}
		close(hold)
		wg.Wait()
		q.check(t)
	})
}

func TestGetBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(Options[int]{})
		go func() {
			for i := range 5 {
				q.Add(i)
			}
		}()
		synctest.Wait()
		its, err := q.GetBatch(t.Context(), make([]Item[int], 0, 8), 3)
		if err != nil || len(its) != 3 || its[0].Key != 0 || its[2].Key != 2 {
			t.Fatalf("GetBatch = %v, %v, want 0 1 2", its, err)
		}
		its, err = q.GetBatch(t.Context(), its, 100)
		if err != nil || len(its) != 5 {
			t.Fatalf("GetBatch = %v, %v, want all five", its, err)
		}
		for _, it := range its {
			it.Done()
		}
		done := make(chan error)
		go func() {
			_, err := q.GetBatch(t.Context(), nil, 0)
			done <- err
		}()
		synctest.Wait()
		q.Add(1)
		q.Add(2)
		if err := <-done; err != nil || q.Len() != 1 {
			t.Fatalf("GetBatch of none = %v and left %d, want one taken", err, q.Len())
		}
		q.check(t)
	})
}

// A crowd of waiters must leave few of their structs behind.
func TestWaitersAreLetGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(Options[int]{})
		for range 3 {
			ctx, cancel := context.WithCancel(t.Context())
			for range 10 * keepSpare {
				go q.Get(ctx)
			}
			synctest.Wait()
			if m := q.Metrics(); m.Waiting != 10*keepSpare {
				t.Errorf("%d wait, want %d", m.Waiting, 10*keepSpare)
			}
			cancel()
			synctest.Wait()
			q.check(t) // counts the spare ones
		}
	})
}
