package informer

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/kinform/kinform/internal/compare"
	"github.com/kinform/kinform/internal/memtest"
	"github.com/kinform/kinform/internal/usercode"
	"github.com/kinform/kinform/store"
)

// TestVersionsAgainstModel compares what is noted with a map by key, through growth and
// shrinkage.
func TestVersionsAgainstModel(t *testing.T) {
	for seed := range uint64(20) {
		rnd := rand.New(rand.NewPCG(seed, 8))
		v, want := newVersions[int, state](), map[int]string{}
		for step := range 5000 {
			keys := 1000
			if step > 2500 {
				keys = 10
			}
			op, rv := store.Op[int, state]{Key: rnd.IntN(keys)}, fmt.Sprint(step+1)
			switch n := rnd.IntN(20); {
			case n == 0:
				op.Err = usercode.ErrZeroKey
			case n == 1:
				op.Unchanged = true
			case n == 2:
				rv = []string{"", "opaque"}[rnd.IntN(2)]
				delete(want, op.Key)
			case n < 8 || step > 2500 && n < 15:
				if step > 2500 {
					op.Key = rnd.IntN(1000)
				}
				op.Delete = true
				delete(want, op.Key)
			default:
				want[op.Key] = rv
			}
			noteCommitted(&v, &op, rv)
			if len(v.noted) != len(want) || v.most > max(smallVersions, 4*len(want)+4) {
				t.Fatalf("seed %d: %d noted, %d at most, want %d", seed, len(v.noted), v.most, len(want))
			}
		}
		for key := range 1000 {
			if rv, ok := want[key]; hasVersion(&v, key, "opaque") || hasVersion(&v, key, "") == ok || hasVersion(&v, key, "7777") || ok && !hasVersion(&v, key, rv) {
				t.Fatalf("seed %d: key %d is not at %q", seed, key, rv)
			}
		}
	}
}

// TestVersionsAllocateNothing: neither where events have no version nor where they are noted.
func TestVersionsAllocateNothing(t *testing.T) {
	v := newVersions[int, state]()
	op := store.Op[int, state]{Key: 1}
	noteCommitted(&v, &op, "1")
	if n := memtest.Allocs(100, func() {
		noteCommitted(&v, &op, "2")
		_ = sameVersion(&v, 1, op.Object, compare.State{ResourceVersion: "2"})
		noteCommitted(&v, &op, "")
	}); n != 0 {
		t.Errorf("%v allocations per event", n)
	}
}
