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
	}{{0xffffffff, 300, 100_000}, {0xffffffff, 2_500, 30_000}, {0xfff, 2_500, 10_000}, {0x1f, 200, 50_000}, {0, 20, 20_000}, {0xf0000000, 100, 50_000}} {
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
			if c.size > 1000 && step%50 != 0 {
				continue // the checks are linear
			}
			verify(t, &tab, want, r.Uint32()&c.mask)
			if step%50 == 0 {
				validate(t, &tab)
			}
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

// validate verifies the invariants.
func validate(t *testing.T, tab *Table) {
	t.Helper()
	parts, total := len(tab.parts), 0
	if parts > 0 && (int(tab.mask) < parts || int(tab.mask)/2 >= parts) {
		t.Fatalf("mask %x with %d parts", tab.mask, parts)
	}
	if tab.n > parts*partLen || parts > 1 && tab.n < parts*partLen/4 {
		t.Fatalf("%d ids in %d parts", tab.n, parts)
	}
	for i := range tab.parts {
		p := &tab.parts[i]
		n := 0
		for _, e := range p.slots {
			if e == 0 {
				continue
			}
			n++
			if tab.part(uint32(e>>32)) != p || tab.HashOf(uint32(e)-1) != uint32(e>>32) {
				t.Fatalf("part %d of %d has an entry that is not its own", i, parts)
			}
			for j := home(uint32(e>>32), len(p.slots)); p.slots[j] != e; j = (j + 1) % len(p.slots) {
				if p.slots[j] == 0 {
					t.Fatalf("part %d has an entry that is not found", i)
				}
			}
		}
		if total += n; n != p.n || 16*n > 13*len(p.slots) {
			t.Fatalf("part %d counts %d entries in %d slots, has %d", i, p.n, len(p.slots), n)
		}
	}
	if total != tab.n {
		t.Fatalf("%d entries, Len %d", total, tab.n)
	}
}

// No operation touches more than some thousand entries, however large the table is: while it
// grows and shrinks, one by one, each rebuilds two parts at most, and no part is large.
func TestBoundedSteps(t *testing.T) {
	n := 200_000
	if testing.Short() {
		n = 30_000
	}
	var tab Table
	before := make([]part, 0, n/partLen+2)
	step := func(f func()) {
		t.Helper()
		before = append(before[:0], tab.parts...)
		f()
		rebuilt, moved := 0, 0
		for i, p := range tab.parts {
			if i >= len(before) || len(p.slots) > 0 && (len(before[i].slots) == 0 || &p.slots[0] != &before[i].slots[0]) {
				rebuilt++
				moved += p.n
			}
		}
		if rebuilt > 2 || moved > 3*partLen {
			t.Fatalf("at %d ids: %d parts with %d entries were rebuilt", tab.n, rebuilt, moved)
		}
	}
	hash := func(id int) uint32 { return uint32(uint64(id+1) * 0x9e3779b97f4a7c15 >> 32) }
	for id := range n {
		step(func() { tab.Insert(hash(id), uint32(id)) })
	}
	validate(t, &tab)
	if room := tab.room(); room > 2*n {
		t.Errorf("%d ids take %d slots", n, room)
	}
	for id := range n {
		step(func() { tab.Remove(uint32(n - 1 - id)); tab.Truncate(n - 1 - id) })
		if id == n/2 || id == n*9/10 {
			validate(t, &tab)
			c := tab.Clone()
			validate(t, &c)
		}
	}
	if tab.parts != nil {
		t.Error("an empty table keeps its parts")
	}
}

// Reserve leaves little to do for as many insertions.
func TestReserveMany(t *testing.T) {
	var tab Table
	for id := range uint32(100) {
		tab.Insert(id*0x9e3779b1, id)
	}
	const n = 100_000
	tab.Reserve(n - 100)
	validated := len(tab.parts)
	room := tab.room()
	for id := uint32(100); id < n; id++ {
		tab.Insert(id*0x9e3779b1, id)
	}
	validate(t, &tab)
	if len(tab.parts) != validated || tab.room() > room+room/20 || room > 2*n {
		t.Errorf("room for %d in %d parts, then %d in %d", room, validated, tab.room(), len(tab.parts))
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
	if tab.room() > 128 || tab.hashes.Room() > 128 || cap(tab.parts) > 64 {
		t.Errorf("10 ids in %d slots and %d hashes, room for %d parts", tab.room(), tab.hashes.Room(), cap(tab.parts))
	}
	for id := range uint32(10) {
		if got := ids(&tab, id*0x9e3779b1); len(got) != 1 || got[0] != id {
			t.Errorf("id %d: %v", id, got)
		}
		tab.Remove(id)
	}
	if tab.parts != nil || tab.Len() != 0 {
		t.Error("an empty table keeps its slots")
	}
}

func TestReserveAndReset(t *testing.T) {
	var tab Table
	tab.Reserve(1000)
	size := tab.room()
	for id := range uint32(1000) {
		tab.Insert(id, id)
	}
	if tab.room() != size {
		t.Errorf("grew from %d to %d though reserved", size, tab.room())
	}
	tab.Reset(2000)
	if tab.Len() != 0 || tab.room() != size || len(ids(&tab, 5)) != 0 {
		t.Error("Reset left something, or dropped the room")
	}
	for id := range uint32(10) { // few in a large table: taken out one by one
		tab.Insert(id%2, id)
	}
	tab.Reset(2000)
	if tab.Len() != 0 || slices.ContainsFunc(tab.parts[0].slots, func(e uint64) bool { return e != 0 }) {
		t.Error("Reset left an entry")
	}
	tab.Insert(1, 0)
	if tab.Reset(3); tab.parts != nil {
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
