package deltafifo

import (
	"context"
	"errors"
	"maps"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/kinform/kinform/internal/waittest"
)

// Only what nothing else is to be done with gets a Sync delta: the known object of a key
// that is pending or in flight may be an old one, and of a deleted one none at all.
func TestResync(t *testing.T) {
	store := newShelf[int]()
	for key := 1; key <= 6; key++ {
		store.m[key] = 10 * key
	}
	f := New(store, Options{})
	must(t, f.Update(never, 1, 11, ""), f.Delete(never, 2, 20, ""))
	_, _ = next(t, f)
	must(t, f.Requeue(2), f.Update(never, 3, 31, ""), f.Delete(never, 4, 40, ""))
	must(t, f.Resync(never), f.Resync(never)) // the second one finds all pending
	must(t, f.Update(never, 5, 51, ""), f.Replace(never, Replacement[int, int]{Keep: func(key, _ int) bool { return key != 6 }}))
	b, got := next(t, f)
	want := map[int][]Delta[int]{
		2: {{Type: Deleted, Object: 20}},
		3: {{Type: Updated, Object: 31}},
		4: {{Type: Deleted, Object: 40}},
		5: {{Type: Sync, Object: 50}, {Type: Updated, Object: 51}},
		6: {{Type: Sync, Object: 60}, {Type: Deleted, FinalStateUnknown: true, Object: 60}},
	}
	if !maps.EqualFunc(got, want, slices.Equal) || b.ResourceVersion() != "" {
		t.Errorf("got %v at %q, want %v", got, b.ResourceVersion(), want)
	}
}

func TestResyncWithoutKnown(t *testing.T) {
	f := New[int, int](nil, Options{})
	must(t, f.Add(never, 1, 10, ""), f.Resync(never))
	if f.Len() != 1 {
		t.Errorf("%d deltas pending", f.Len())
	}
}

// A Resync wakes the consumer, waits for room, is taken whole, and ends with the queue.
func TestResyncWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newShelf[int]()
		store.m[1], store.m[2], store.m[3] = 10, 20, 30
		q := &waitQueue{DeltaFIFO: New(store, Options{Limit: 2})}
		resync := func(ctx context.Context) waittest.Call { return waittest.Start(func() error { return q.Resync(ctx) }) }
		pop := q.pop(t.Context())
		pop.Waits(t)
		resync(t.Context()).Want(t, nil)
		pop.Want(t, nil)
		if q.got.Len() != 3 {
			t.Errorf("got %d deltas", q.got.Len())
		}
		q.add(t.Context(), 4).Want(t, nil)
		q.add(t.Context(), 5).Want(t, nil)
		ctx, cancel := context.WithCancel(t.Context())
		first, second := resync(ctx), resync(t.Context())
		first.Waits(t)
		cancel()
		first.Want(t, context.Canceled)
		second.Waits(t)
		q.pop(t.Context()).Want(t, nil)
		second.Want(t, nil)
		if q.Len() != 3 {
			t.Errorf("%d deltas pending", q.Len())
		}
		third := resync(t.Context())
		third.Waits(t)
		q.Close()
		third.Want(t, ErrClosed)
		if err := q.Resync(t.Context()); !errors.Is(err, ErrClosed) {
			t.Errorf("got error %v", err)
		}
	})
}

// An idle Resync is not news.
func TestResyncOfNothing(t *testing.T) {
	f := New(newShelf[int](), Options{})
	must(t, f.Resync(never))
	if b, err := f.Pop(never); !errors.Is(err, context.Canceled) {
		t.Errorf("got %d deltas, error %v", b.Len(), err)
	}
}
