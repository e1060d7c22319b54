package posting

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"go.uber.org/goleak"

	"github.com/kinform/kinform/internal/memtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func val(v int) Value[int] { return Value[int]{v, uint32(v) * 0x9e3779b1 & 0xff} } // many collisions

func vals(vs ...int) (out []Value[int]) {
	for _, v := range vs {
		out = append(out, val(v))
	}
	return out
}

type model map[uint32][]int

func (m model) find(v int) (slots []uint32) {
	for slot, vs := range m {
		if slices.Contains(vs, v) {
			slots = append(slots, slot)
		}
	}
	slices.Sort(slots)
	return slots
}

// TestModel compares random operations with a map, and runs the checker after each.
func TestModel(t *testing.T) {
	for _, c := range []struct{ slots, values, each, steps int }{
		{20, 6, 4, 60_000},   // few slots of several values
		{100, 5, 1, 60_000},  // one value each
		{60, 400, 3, 40_000}, // nearly unique values
		{5, 200, 90, 3_000},  // very many values each
	} {
		if testing.Short() {
			c.steps /= 10
		}
		r := rand.New(rand.NewPCG(3, uint64(c.slots)))
		l, m := &Lists[int]{}, model{}
		type held struct{ got, want []uint32 }
		var frozen []held
		for step := range c.steps {
			slot := uint32(r.IntN(c.slots))
			drain := step/(c.slots*20)%4 == 3
			switch n := r.IntN(20); {
			case n < 4 || drain && n < 14:
				l.Drop(slot)
				delete(m, slot)
			case n == 4 && m[slot] != nil:
				if to := uint32(r.IntN(c.slots)); m[to] == nil {
					l.Move(slot, to)
					m[to] = m[slot]
					delete(m, slot)
				}
			case n == 5:
				v := r.IntN(c.values)
				got := l.Freeze(val(v))
				frozen = append(frozen, held{got, slices.Clone(got)})
			case n == 6 && r.IntN(20) == 0:
				cl := l.Clone()
				l = &cl
			default:
				vs := r.Perm(c.values)[:r.IntN(min(c.each, c.values)+1)]
				if len(m[slot]) > 0 && r.IntN(3) == 0 { // change little
					vs = slices.Clone(m[slot])
					if v := r.IntN(c.values); !slices.Contains(vs, v) {
						vs[r.IntN(len(vs))] = v
					}
					r.Shuffle(len(vs), func(i, j int) { vs[i], vs[j] = vs[j], vs[i] })
				}
				l.Set(slot, vals(vs...))
				if m[slot] = vs; len(vs) == 0 {
					delete(m, slot)
				}
			}
			if err := l.Check(c.slots); err != nil {
				t.Fatalf("step %d: %v", step, err)
			}
			v := r.IntN(c.values)
			got := slices.Sorted(slices.Values(l.Find(val(v))))
			if !slices.Equal(got, m.find(v)) {
				t.Fatalf("step %d: value %d has %v, want %v", step, v, got, m.find(v))
			}
			if err := l.CheckSlot(slot, vals(m[slot]...)); err != nil {
				t.Fatalf("step %d: %v", step, err)
			}
			if len(frozen) > 10 {
				if h := frozen[0]; !slices.Equal(h.got, h.want) {
					t.Fatalf("step %d: a frozen posting changed from %v to %v", step, h.want, h.got)
				}
				frozen = frozen[1:]
			}
		}
		distinct := map[int]bool{}
		for _, vs := range m {
			for _, v := range vs {
				distinct[v] = true
			}
		}
		if got := l.AppendValues(nil); len(got) != len(distinct) || l.Len() != len(distinct) {
			t.Errorf("%d values, Len %d, want %d", len(got), l.Len(), len(distinct))
		}
	}
}

// TestCheckFinds breaks each invariant and expects the checker to notice.
func TestCheckFinds(t *testing.T) {
	mk := func() *Lists[int] {
		l := &Lists[int]{}
		l.Set(0, vals(1))
		l.Set(1, vals(1, 2))
		l.Set(2, vals(2))
		l.Set(3, vals(3))
		l.Drop(3)
		return l
	}
	if err := mk().Check(4); err != nil {
		t.Fatal(err)
	}
	for name, harm := range map[string]func(*Lists[int]){
		"wrong position":       func(l *Lists[int]) { l.refs[0].pos = 1 },
		"position too high":    func(l *Lists[int]) { l.refs[0].pos = 9 },
		"posting too high":     func(l *Lists[int]) { l.refs[0].post = 9 },
		"lost back-reference":  func(l *Lists[int]) { l.refs[0] = ref{} },
		"foreign slot":         func(l *Lists[int]) { l.posts[0].ids[0] = 2 },
		"entry without ref":    func(l *Lists[int]) { l.posts[0].ids = append(l.posts[0].ids, 2) },
		"value not in table":   func(l *Lists[int]) { l.table.Remove(0) },
		"free list too long":   func(l *Lists[int]) { l.free = append(l.free, 0) },
		"slots that are gone":  func(l *Lists[int]) { l.reach(10) },
		"posting of two twice": func(l *Lists[int]) { l.more[0][1] = l.more[0][0] },
	} {
		l := mk()
		harm(l)
		if l.Check(4) == nil {
			t.Errorf("%s is not noticed", name)
		}
	}
	l := mk()
	l.posts[0].value = 7
	if l.CheckSlot(0, vals(1)) == nil {
		t.Error("a changed value is not noticed")
	}
	l = mk()
	for name, want := range map[string][]Value[int]{"fewer": nil, "more": vals(1, 2), "other": vals(2)} {
		if l.CheckSlot(0, want) == nil {
			t.Errorf("slot with %s values is not noticed", name)
		}
	}
}

// TestUnchangedWritesNothing holds Set to its promise, in the given and another order.
func TestUnchangedWritesNothing(t *testing.T) {
	l := &Lists[int]{}
	for slot := range uint32(100) {
		l.Set(slot, vals(1, 2, int(slot)+10))
	}
	held := l.Freeze(val(1))
	for _, vs := range [][]Value[int]{vals(1, 2, 60), vals(60, 2, 1)} {
		if n := memtest.Allocs(10, func() { l.Set(50, vs) }); n != 0 {
			t.Errorf("%v allocations", n)
		}
	}
	if l.posts[l.find(val(1))-1].shared == 0 || len(held) != 100 {
		t.Error("a posting was copied for nothing")
	}
}

func TestNaN(t *testing.T) {
	l := &Lists[float64]{}
	nan := Value[float64]{math.NaN(), 1}
	for range 5 {
		l.Set(0, []Value[float64]{nan, {2, 2}})
		if err := l.Check(1); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.CheckSlot(0, []Value[float64]{nan, {2, 2}}); err != nil {
		t.Error(err)
	}
	if l.Len() != 1 || len(l.posts) != 1 {
		t.Errorf("%d values, %d postings", l.Len(), len(l.posts))
	}
	l.Drop(0)
	if l.Len() != 0 {
		t.Error("a value is left")
	}
}

// TestGivesBack has 20,000 values and slots come and go.
func TestGivesBack(t *testing.T) {
	l := &Lists[int]{}
	const n = 20_000
	for slot := range uint32(n) {
		l.Set(slot, []Value[int]{{int(slot), slot * 77}, {-1, 5}})
	}
	for slot := uint32(n - 1); slot >= 20; slot-- {
		l.Drop(slot)
	}
	l.Truncate(20)
	if err := l.Check(20); err != nil {
		t.Fatal(err)
	}
	if len(l.posts) > 200 || len(l.more) > 200 || cap(l.refs) > 200 {
		t.Errorf("20 slots keep %d postings, %d lists, %d refs", len(l.posts), len(l.more), cap(l.refs))
	}
	if p := l.posts[l.find(Value[int]{-1, 5})-1]; cap(p.ids) > 200 {
		t.Errorf("a posting of %d keeps room for %d", len(p.ids), cap(p.ids))
	}
	for slot := range uint32(20) {
		l.Drop(slot)
	}
	if l.Truncate(0); l.posts != nil || l.refs != nil {
		t.Error("empty lists keep memory")
	}
}

func BenchmarkSet(b *testing.B) {
	l := &Lists[int]{}
	var sets [100][]Value[int]
	for i := range sets {
		sets[i] = []Value[int]{{i, uint32(i) * 0x9e3779b1}}
	}
	for slot := range uint32(100_000) {
		l.Set(slot, sets[slot%100])
	}
	b.Run("same", func(b *testing.B) {
		for i := uint32(0); b.Loop(); i++ {
			slot := i * 7919 % 100_000
			l.Set(slot, sets[slot%100])
		}
	})
	b.Run("moved", func(b *testing.B) {
		b.ReportAllocs()
		for i := uint32(0); b.Loop(); i++ {
			l.Set(i*7919%100_000, sets[i%100])
		}
	})
}
