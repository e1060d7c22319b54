package cowvec

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"go.uber.org/goleak"

	"github.com/kinform/kinform/internal/memtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// frozen is a view with what it must go on showing.
type frozen[T any] struct {
	view View[T]
	want map[uint32]T
}

// check compares everything that can be seen of the vector and breaks on any breach.
func check[T comparable](t *testing.T, v *Vec[T], want map[uint32]T) {
	t.Helper()
	if v.Live() != len(want) {
		t.Fatalf("Live is %d, want %d", v.Live(), len(want))
	}
	if n := v.Len(); n > 0 && !Used(v, uint32(n-1)) {
		t.Fatalf("the last slot %d is free", n-1)
	}
	for i := range uint32(v.Len()) {
		x, ok := want[i]
		if Used(v, i) != ok || v.At(i) != x {
			t.Fatalf("slot %d: %v %v, want %v %v", i, v.At(i), Used(v, i), x, ok)
		}
	}
	live := 0
	for ci, ch := range v.dir {
		gap := v.gaps[ci>>6]&(1<<(ci&63)) != 0
		if gap != (ch.count < len(ch.v)) {
			t.Fatalf("chunk %d with %d of %d: gap bit %v", ci, ch.count, len(ch.v), gap)
		}
		live += ch.count
	}
	if live != v.Live() {
		t.Fatalf("%d counted in chunks, %d live", live, v.Live())
	}
	for w := range v.hint {
		if v.gaps[w] != 0 {
			t.Fatalf("a gap before the hint %d", v.hint)
		}
	}
}

func (f frozen[T]) check(t *testing.T) {
	t.Helper()
	Diff(&f.view, &f.view, func(a, b T) bool { return false }, func(_ uint32, x T) bool {
		t.Fatalf("view: %v is not in itself", x)
		return false
	})
	n := 0
	for i, x := range All(f.view) {
		n++
		if w, ok := f.want[i]; !ok || any(w) != any(x) {
			t.Fatalf("view: slot %d is %v, want %v %v", i, x, w, ok)
		}
		if any(f.view.At(i)) != any(x) {
			t.Fatalf("view: At(%d) differs from All", i)
		}
	}
	if n != len(f.want) || f.view.Live() != n || len(AppendTo(nil, f.view)) != n {
		t.Fatalf("view shows %d elements, Live %d, want %d", n, f.view.Live(), len(f.want))
	}
}

func TestModel(t *testing.T) {
	for _, c := range []struct {
		name      string
		size      int // about how many elements
		churn     int
		checkEach int
	}{{"small", 12, 200_000, 1}, {"chunks", 900, 30_000, 50}} {
		t.Run(c.name, func(t *testing.T) { runModel(t, c.size, c.churn, c.checkEach) })
	}
}

func runModel(t *testing.T, size, churn, checkEach int) {
	if testing.Short() {
		churn /= 10
	}
	r := rand.New(rand.NewPCG(1, uint64(size)))
	v, want := &Vec[int]{}, map[uint32]int{}
	var views []frozen[int]
	for step := range churn {
		grow := r.IntN(2*size) > len(want)
		if step/(20*size)%3 == 2 {
			grow = r.IntN(4) == 0 // let it drain from time to time
		}
		switch {
		case grow:
			i := Insert(v, step+1)
			if _, used := want[i]; used {
				t.Fatalf("slot %d given twice", i)
			}
			for j := range i {
				if _, used := want[j]; !used {
					t.Fatalf("slot %d given while %d was free", i, j)
				}
				if len(want) > 50 {
					break // the full check is quadratic
				}
			}
			want[i] = step + 1
		case len(want) > 0:
			i := pick(r, v)
			if r.IntN(3) == 0 {
				Set(v, i, -step)
				want[i] = -step
			} else {
				Remove(v, i)
				delete(want, i)
			}
		}
		if r.IntN(30) == 0 {
			f := frozen[int]{ViewOf(v), clone(want)}
			if views = append(views, f); len(views) > 5 {
				views[0].check(t)
				views = views[1:]
			}
		}
		if r.IntN(200) == 0 {
			c := Clone(v)
			old := frozen[int]{ViewOf(v), clone(want)}
			v = &c
			views = append(views, old)
		}
		if step%checkEach == 0 {
			check(t, v, want)
		}
	}
	for _, f := range views {
		f.check(t)
	}
}

func pick(r *rand.Rand, v *Vec[int]) uint32 {
	for {
		if i := uint32(r.IntN(v.Len())); Used(v, i) {
			return i
		}
	}
}

func clone(m map[uint32]int) map[uint32]int {
	c := make(map[uint32]int, len(m))
	for k, v := range m {
		c[k] = v
	}
	return c
}

// TestLargeElements takes the shorter chunks that large elements get.
func TestLargeElements(t *testing.T) {
	type big [100]int64
	var v Vec[big]
	for i := range 1000 {
		if got := Insert(&v, big{int64(i)}); got != uint32(i) {
			t.Fatalf("slot %d, want %d", got, i)
		}
	}
	view := ViewOf(&v)
	for i := range uint32(1000) {
		if i%3 != 0 {
			Remove(&v, i)
		}
	}
	for i := range uint32(1000) {
		if view.At(i) != (big{int64(i)}) || Used(&v, i) != (i%3 == 0) {
			t.Fatalf("slot %d", i)
		}
	}
	if s := shiftFor(800); s != minShift {
		t.Errorf("shift %d for 800 bytes", s)
	}
	if s := shiftFor(8); s != maxShift {
		t.Errorf("shift %d for 8 bytes", s)
	}
}

func TestRuns(t *testing.T) {
	for _, pattern := range []string{"", "x", "xx.x", "x..x.xx", "xxxx"} {
		v := Vec[byte]{}
		for range pattern {
			Insert(&v, 'x')
		}
		for i, c := range pattern {
			if c == '.' {
				Remove(&v, uint32(i))
			}
		}
		got := slices.Repeat([]byte{'.'}, len(pattern))
		view := ViewOf(&v)
		last := -2
		var c Cursor
		for run, ok := view.Next(&c); ok; run, ok = view.Next(&c) {
			if int(run.First) <= last+1 {
				t.Errorf("%q: stretch at %d joins the one before", pattern, run.First)
			}
			last = int(run.First) + len(run.Elems) - 1
			copy(got[run.First:], run.Elems)
		}
		if string(got) != pattern {
			t.Errorf("%q walked as %q", pattern, got)
		}
	}
}

// TestFreedSlotsAreZero keeps a removed element from staying alive.
func TestFreedSlotsAreZero(t *testing.T) {
	var v Vec[*int]
	for range 600 {
		Insert(&v, new(int))
	}
	for i := range uint32(599) {
		Remove(&v, i)
		if v.At(i) != nil {
			t.Fatalf("slot %d keeps its element", i)
		}
	}
	Remove(&v, 599)
	if v.Len() != 0 || v.dir != nil {
		t.Errorf("an empty vector keeps %d chunks", len(v.dir))
	}
}

func TestWriteAfterViewCopiesOneChunk(t *testing.T) {
	var v Vec[*int]
	for range 10_000 {
		Insert(&v, new(int))
	}
	x := new(int)
	if n := memtest.Allocs(100, func() { ViewOf(&v); Set(&v, 5000, x) }); n > 3 {
		t.Errorf("%v allocations", n)
	}
	Set(&v, 5000, x)
	if n := memtest.Allocs(100, func() { Set(&v, 5000, x) }); n != 0 {
		t.Errorf("%v allocations without a view", n)
	}
}

func BenchmarkSetAfterView(b *testing.B) {
	for _, n := range []int{1000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			var v Vec[*int]
			for range n {
				Insert(&v, new(int))
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				ViewOf(&v)
				Set(&v, uint32(i%n), nil)
			}
		})
	}
}

func BenchmarkRemoveInsert(b *testing.B) {
	var v Vec[*int]
	for range 100_000 {
		Insert(&v, nil)
	}
	for i := 0; b.Loop(); i++ {
		Remove(&v, uint32(i*7919%99_999))
		Insert(&v, nil)
	}
}
