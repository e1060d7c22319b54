package deltafifo

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// versionOf is the version with which a test sets an item: no list of every second seed has
// any, and the other lists not for each item.
func versionOf(seed uint64, step int) string {
	if seed%2 == 0 || step%5 == 0 {
		return ""
	}
	return fmt.Sprint(step)
}

// TestItems compares random lists with a dumb version: a slice that is searched.
func TestItems(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 3))
		keys := []int{3, 100, 5000}[seed%3]
		l, want := &Objects[string, int]{}, []keyedObject[string, int]{}
		for step := range r.IntN(4000) {
			key := fmt.Sprint(r.IntN(keys))
			at := slices.IndexFunc(want, func(item keyedObject[string, int]) bool { return item.Key == key })
			switch n := r.IntN(100); {
			case n < 90:
				l.Set(key, step, versionOf(seed, step))
				if at < 0 {
					want = append(want, keyedObject[string, int]{key, step})
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
		settleObjects(l)
		if err := l.verify(); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if got := slices.Concat(l.chunks...); !slices.Equal(got, want) {
			t.Fatalf("seed %d: got %v, want %v", seed, got, want)
		}
		for n, item := range want {
			if got := versionAt(&l.numbers, n); got != versionOf(seed, item.Object) {
				t.Fatalf("seed %d: item %d of step %d has version %q", seed, n, item.Object, got)
			}
		}
		for from := 0; from < l.Len(); from += blockLen {
			if got := blockAt(l, from); !slices.Equal(got, want[from:min(from+blockLen, len(want))]) {
				t.Fatalf("seed %d: block %d is %v", seed, from, got)
			}
		}
	}
}
