package queue

import (
	"math/rand/v2"
	"testing"
)

// TestTimers compares the heap with a search for the least.
func TestTimers(t *testing.T) {
	h := timers[int]{which: held}
	want := map[*entry[int]]int64{}
	least := func() int64 {
		at := int64(-1)
		for _, a := range want {
			if at < 0 || a < at {
				at = a
			}
		}
		return at
	}
	entries := make([]entry[int], 300)
	for step := range 30_000 {
		e := &entries[rand.IntN(len(entries))]
		_, in := want[e]
		switch op := rand.IntN(4); {
		case op == 0 && in:
			h.remove(e)
			delete(want, e)
		case op == 1 && len(want) > 0 && step%5000 > 4000: // shrink now and then
			e = h.slots[0].e
			h.remove(e)
			delete(want, e)
		default:
			at := rand.Int64N(1000)
			h.set(e, at)
			want[e] = at
		}
		if len(h.slots) != len(want) {
			t.Fatalf("step %d: %d in the heap, want %d", step, len(h.slots), len(want))
		}
		if len(want) > 0 && h.slots[0].at != least() {
			t.Fatalf("step %d: first is %d, want %d", step, h.slots[0].at, least())
		}
		for i, s := range h.slots {
			if want[s.e] != s.at || h.at(s.e) != s.at || int(s.e.pos[held]) != i+1 || s.e.pos[delayed] != 0 {
				t.Fatalf("step %d: slot %d is %+v", step, i, s)
			}
		}
	}
}

func TestTimersGiveMemoryBack(t *testing.T) {
	h := timers[int]{}
	entries := make([]entry[int], 10_000)
	for i := range entries {
		h.set(&entries[i], int64(i))
	}
	for i := range entries {
		h.remove(&entries[i])
	}
	if c := cap(h.slots); c > keepTimers {
		t.Errorf("an empty heap keeps room for %d", c)
	}
}
