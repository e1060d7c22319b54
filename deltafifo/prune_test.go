package deltafifo

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"strconv"
	"testing"
	"testing/synctest"

	"github.com/kinform/kinform/reflector"
)

// TestRandomPrunes: whatever is pending or in flight when a sink keeps less, the store then has what a model
// has that keeps the same: Flush returns when it does.
func TestRandomPrunes(t *testing.T) {
	for seed := range uint64(500) {
		synctest.Test(t, func(t *testing.T) { randomPrunes(t, rand.New(rand.NewPCG(seed, 31)), seed) })
	}
}

func randomPrunes(t *testing.T, r *rand.Rand, seed uint64) {
	store, model, keeps := newShelf[int](), map[int]int{}, [4]bool{true, true, true, true}
	f := New[int, int](store, Options{})
	s := f.Sink(func(obj int) (int, error) { return obj % 10, nil }, nil)
	has := func(obj int) bool { return keeps[obj%10%4] }
	s.Keep(has)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	step, turn := make(chan struct{}), 0
	go func() { // the consumer, which takes a batch for each step
		for {
			batch, err := f.Pop(ctx)
			if err != nil {
				return
			}
			select {
			case <-step:
			case <-ctx.Done():
				return
			}
			for key, deltas := range batch.All() {
				store.commit(key, deltas)
			}
		}
	}()
	for range 40 {
		turn++
		obj, at := turn*10+r.IntN(10), strconv.Itoa(turn)
		ev := reflector.Event[int]{Type: reflector.Modified, Object: obj, ResourceVersion: at}
		switch n := r.IntN(20); {
		case n < 9:
			must(t, s.Apply(ctx, ev))
			if has(obj) {
				model[obj%10] = obj
			}
		case n < 12:
			ev.Type = reflector.Deleted
			must(t, s.Apply(ctx, ev))
			delete(model, obj%10)
		case n < 14:
			clear(model)
			for range r.IntN(8) {
				ev.Object = turn*10 + r.IntN(10)
				must(t, s.Listed(ctx, ev))
				model[ev.Object%10] = ev.Object
			}
			keeps[r.IntN(4)] = false // between the objects and the end of the list
			must(t, s.Prune(ctx))
			must(t, s.Replace(ctx, at))
			maps.DeleteFunc(model, func(_, obj int) bool { return !has(obj) })
		case n < 16:
			keeps[r.IntN(4)] = false
			must(t, s.Prune(ctx))
			maps.DeleteFunc(model, func(_, obj int) bool { return !has(obj) })
		case n < 17:
			keeps[r.IntN(4)] = true
		default:
			select {
			case step <- struct{}{}:
			default:
			}
		}
		synctest.Wait()
	}
	flushed := make(chan error, 1)
	go func() { flushed <- s.Flush(ctx) }()
	for done := false; !done; {
		synctest.Wait()
		select {
		case err := <-flushed:
			must(t, err)
			done = true
		case step <- struct{}{}:
		}
	}
	if got := store.content(); !maps.Equal(got, model) {
		t.Errorf("seed %d: got %v, want %v", seed, got, model)
	}
	if err := s.Flush(never); err != nil { // nothing is left
		t.Error(err)
	}
}

// TestFlush: it waits for the batch in flight, too, and ends with the queue.
func TestFlush(t *testing.T) {
	f := New[int, int](nil, Options{})
	must(t, f.Flush(never))
	must(t, f.Add(never, 1, 1, "1"))
	if err := f.Flush(never); !errors.Is(err, context.Canceled) {
		t.Errorf("something is pending: %v", err)
	}
	if _, ok := f.TryPop(); !ok {
		t.Fatal("no batch")
	}
	if err := f.Flush(never); !errors.Is(err, context.Canceled) {
		t.Errorf("a batch is in flight: %v", err)
	}
	must(t, f.Add(never, 2, 2, "2"))
	f.TryPop()
	f.TryPop()
	must(t, f.Flush(never))
	must(t, f.Add(never, 3, 3, "3"))
	f.Close()
	if err := f.Flush(t.Context()); err != ErrClosed {
		t.Error(fmt.Errorf("after Close: %w", err))
	}
}
