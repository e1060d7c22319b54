package posting

import (
	"math/rand/v2"
	"slices"
	"testing"

	"go.uber.org/goleak"

	"github.com/kinform/kinform/internal/cowvec"
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

// found returns the slots of a value, in order.
func found(l *Lists[int], v int) []uint32 {
	ids, short := l.Find(val(v))
	if !short {
		ids = l.Freeze(val(v)).AppendTo(nil)
	}
	if l.Count(val(v)) != len(ids) {
		return nil
	}
	return slices.Sorted(slices.Values(ids))
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
		{20, 6, 4, 60_000},    // few slots of several values
		{100, 5, 1, 60_000},   // one value each
		{60, 400, 3, 40_000},  // nearly unique values
		{5, 200, 90, 3_000},   // very many values each
		{5_000, 2, 1, 24_000}, // postings that become long and short again
	} {
		if testing.Short() {
			c.steps /= 10
		}
		r := rand.New(rand.NewPCG(3, uint64(c.slots)))
		l, m := &Lists[int]{}, model{}
		type held struct {
			got  IDs
			want []uint32
		}
		var frozen []held
		for step := range c.steps {
			if c.slots > sliceLen && step%8_000 == 0 {
				for slot := range uint32(c.slots) {
					l.Set(slot, vals(step/8_000%2))
					m[slot] = []int{step / 8_000 % 2}
				}
			}
			slot := uint32(r.IntN(c.slots))
			drain := step/min(c.slots*20, 4_000)%4 == 3
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
				frozen = append(frozen, held{got, got.AppendTo(nil)})
			case n == 6 && r.IntN(20) == 0:
				cl := l.Clone(l.lists.rows.Clone())
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
			if c.slots > 1000 && step%20 != 0 {
				continue // the checks are linear
			}
			if err := l.Check(c.slots); err != nil {
				t.Fatalf("step %d: %v", step, err)
			}
			v := r.IntN(c.values)
			got := found(l, v)
			if !slices.Equal(got, m.find(v)) {
				t.Fatalf("step %d: value %d has %v, want %v", step, v, got, m.find(v))
			}
			if err := l.CheckSlot(slot, vals(m[slot]...)); err != nil {
				t.Fatalf("step %d: %v", step, err)
			}
			if len(frozen) > 10 {
				if h := frozen[0]; !slices.Equal(h.got.AppendTo(nil), h.want) || h.got.Len() != len(h.want) {
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
		if got := cowvec.AppendTo(nil, l.Values()); len(got) != len(distinct) || l.Len() != len(distinct) {
			t.Errorf("%d values, Len %d, want %d", len(got), l.Len(), len(distinct))
		}
	}
}

// A posting with many slots gets a lower number in many steps, and everything holds in between,
// even when the numbers above are needed again and the lists are cloned.
func TestMovesStepByStep(t *testing.T) {
	const unique, large = 400, 6000
	value := func(v int) Value[int] { return Value[int]{v, uint32(v) * 0x9e3779b1} }
	l := &Lists[int]{}
	for slot := range uint32(unique) {
		l.Set(slot, []Value[int]{value(int(slot) + 1)})
	}
	for slot := uint32(unique); slot < unique+large; slot++ {
		l.Set(slot, []Value[int]{value(0)})
	}
	check := func() {
		t.Helper()
		c := l.Clone(l.lists.rows.Clone())
		if err := c.Check(unique + large); err != nil { // which brings refs up to date itself
			t.Fatal(err)
		}
	}
	moving := 0
	for slot := range uint32(unique) {
		l.Drop(slot)
		if l.lists.move.from != 0 {
			moving++
			if l.lists.move.next == l.lists.move.last {
				t.Fatal("a move that has ended is still noted")
			}
			gone := unique + slot // slots leave from the middle and at the end, and come
			l.Drop(gone)
			l.Set(gone, []Value[int]{value(0)})
		}
		check()
	}
	if moving < large/visitRefs/4 || l.lists.move.from != 0 {
		t.Errorf("%d writes while a posting moved; still moving: %v", moving, l.lists.move.from != 0)
	}
	if n := l.Count(value(0)); n != large || l.lists.posts.Len() > keepPosts+4 {
		t.Errorf("%d slots, %d postings", n, l.lists.posts.Len())
	}
	for slot := range uint32(unique) {
		l.Set(slot, []Value[int]{value(int(slot) + 1)})
	}
	for slot := range uint32(unique - 60) { // until a move begins: then all numbers are needed again
		if l.Drop(slot); l.lists.move.from != 0 {
			break
		}
	}
	for slot := range uint32(unique) {
		l.Set(slot, []Value[int]{value(int(slot) + 1000), value(int(slot) + 5000)})
		check()
	}
}

// What Values and Freeze return goes on showing what was there.
func TestFrozen(t *testing.T) {
	l := &Lists[int]{}
	for slot := range uint32(10_000) {
		l.Set(slot, vals(int(slot)%2, int(slot)+10))
	}
	values, even := l.Values(), l.Freeze(val(0))
	want, wantEven := slices.Sorted(slices.Values(cowvec.AppendTo(nil, values))), even.AppendTo(nil)
	for slot := range uint32(10_000) {
		if slot%3 == 0 {
			l.Drop(slot)
		} else {
			l.Set(slot, vals(int(slot)+90_000))
		}
	}
	if got := slices.Sorted(slices.Values(cowvec.AppendTo(nil, values))); len(got) != 10_002 || !slices.Equal(got, want) {
		t.Errorf("%d values, want 10_002", len(got))
	}
	if got := even.AppendTo(nil); len(got) != 5000 || !slices.Equal(got, wantEven) {
		t.Errorf("%d slots, want 5000", len(got))
	}
	if err := l.Check(10_000); err != nil {
		t.Error(err)
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
		"wrong position":       func(l *Lists[int]) { l.lists.rows.at(0, 0).pos = 1 },
		"position too high":    func(l *Lists[int]) { l.lists.rows.at(0, 0).pos = 9 },
		"posting too high":     func(l *Lists[int]) { l.lists.rows.at(0, 0).post = 9 },
		"lost back-reference":  func(l *Lists[int]) { *l.lists.rows.at(0, 0) = ref{} },
		"foreign slot":         func(l *Lists[int]) { l.lists.posts.At(0).ids[0] = 2 },
		"entry without ref":    func(l *Lists[int]) { l.lists.posts.At(0).push(2) },
		"value not in table":   func(l *Lists[int]) { l.values.table.Remove(0) },
		"lists miscounted":     func(l *Lists[int]) { cowvec.Insert(&l.lists.numbers, struct{}{}) },
		"value without slots":  func(l *Lists[int]) { cowvec.Insert(&l.values.all, 8) },
		"slots that are gone":  func(l *Lists[int]) { l.lists.rows.Lengthen(10) },
		"posting of two twice": func(l *Lists[int]) { m := *l.lists.more.At(0); m[1] = m[0] },
	} {
		l := mk()
		harm(l)
		if l.Check(4) == nil {
			t.Errorf("%s is not noticed", name)
		}
	}
	l := mk()
	cowvec.Set(&l.values.all, 0, 7)
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
	if l.lists.posts.At(find(&l.values, val(1))-1).shared == 0 || held.Len() != 100 {
		t.Error("a posting was copied for nothing")
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
	l.lists.rows.Truncate(20)
	if err := l.Check(20); err != nil {
		t.Fatal(err)
	}
	if l.lists.posts.Len() > 200 || l.lists.more.Len() > 200 || roomOf(l.lists.rows) > 200 {
		t.Errorf("20 slots keep %d postings, %d lists, %d refs", l.lists.posts.Len(), l.lists.more.Len(), roomOf(l.lists.rows))
	}
	if p := l.lists.posts.At(find(&l.values, Value[int]{-1, 5}) - 1); cap(p.ids) > 200 {
		t.Errorf("a posting of %d keeps room for %d", len(p.ids), cap(p.ids))
	}
	for slot := range uint32(20) {
		l.Drop(slot)
	}
	l.lists.rows.Truncate(0)
	if l.Truncate(0); l.lists.posts.Room() != 0 || roomOf(l.lists.rows) != 0 || l.lists.more.Room() != 0 {
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
