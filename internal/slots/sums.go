package slots

import "github.com/kinform/kinform/internal/paged"

// sums are the objects' sums, by slot. It is shorter than the slots while the sums of later ones are zero. It
// is a separate type so that its pages are compiled here, and not with the type of the objects.
type sums struct{ all paged.Array[uint64] }

func (s *sums) at(slot uint32) uint64 {
	if int(slot) >= s.all.Len() {
		return 0
	}
	return *s.all.At(slot)
}

// set sets the sum of a slot below n. Nothing is allocated before the first sum that is not zero.
//
//go:noinline
func (s *sums) set(slot uint32, sum uint64, n int) {
	if int(slot) >= s.all.Len() {
		if sum == 0 {
			return
		}
		paged.Lengthen(&s.all, n)
	}
	*s.all.At(slot) = sum
}

//go:noinline
func (s *sums) truncate(n int) { paged.Truncate(&s.all, n) }

//go:noinline
func (s *sums) clone() sums { return sums{paged.Clone(&s.all)} }
