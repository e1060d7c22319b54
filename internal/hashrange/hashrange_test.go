package hashrange_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"go.uber.org/goleak"

	"github.com/kinform/kinform/internal/hashrange"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type labelled struct {
	first, last uint64
	label       int
}

func (r *labelled) ends() (first, last *uint64) { return &r.first, &r.last }

const hashes = 12

// random returns sorted ranges of few hashes that do not overlap, each with its own label.
func random(r *rand.Rand) (all []labelled) {
	for at := uint64(r.IntN(3)); at < hashes; at += 1 + uint64(r.IntN(3)) {
		last := min(at+uint64(r.IntN(4)), hashes-1)
		all = append(all, labelled{at, last, 1 + r.IntN(100)})
		at = last
	}
	return all
}

// label returns the label of the range with a hash, 0 if there is none.
func label(t *testing.T, all []labelled, hash uint64) (found int) {
	t.Helper()
	for _, r := range all {
		if r.first <= hash && hash <= r.last {
			if found != 0 {
				t.Fatalf("%d is twice in %v", hash, all)
			}
			found = r.label
		}
	}
	return found
}

// TestRandom asks for each hash.
func TestRandom(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 5000 {
		a, b := random(r), random(r)
		common, without := hashrange.Common(a, b, (*labelled).ends), hashrange.Without(a, b, (*labelled).ends)
		for hash := range uint64(hashes) {
			inA, inB := label(t, a, hash), label(t, b, hash)
			wantCommon, wantWithout := 0, inA
			if inA != 0 && inB != 0 {
				wantCommon, wantWithout = inB, 0
			}
			if got := label(t, common, hash); got != wantCommon {
				t.Fatalf("Common(%v, %v) = %v: %d at %d, want %d", a, b, common, got, hash, wantCommon)
			}
			if got := label(t, without, hash); got != wantWithout {
				t.Fatalf("Without(%v, %v) = %v: %d at %d, want %d", a, b, without, got, hash, wantWithout)
			}
		}
	}
}

// TestEnds has ranges up to the last hash, behind which no number is.
func TestEnds(t *testing.T) {
	all := []labelled{{0, math.MaxUint64, 1}}
	if got := hashrange.Without(all, all, (*labelled).ends); got != nil {
		t.Error(got)
	}
	if got := hashrange.Without(all, []labelled{{5, math.MaxUint64, 2}}, (*labelled).ends); len(got) != 1 || got[0] != (labelled{0, 4, 1}) {
		t.Error(got)
	}
	if got := hashrange.Common(all, []labelled{{5, math.MaxUint64, 2}}, (*labelled).ends); len(got) != 1 || got[0] != (labelled{5, math.MaxUint64, 2}) {
		t.Error(got)
	}
}
