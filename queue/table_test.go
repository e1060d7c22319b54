package queue

import (
	"math/rand/v2"
	"testing"
)

// TestTable compares the table with a map, with hashes so poor that everything collides.
func TestTable(t *testing.T) {
	for _, mask := range []uint32{0, 3, 0xff, 0xffffffff} {
		var tab table[int]
		want := map[int]*entry[int]{}
		hash := func(k int) uint32 { return uint32(k) * 2654435761 & mask }
		span := 300
		if mask == 0 {
			span = 40
		}
		for range 20_000 {
			k := rand.IntN(span)
			if e := want[k]; e == nil {
				e = &entry[int]{key: k, hash: hash(k)}
				want[k] = e
				insert(&tab, e)
			} else if rand.IntN(2) == 0 {
				delete(want, k)
				tab.remove(e)
			}
			if rand.IntN(500) == 0 {
				tab.resize(1 << (9 + rand.IntN(2))) // 300 entries fit in either
			}
			probe := rand.IntN(span)
			if got := find(&tab, probe, hash(probe)); got != want[probe] {
				t.Fatalf("mask %x: find(%d) = %v, want %v", mask, probe, got, want[probe])
			}
		}
		if tab.n != len(want) {
			t.Fatalf("n = %d, want %d", tab.n, len(want))
		}
		for e := range tab.all {
			if want[e.key] != e {
				t.Fatalf("all gave %d, which is not in the table", e.key)
			}
			delete(want, e.key)
		}
		if len(want) > 0 {
			t.Fatalf("all left out %v", want)
		}
	}
}

// A table that is used for long must not probe longer than a new one.
func TestTableDoesNotDecay(t *testing.T) {
	var tab table[int]
	live := make([]*entry[int], 0, 96)
	add := func(k int) {
		e := &entry[int]{key: k, hash: uint32(rand.Uint32())}
		live = append(live, e)
		insert(&tab, e)
	}
	for k := range cap(live) {
		add(k)
	}
	for k := range 100_000 {
		i := rand.IntN(len(live))
		tab.remove(live[i])
		live[i] = live[len(live)-1]
		live = live[:len(live)-1]
		add(cap(live) + k)
	}
	if len(tab.slots) != 128 {
		t.Errorf("%d slots for %d entries", len(tab.slots), tab.n)
	}
	mask := uint32(len(tab.slots) - 1)
	far := 0
	for i, s := range tab.slots {
		if s.e != nil {
			far += int((uint32(i) - s.hash) & mask)
		}
	}
	if far > 10*tab.n { // 2.5 per entry is to be expected with random hashes at 3/4
		t.Errorf("entries are %d slots from home on average", far/tab.n)
	}
}
