package keytable

import (
	"math/rand/v2"
	"slices"
	"testing"

	"go.uber.org/goleak"

	"github.com/kinform/kinform/internal/memtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func ids(t *Table, hash uint32) (out []uint32) {
	var p Probe
	for {
		id, ok := t.Next(hash, &p)
		if !ok {
			slices.Sort(out)
			return out
		}
		out = append(out, id)
	}
}

// TestModel compares random operations with a map from id to hash. Few hash bits make
// collisions and long probes.
func TestModel(t *testing.T) {
	for _, c := range []struct {
		mask  uint32
		size  int
		steps int
	}{{0xffffffff, 300, 100_000}, {0x1f, 200, 50_000}, {0, 20, 20_000}, {0xf0000000, 100, 50_000}} {
		r := rand.New(rand.NewPCG(2, uint64(c.mask)))
		var tab Table
		want := map[uint32]uint32{}
		free := func() uint32 {
			for {
				if id := uint32(r.IntN(4 * c.size)); !has(want, id) {
					return id
				}
			}
		}
		used := func() uint32 {
			for id := range want {
				return id
			}
			return 0
		}
		for step := range c.steps {
			grow := r.IntN(2*c.size) > len(want)
			if step/(10*c.size)%3 == 2 {
				grow = r.IntN(5) == 0
			}
			switch {
			case grow:
				id, hash := free(), r.Uint32()&c.mask
				tab.Insert(hash, id)
				want[id] = hash
			case len(want) == 0:
			case r.IntN(4) == 0:
				from, to := used(), free()
				tab.Move(from, to)
				want[to] = want[from]
				delete(want, from)
			default:
				id := used()
				tab.Remove(id)
				delete(want, id)
			}
			if r.IntN(500) == 0 {
				tab = tab.Clone()
			}
			verify(t, &tab, want, r.Uint32()&c.mask)
			for id, hash := range want {
				if tab.HashOf(id) != hash || !slices.Contains(ids(&tab, hash), id) {
					t.Fatalf("id %d is not found under its hash", id)
				}
				break
			}
			if t.Failed() {
				return
			}
		}
	}
}

func has(m map[uint32]uint32, id uint32) bool { _, ok := m[id]; return ok }

func verify(t *testing.T, tab *Table, want map[uint32]uint32, hash uint32) {
	t.Helper()
	if tab.Len() != len(want) {
		t.Errorf("Len %d, want %d", tab.Len(), len(want))
	}
	var under []uint32
	for id, h := range want {
		if h == hash {
			under = append(under, id)
		}
	}
	slices.Sort(under)
	if got := ids(tab, hash); !slices.Equal(got, under) {
		t.Errorf("under %x: %v, want %v", hash, got, under)
	}
}

func TestGivesBack(t *testing.T) {
	var tab Table
	for id := range uint32(10_000) {
		tab.Insert(id*0x9e3779b1, id)
	}
	for id := range uint32(9_990) {
		tab.Remove(9_999 - id)
	}
	tab.Truncate(10)
	if len(tab.slots) > 128 || cap(tab.hashes) > 128 {
		t.Errorf("10 ids in %d slots and %d hashes", len(tab.slots), cap(tab.hashes))
	}
	for id := range uint32(10) {
		if got := ids(&tab, id*0x9e3779b1); len(got) != 1 || got[0] != id {
			t.Errorf("id %d: %v", id, got)
		}
		tab.Remove(id)
	}
	if tab.slots != nil || tab.Len() != 0 {
		t.Error("an empty table keeps its slots")
	}
}

func TestReserveAndReset(t *testing.T) {
	var tab Table
	tab.Reserve(1000)
	size := len(tab.slots)
	for id := range uint32(1000) {
		tab.Insert(id, id)
	}
	if len(tab.slots) != size {
		t.Errorf("grew from %d to %d though reserved", size, len(tab.slots))
	}
	tab.Reset(2000)
	if tab.Len() != 0 || len(tab.slots) != size || len(ids(&tab, 5)) != 0 {
		t.Error("Reset left something, or dropped the room")
	}
	for id := range uint32(10) { // few in a large table: taken out one by one
		tab.Insert(id%2, id)
	}
	tab.Reset(2000)
	if tab.Len() != 0 || slices.ContainsFunc(tab.slots, func(e uint64) bool { return e != 0 }) {
		t.Error("Reset left an entry")
	}
	tab.Insert(1, 0)
	if tab.Reset(3); tab.slots != nil {
		t.Error("Reset kept more room than it was told")
	}
}

func TestOneAllocationFreeCycle(t *testing.T) {
	var tab Table
	for id := range uint32(1000) {
		tab.Insert(id, id)
	}
	if n := memtest.Allocs(100, func() { tab.Remove(500); tab.Insert(500, 500) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkNext(b *testing.B) {
	var tab Table
	for id := range uint32(100_000) {
		tab.Insert(id*0x9e3779b1, id)
	}
	for i := uint32(0); b.Loop(); i++ {
		var p Probe
		if _, ok := tab.Next(i*7919%100_000*0x9e3779b1, &p); !ok {
			b.Fatal("lost")
		}
	}
}
