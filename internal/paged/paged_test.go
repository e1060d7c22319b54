package paged

import (
	"math/rand/v2"
	"slices"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// check compares a with want, and verifies the invariants.
func check(t *testing.T, a *Array[int], want []int) {
	t.Helper()
	if a.Len() != len(want) || a.Room() < a.Len() {
		t.Fatalf("Len %d of %d, want %d", a.Len(), a.Room(), len(want))
	}
	for i, x := range want {
		if got := *a.At(uint32(i)); got != x {
			t.Fatalf("element %d is %d, want %d", i, got, x)
		}
	}
	for i, page := range a.pages {
		if len(page) != pageLen && (i > 0 || len(a.pages) > 1) {
			t.Fatalf("page %d of %d has %d elements", i, len(a.pages), len(page))
		}
		if i<<shift+len(page) > a.n && slices.ContainsFunc(page[max(0, a.n-i<<shift):], func(x int) bool { return x != 0 }) {
			t.Fatalf("page %d: an unused element is not zero", i)
		}
	}
}

// push adds x at the end.
func push[E any](a *Array[E], x E) {
	Lengthen(a, a.Len()+1)
	*a.At(uint32(a.Len() - 1)) = x
}

func TestModel(t *testing.T) {
	for _, size := range []int{5, 100, 2000} {
		seed := rand.Uint64()
		r := rand.New(rand.NewPCG(seed, 0))
		var a Array[int]
		var want []int
		for step := range 3000 {
			switch r.IntN(6) {
			case 0, 1:
				push(&a, step+1)
				want = append(want, step+1)
			case 2:
				n := r.IntN(size)
				Lengthen(&a, n)
				for len(want) < n {
					want = append(want, 0)
				}
				for i := range a.Len() {
					if *a.At(uint32(i)) == 0 {
						*a.At(uint32(i)), want[i] = -step, -step
					}
				}
			case 3:
				n := r.IntN(size)
				Truncate(&a, n)
				want = want[:min(n, len(want))]
			case 4:
				old := a
				a = Clone(&a)
				for i := range old.Len() { // does not show in the clone
					*old.At(uint32(i)) = 9
				}
			case 5:
				if r.IntN(10) == 0 {
					room := a.Room()
					Empty(&a)
					want = want[:0]
					if a.Room() != room {
						t.Fatal("Empty gave memory back")
					}
				}
			}
			if check(t, &a, want); t.Failed() {
				t.Fatalf("seed %d, step %d", seed, step)
			}
		}
	}
}

// To grow or shrink by one element makes one page at most and moves no other.
func TestBoundedSteps(t *testing.T) {
	const n = 20_000
	var a Array[int]
	step := func(f func()) {
		before := slices.Clone(a.pages)
		f()
		moved := 0
		for i, page := range a.pages[:min(len(before), len(a.pages))] {
			if &page[0] != &before[i][0] {
				moved++
			}
		}
		if moved > 1 || len(a.pages) > len(before)+1 || moved == 1 && len(a.pages) > 1 {
			t.Fatalf("at %d elements: %d of %d pages moved", a.Len(), moved, len(before))
		}
	}
	for i := range n {
		step(func() { push(&a, i) })
	}
	if a.Room() > n+pageLen {
		t.Errorf("room for %d", a.Room())
	}
	for i := range n {
		step(func() { Truncate(&a, n-1-i) })
		if room := cap(a.pages); room > 8 && len(a.pages) < room/4 {
			t.Fatalf("%d pages, with room for %d", len(a.pages), room)
		}
	}
	if a.pages != nil {
		t.Error("an empty array keeps its pages")
	}
}
