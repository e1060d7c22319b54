package deltafifo

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestItems compares random lists with a dumb version: a slice that is searched.
func TestItems(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 3))
		keys := []int{3, 100, 5000}[seed%3]
		l, want := &Items[string, int]{}, []Item[string, int]{}
		for step := range r.IntN(4000) {
			key := fmt.Sprint(r.IntN(keys))
			at := slices.IndexFunc(want, func(item Item[string, int]) bool { return item.Key == key })
			switch n := r.IntN(100); {
			case n < 90:
				l.Set(key, step)
				if at < 0 {
					want = append(want, Item[string, int]{key, step})
				} else {
					want[at].Object = step
				}
			case n < 97:
				l.Delete(key)
				if at >= 0 {
					last := len(want) - 1
					want[at] = want[last]
					want = want[:last]
				}
			default:
				if l.Len() != len(want) {
					t.Fatalf("seed %d: %d items, want %d", seed, l.Len(), len(want))
				}
			}
		}
		l.settle()
		if err := l.verify(); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if got := slices.Concat(l.chunks...); !slices.Equal(got, want) {
			t.Fatalf("seed %d: got %v, want %v", seed, got, want)
		}
		for from := 0; from < l.Len(); from += blockLen {
			if got := l.block(from); !slices.Equal(got, want[from:min(from+blockLen, len(want))]) {
				t.Fatalf("seed %d: block %d is %v", seed, from, got)
			}
		}
	}
}
