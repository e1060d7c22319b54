package deltafifo

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"

	"github.com/kinform/kinform/reflector"
)

// objectOf is the key of an object in these tests: its first letter.
func objectOf(obj string) (string, error) { return obj[:1], nil }

func idle(obj, version string) reflector.Event[string] {
	return reflector.Event[string]{Type: reflector.Modified, Idle: true, Object: obj, ResourceVersion: version}
}

// popped starts a consumer that waits, and returns what it gets.
func popped(t *testing.T, f *DeltaFIFO[string, string]) chan Batch[string, string] {
	got := make(chan Batch[string, string], 1)
	go func() {
		if b, err := f.Pop(t.Context()); err == nil {
			got <- b
		}
	}()
	synctest.Wait()
	return got
}

func TestApplyNow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSink(objectOf)
		waiting := popped(t, s.fifo)
		failed := errors.New("refused")
		calls := 0
		err := s.ApplyNow(t.Context(), idle("a1", "5"), func(b Batch[string, string]) error {
			calls++
			if b.Len() != 1 || b.ResourceVersion() != "5" || s.fifo.Len() != 0 {
				t.Errorf("a batch of %d at %q, and %d more", b.Len(), b.ResourceVersion(), s.fifo.Len())
			}
			// What another producer adds meanwhile is for the consumer, but not before the end.
			if err := s.fifo.Add(t.Context(), "b", "b1", "6"); err != nil {
				t.Error(err)
			}
			if obj, ok := newest(&s.fifo.core, "a"); obj != "a1" || !ok {
				t.Error("the batch in flight is not known")
			}
			synctest.Wait()
			if len(waiting) > 0 {
				t.Error("Pop has returned during the call")
			}
			return failed
		})
		if err != failed || calls != 1 {
			t.Errorf("%d calls, %v", calls, err)
		}
		if b := <-waiting; b.Len() != 1 || b.ResourceVersion() != "6" {
			t.Errorf("the consumer got %d deltas at %q", b.Len(), b.ResourceVersion())
		}
		// That batch is in flight: so the next change waits for it.
		never := func(Batch[string, string]) error { t.Error("called beside the consumer"); return nil }
		if err := s.ApplyNow(t.Context(), idle("c1", "7"), never); err != nil {
			t.Error(err)
		}
		if b := <-popped(t, s.fifo); b.Len() != 1 || b.ResourceVersion() != "7" {
			t.Errorf("the consumer got %d deltas at %q", b.Len(), b.ResourceVersion())
		}
	})
}

// A key that process gives back is for the consumer, which waited before the call and during it.
func TestApplyNowGivesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSink(objectOf)
		waiting := popped(t, s.fifo)
		err := s.ApplyNow(t.Context(), idle("a1", "5"), func(Batch[string, string]) error { return s.fifo.Requeue("a") })
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if len(waiting) == 0 {
			t.Fatal("the consumer was not woken for the key that was given back")
		}
		if b := <-waiting; b.Len() != 1 || s.fifo.Len() != 0 {
			t.Errorf("the consumer got %d deltas, %d are pending", b.Len(), s.fifo.Len())
		}
	})
}

func TestApplyNowLeavesLargeBatches(t *testing.T) {
	s := newSink(objectOf)
	for n := range mostNow {
		if err := s.Apply(t.Context(), idle(fmt.Sprintf("a%d", n), "")); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.ApplyNow(t.Context(), idle("b", ""), func(Batch[string, string]) error { t.Error("called"); return nil }); err != nil {
		t.Error(err)
	}
	if b, err := s.fifo.Pop(t.Context()); err != nil || b.Len() != mostNow+1 {
		t.Error(b.Len(), err)
	}
}

func TestApplyNowPanics(t *testing.T) {
	s := newSink(objectOf)
	func() {
		defer func() {
			if recover() == nil {
				t.Error("no panic")
			}
		}()
		_ = s.ApplyNow(t.Context(), idle("a", "1"), func(Batch[string, string]) error { panic("oh") })
	}()
	if err := s.Apply(t.Context(), idle("b", "2")); err != nil {
		t.Error(err)
	}
	if b, err := s.fifo.Pop(t.Context()); err != nil || b.Len() != 1 {
		t.Error("the queue is of no use after a panic:", b.Len(), err)
	}
	s.fifo.Close()
	if err := s.ApplyNow(t.Context(), idle("c", "3"), nil); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
}

// TestApplyNowBesideConsumer lets a producer and a consumer process what two producers add. No
// two process at once, nothing is lost, and the deltas of each key come in order.
func TestApplyNowBesideConsumer(t *testing.T) {
	s := newLimited(objectOf, Options{Limit: 8})
	const n = 20_000
	seen := map[string]int{} // guarded by who may process
	total := 0
	process := func(b Batch[string, string]) error {
		for key, deltas := range b.All() {
			for _, d := range deltas {
				var at int
				if _, err := fmt.Sscanf(d.Object[1:], "%d", &at); err != nil || at != seen[key]+1 {
					return fmt.Errorf("%s after %d: %w", d.Object, seen[key], err)
				}
				seen[key]++
				total++
			}
		}
		return nil
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	consumed := make(chan struct{})
	go func() {
		defer close(consumed)
		for {
			b, err := s.fifo.Pop(t.Context())
			if err != nil {
				return
			}
			if err := process(b); err != nil {
				cancel(err)
				return
			}
		}
	}()
	other := make(chan error)
	go func() {
		for i := range n / 10 {
			if err := s.fifo.Add(ctx, "z", fmt.Sprintf("z%d", i+1), ""); err != nil {
				other <- err
				return
			}
		}
		close(other)
	}()
	r := rand.New(rand.NewPCG(7, 7))
	last := map[string]int{}
	for range n {
		key := string(rune('a' + r.IntN(5)))
		last[key]++
		ev, apply := idle(fmt.Sprintf("%s%d", key, last[key]), ""), s.Apply
		if r.IntN(3) > 0 {
			apply = func(ctx context.Context, ev reflector.Event[string]) error { return s.ApplyNow(ctx, ev, process) }
		}
		if err := apply(ctx, ev); err != nil {
			t.Fatal(err, context.Cause(ctx))
		}
	}
	if err := <-other; err != nil {
		t.Error(err)
	}
	s.fifo.Close()
	<-consumed
	if total != n+n/10 || ctx.Err() != nil {
		t.Errorf("%d deltas of %d, %v", total, n+n/10, context.Cause(ctx))
	}
}
