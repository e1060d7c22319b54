package store

import (
	"math/rand/v2"
	"testing"
)

// TestSums compares the sums of objects with a map, through commits of every size, snapshots that
// make the next commit a copy, and removals that move objects.
func TestSums(t *testing.T) {
	for _, unchanged := range []func(old, new *item) bool{nil, func(old, new *item) bool { return old.version == new.version }} {
		r := rand.New(rand.NewPCG(3, 3))
		s := newStore(t, ^uint32(0), Options[*item]{Unchanged: unchanged})
		sums := map[id]uint64{}
		for round := range 300 {
			if r.IntN(4) == 0 {
				_ = s.Freeze()
			}
			keys := 3000
			if round%50 > 40 {
				keys = 30 // removes most
				var gone []Op[id, *item]
				for key := range sums {
					if key.num > keys {
						gone = append(gone, Op[id, *item]{Key: key, Delete: true})
						delete(sums, key)
					}
				}
				if err := s.Commit("", gone); err != nil {
					t.Fatal(err)
				}
			}
			var ops []Op[id, *item]
			for range []int{1, 5, 100, 1500}[r.IntN(4)] {
				key := id{"a", 1 + r.IntN(keys)}
				op := Op[id, *item]{Key: key, Object: &item{id: key, version: r.IntN(2)}, Sum: uint64(r.IntN(3)), Delete: r.IntN(5) == 0, Keep: r.IntN(10) == 0}
				ops = append(ops, op)
			}
			if err := s.Commit("", ops); err != nil {
				t.Fatal(err)
			}
			times := map[id]int{}
			for i := range ops {
				times[ops[i].Key]++
			}
			for i := range ops {
				op := &ops[i]
				_, sum, ok := s.GetSum(op.Key)
				switch {
				case times[op.Key] > 1 && ok: // the sum of any operation with the same contents is right
					sums[op.Key] = sum
				case !ok:
					delete(sums, op.Key)
				case !op.Unchanged || op.Sum != 0:
					sums[op.Key] = op.Sum
				}
			}
			for key := range sums {
				if _, sum, ok := s.GetSum(key); !ok || sum != sums[key] {
					t.Fatalf("round %d: %v has the sum %d, %t, want %d", round, key, sum, ok, sums[key])
				}
			}
			if s.Len() != len(sums) {
				t.Fatalf("round %d: %d objects, want %d", round, s.Len(), len(sums))
			}
		}
	}
}
