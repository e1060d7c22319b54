package deltafifo

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/kinform/kinform/internal/capacity"
	"github.com/kinform/kinform/internal/memtest"
)

// cycle puts deltas round robin to keys, takes them and is done with them.
func cycle(t testing.TB, f *DeltaFIFO[int, int], keys, deltas int) {
	t.Helper()
	for i := range deltas {
		if err := f.Update(never, i%keys, i, ""); err != nil {
			t.Fatal(err)
		}
	}
	if b, err := f.Pop(never); err != nil || b.Len() != deltas {
		t.Fatalf("got %d deltas, error %v; want %d", b.Len(), err, deltas)
	}
	if _, err := f.Pop(never); err == nil {
		t.Fatal("got more than was put")
	}
}

// In the long run the queue itself allocates nothing for an event.
func TestAllocations(t *testing.T) {
	for _, size := range []struct{ keys, deltas int }{
		{1, 1}, {1, 3}, {1, 4096}, {10, 10}, {100, 1000}, {1000, 1000}, {4096, 4096},
	} {
		t.Run(fmt.Sprintf("%d deltas of %d keys", size.deltas, size.keys), func(t *testing.T) {
			f := New[int, int](nil, Options{Limit: 4096})
			cycle(t, f, size.keys, size.deltas)
			cycle(t, f, size.keys, size.deltas)
			n := memtest.Allocs(50, func() { cycle(t, f, size.keys, size.deltas) })
			if n > 0 {
				t.Errorf("%g allocations in a cycle", n)
			}
		})
	}
}

// used returns how many deltas the queue's buffers have room for.
func used(f *DeltaFIFO[int, int]) (room int) {
	for _, b := range []*buffer[int, int]{f.pending, f.inFlight, f.spare} {
		if b != nil {
			room += max(b.room, cap(b.entries))
		}
	}
	return room
}

// A burst costs memory while it lasts and for some small batches after it, not for good.
func TestBurstIsForgotten(t *testing.T) {
	for name, burst := range map[string]func(f *DeltaFIFO[int, int]){
		"of keys":     func(f *DeltaFIFO[int, int]) { cycle(t, f, defaultLimit, defaultLimit) },
		"of one key":  func(f *DeltaFIFO[int, int]) { cycle(t, f, 1, defaultLimit) },
		"of all that": func(f *DeltaFIFO[int, int]) { cycle(t, f, 100, defaultLimit) },
	} {
		t.Run(name, func(t *testing.T) {
			f := New[int, int](nil, Options{})
			burst(f)
			burst(f)
			if room := used(f); room < defaultLimit {
				t.Fatalf("room for %d deltas right after the burst", room)
			}
			for range 2 * capacity.Patience {
				cycle(t, f, 2, 2)
				f.check(t)
			}
			if room := used(f); room > 2*capacity.Little {
				t.Errorf("room for %d deltas long after the burst", room)
			}
		})
	}
}

// As long as bursts come back, their room is kept.
func TestBurstsAreRemembered(t *testing.T) {
	f := New[int, int](nil, Options{Limit: 1000})
	for round := range 10 {
		cycle(t, f, 1000, 1000)
		cycle(t, f, 1000, 1000)
		for range capacity.Patience {
			cycle(t, f, 1, 1)
		}
		if room := used(f); round > 0 && room < 1000 {
			t.Fatalf("round %d: room for %d deltas", round, room)
		}
	}
}

// A list makes its room at once; what grows by doubling needs three times the memory.
func TestReplaceAllocatesAtOnce(t *testing.T) {
	list := Replacement[int, int]{Objects: &Objects[int, int]{}}
	for key := range 10000 {
		list.Objects.Set(key, 0, "")
	}
	small := memtest.Allocs(5, func() { _ = isEmpty(New[int, int](nil, Options{}).waiting) })
	n := memtest.Allocs(5, func() { must(t, New[int, int](nil, Options{}).Replace(never, list)) })
	if n > small+40 { // the map's tables; growing makes about 150
		t.Errorf("%g allocations for a list of %d", n, list.Objects.Len())
	}
}

// A list that is far beyond the limit is not what comes every day.
func TestLargeListIsForgottenAtOnce(t *testing.T) {
	f := New[int, int](nil, Options{Limit: 100})
	list := Replacement[int, int]{Objects: &Objects[int, int]{}}
	for key := range 10 * 100 {
		list.Objects.Set(key, 0, "")
	}
	if err := f.Replace(never, list); err != nil {
		t.Fatal(err)
	}
	f.check(t)
	if b, err := f.Pop(never); err != nil || b.Len() != list.Objects.Len() {
		t.Fatalf("got %d deltas, error %v", b.Len(), err)
	}
	cycle(t, f, 1, 1)
	if room := used(f); room > capacity.Little {
		t.Errorf("room for %d deltas after the list", room)
	}
}

// The entry that has the hot key is another one in every batch; what each of them grew to
// must not add up.
func TestHotKeysDoNotAddUp(t *testing.T) {
	const limit = 500
	f := New[int, int](nil, Options{Limit: limit})
	rnd := rand.New(rand.NewPCG(1, 1))
	for range 300 {
		for key := range rnd.IntN(100) {
			must(t, f.Add(never, key, key, ""))
		}
		for f.Len() < limit {
			must(t, f.Update(never, 100, 1, ""))
		}
		if b, err := f.Pop(never); err != nil || b.Len() != limit {
			t.Fatalf("got %d deltas, error %v; want %d", b.Len(), err, limit)
		}
		f.check(t)
		if room := used(f); room > 2*spareFactor*limit+4*limit {
			t.Fatalf("room for %d deltas at a limit of %d", room, limit)
		}
	}
}
