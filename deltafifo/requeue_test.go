package deltafifo

import (
	"context"
	"errors"
	"maps"
	"slices"
	"testing"
	"testing/synctest"
)

// keysOf returns the keys of a batch in their order.
func keysOf(b Batch[int, int]) (keys []int) {
	for key := range b.All() {
		keys = append(keys, key)
	}
	return keys
}

// What is given back comes before what came later, at the place that the key has.
func TestRequeueOrder(t *testing.T) {
	f := New[int, int](nil, Options{})
	must(t, f.Add(never, 1, 10, ""), f.Add(never, 2, 20, ""), f.Add(never, 3, 30, ""), f.Update(never, 1, 11, "5"))
	_, _ = next(t, f)
	must(t, f.Add(never, 4, 40, ""), f.Update(never, 2, 21, ""), f.Delete(never, 1, 12, "8"))
	must(t, f.Requeue(3), f.Requeue(1), f.Requeue(2))
	b, got := next(t, f)
	if keys := keysOf(b); !slices.Equal(keys, []int{4, 2, 1, 3}) {
		t.Errorf("got keys %v", keys)
	}
	want := map[int][]Delta[int]{
		1: {{Type: Added, Object: 10}, {Type: Updated, Object: 11, ResourceVersion: "5"}, {Type: Deleted, Object: 12, ResourceVersion: "8"}},
		2: {{Type: Added, Object: 20}, {Type: Updated, Object: 21}},
		3: {{Type: Added, Object: 30}},
		4: {{Type: Added, Object: 40}},
	}
	if !maps.EqualFunc(got, want, slices.Equal) || b.ResourceVersion() != "8" || b.Len() != 7 {
		t.Errorf("got %d deltas at %q: %v, want %v", b.Len(), b.ResourceVersion(), got, want)
	}
}

// The batch that a key is given back from stays as it was.
func TestRequeueLeavesBatch(t *testing.T) {
	f := New[int, int](nil, Options{})
	must(t, f.Add(never, 1, 10, ""), f.Update(never, 1, 11, ""))
	b, before := next(t, f)
	must(t, f.Requeue(1), f.Update(never, 1, 12, ""), f.Update(never, 1, 13, ""))
	if after := maps.Collect(b.All()); b.Len() != 2 || !maps.EqualFunc(before, after, slices.Equal) {
		t.Errorf("got %d deltas: %v, want %v", b.Len(), after, before)
	}
}

func TestRequeueOfNothing(t *testing.T) {
	f := New[int, int](nil, Options{})
	wantErr := func(key int) {
		t.Helper()
		if err := f.Requeue(key); !errors.Is(err, errNotInFlight) {
			t.Errorf("key %d: got error %v", key, err)
		}
	}
	must(t, f.Add(never, 1, 10, ""), f.Add(never, 2, 20, ""))
	wantErr(1) // pending, but not in flight
	_, _ = next(t, f)
	wantErr(3)
	must(t, f.Requeue(1))
	wantErr(1) // already
	if f.Len() != 1 {
		t.Errorf("%d deltas pending", f.Len())
	}
	_, _ = next(t, f)
	wantErr(2) // of the batch before
	must(t, f.Requeue(1))
}

// What came while the key was in flight was judged against it, and is right behind it.
func TestRequeueAfterReplace(t *testing.T) {
	store := newShelf[int]()
	store.m[1], store.m[2] = 10, 20
	f := New(store, Options{})
	must(t, f.Update(never, 1, 11, ""), f.Delete(never, 2, 21, ""), f.Add(never, 3, 30, ""))
	_, _ = next(t, f)
	must(t, f.Replace(never, Replacement[int, int]{}), f.Delete(never, 2, 22, ""))
	must(t, f.Requeue(1), f.Requeue(2)) // 3 is committed
	store.m[3] = 30
	_, got := next(t, f)
	want := map[int][]Delta[int]{
		1: {{Type: Updated, Object: 11}, {Type: Deleted, FinalStateUnknown: true, Object: 11}},
		2: {{Type: Deleted, Object: 21}},
		3: {{Type: Deleted, FinalStateUnknown: true, Object: 30}},
	}
	if !maps.EqualFunc(got, want, slices.Equal) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// A key that was given back is judged by what came back, not by what the store has.
func TestReplaceAfterRequeue(t *testing.T) {
	store := newShelf[int]()
	store.m[1], store.m[2] = 10, 20
	f := New(store, Options{})
	must(t, f.Update(never, 1, 11, ""), f.Delete(never, 2, 21, ""), f.Add(never, 3, 30, ""))
	_, _ = next(t, f)
	must(t, f.Requeue(1), f.Requeue(2), f.Requeue(3))
	must(t, f.Replace(never, Replacement[int, int]{Objects: objectsOf(keyedObject[int, int]{Key: 2, Object: 29})}))
	b, got := next(t, f)
	want := map[int][]Delta[int]{
		1: {{Type: Updated, Object: 11}, {Type: Deleted, FinalStateUnknown: true, Object: 11}},
		2: {{Type: Deleted, Object: 21}, {Type: Replaced, Initial: true, Object: 29}},
		3: {{Type: Added, Object: 30}, {Type: Deleted, FinalStateUnknown: true, Object: 30}},
	}
	if !maps.EqualFunc(got, want, slices.Equal) || !b.EndsInitialList() {
		t.Errorf("got %v, want %v", got, want)
	}
}

// After Close nothing new comes in, but what comes back goes out again.
func TestRequeueAfterClose(t *testing.T) {
	f := New[int, int](nil, Options{})
	must(t, f.Add(never, 1, 10, ""))
	_, _ = next(t, f)
	f.Close()
	must(t, f.Requeue(1))
	if b, _ := next(t, f); b.Len() != 1 {
		t.Errorf("got %d deltas", b.Len())
	}
	if _, err := f.Pop(never); !errors.Is(err, ErrClosed) {
		t.Errorf("got error %v", err)
	}
}

// However often all is given back, no more than twice the limit is there.
func TestRequeueIsBounded(t *testing.T) {
	const limit = 5
	f := New[int, int](nil, Options{Limit: limit})
	fill := func(key int) (n int) {
		for f.Update(never, key, 0, "") == nil {
			n++
		}
		return n
	}
	for round := range 10 {
		fill(round)
		b, err := f.Pop(never)
		must(t, err)
		fill(round + 1)
		for key := range b.All() {
			must(t, f.Requeue(key))
		}
		f.check(t)
		if f.Len() > 2*limit {
			t.Fatalf("round %d: %d deltas are pending at a limit of %d", round, f.Len(), limit)
		}
	}
	_, _ = next(t, f)
	if n := fill(1); n != 0 {
		t.Errorf("took %d while twice the limit is in flight again", n)
	}
	if _, err := f.Pop(never); err == nil {
		t.Fatal("more is pending")
	}
	if n := fill(1); n != limit {
		t.Errorf("took %d when all was processed, want %d", n, limit)
	}
}

// Producers that wait for what is in flight again go on when it is processed, though
// nothing was pending that a Pop could have taken.
func TestProducersWaitForRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newWaitQueue(2)
		q.add(t.Context(), 1).Want(t, nil)
		q.add(t.Context(), 2).Want(t, nil)
		q.pop(t.Context()).Want(t, nil)
		must(t, q.Requeue(1), q.Requeue(2))
		add := q.add(t.Context(), 3)
		add.Waits(t)
		q.pop(t.Context()).Want(t, nil)
		add.Waits(t)
		pop := q.pop(t.Context())
		add.Want(t, nil)
		pop.Want(t, nil)
		if keys := keysOf(q.got); !slices.Equal(keys, []int{3}) {
			t.Errorf("got keys %v", keys)
		}
	})
}

// Giving back makes no room, and a batch is not done by it.
func TestRequeueWhileProducersWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newWaitQueue(1)
		q.add(t.Context(), 1).Want(t, nil)
		q.pop(t.Context()).Want(t, nil)
		q.add(t.Context(), 2).Want(t, nil)
		ctx, cancel := context.WithCancel(t.Context())
		add := q.add(ctx, 3)
		must(t, q.Requeue(1))
		add.Waits(t)
		cancel()
		add.Want(t, context.Canceled)
		q.pop(t.Context()).Want(t, nil)
		if keys := keysOf(q.got); !slices.Equal(keys, []int{2, 1}) {
			t.Errorf("got keys %v", keys)
		}
	})
}
