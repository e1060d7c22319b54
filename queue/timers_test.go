package queue

import (
	"math/rand/v2"
	"testing"
)

// TestTimers compares the heap with a search for the least.
func TestTimers(t *testing.T) {
	h := timers[int]{which: held}
	type due struct {
		at  int64
		seq uint64
	}
	want := map[*entry[int]]due{}
	least := func() (first due) {
		for _, d := range want {
			if first.seq == 0 || d.at < first.at || d.at == first.at && d.seq < first.seq {
				first = d
			}
		}
		return first
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
			d := due{at: rand.Int64N(100), seq: uint64(step) + 1} // many are due at the same time
			h.set(e, d.at, d.seq)
			if was, in := want[e]; !in || was.at != d.at {
				want[e] = d
			}
		}
		if len(h.slots) != len(want) {
			t.Fatalf("step %d: %d in the heap, want %d", step, len(h.slots), len(want))
		}
		if len(want) > 0 && (due{h.slots[0].at, h.slots[0].seq}) != least() {
			t.Fatalf("step %d: first is %+v, want %+v", step, h.slots[0], least())
		}
		for i, s := range h.slots {
			if want[s.e] != (due{s.at, s.seq}) || h.at(s.e) != s.at || int(s.e.pos[held]) != i+1 || s.e.pos[delayed] != 0 {
				t.Fatalf("step %d: slot %d is %+v", step, i, s)
			}
		}
	}
}

func TestTimersGiveMemoryBack(t *testing.T) {
	h := timers[int]{}
	entries := make([]entry[int], 10_000)
	for i := range entries {
		h.set(&entries[i], int64(i), uint64(i))
	}
	for i := range entries {
		h.remove(&entries[i])
	}
	if c := cap(h.slots); c > keepTimers {
		t.Errorf("an empty heap keeps room for %d", c)
	}
}
