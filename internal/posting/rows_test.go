package posting

import (
	"math/rand/v2"
	"testing"
)

// TestRows compares rows of several widths with a map, while slots come and go and columns are
// added.
func TestRows(t *testing.T) {
	type place struct {
		slot uint32
		col  int
	}
	for _, width := range []int{1, 3, 50, 5000} {
		r := rand.New(rand.NewPCG(7, uint64(width)))
		rows, want, n := NewRows(width), map[place]ref{}, 0
		most := 900_000 / (width + 700)
		for step := range 400 {
			switch k := r.IntN(12); {
			case k == 0:
				n = r.IntN(n + 1)
				for p := range want {
					if int(p.slot) >= n {
						*rows.at(p.slot, p.col) = ref{} // Truncate asks for it
						delete(want, p)
					}
				}
				rows.Truncate(n)
			case k == 1 && width < 100:
				rows = rows.Widened(1)
				width++
			case k == 2:
				old := rows
				rows = old.Clone()
				if n > 0 {
					old.at(0, 0).pos++
				}
			case n < most:
				n += r.IntN(most/20) + 1
				rows.Lengthen(n)
			}
			for range min(n, 20) {
				p := place{uint32(r.IntN(n)), r.IntN(width)}
				want[p] = ref{uint32(step), r.Uint32()}
				rows.one(p.slot, p.col)[0] = want[p]
			}
			if rows.Len() != n || roomOf(rows) < n*width {
				t.Fatalf("width %d: %d rows in room for %d refs, want %d", width, rows.Len(), roomOf(rows), n)
			}
			if n < 60 && roomOf(rows) > (256+n)*width {
				t.Fatalf("width %d: %d rows keep room for %d refs", width, n, roomOf(rows))
			}
			if step%20 != 0 && n > 60 {
				continue // the checks are linear
			}
			for slot := range uint32(n) {
				for _, col := range []int{0, width / 2, width - 1} {
					if got := *rows.at(slot, col); got != want[place{slot, col}] {
						t.Fatalf("width %d: slot %d, column %d has %v, want %v", width, slot, col, got, want[place{slot, col}])
					}
				}
			}
			for p, ref := range want {
				if *rows.at(p.slot, p.col) != ref {
					t.Fatalf("width %d: %v has %v, want %v", width, p, *rows.at(p.slot, p.col), ref)
				}
			}
		}
	}
}

// Rows without columns, of a store without indexes, take nothing.
func TestNoColumns(t *testing.T) {
	rows := NewRows(0)
	rows.Lengthen(1000)
	if rows.Truncate(10); rows.Len() != 0 || roomOf(rows) != 0 || rows.Widened(2).Len() != 0 {
		t.Errorf("%d rows, room for %d refs", rows.Len(), roomOf(rows))
	}
}

// roomOf returns the number of refs that the pages can hold.
func roomOf(r *Rows) (n int) {
	for _, page := range r.pages {
		n += len(page)
	}
	return n
}
