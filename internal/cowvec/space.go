package cowvec

import (
	"math/bits"
	"slices"
	"sync/atomic"
)

// space is what a [Vec] knows of its slots without the type of their elements. It has no methods, which each
// Vec would have again.
type space struct {
	n        int      // slots up to the last one in use
	live     int      // slots in use
	gaps     []uint64 // a set bit for a chunk with free slots; written by the writer alone
	hint     int      // words of gaps before this one are 0
	shift    uint8
	dirOwner uint64
	epoch    uint64 // atomic: readers raise it when they take a view
}

// used says which slots of a chunk are in use. While owner equals the vector's epoch, the vector alone
// uses the chunk. Otherwise views may share it, and a write must copy it first.
type used struct {
	owner uint64
	live  [maxLen / 64]uint64 // a set bit for a slot in use
	count int                 // number of set bits
}

// shiftFor keeps the copy of one chunk near a page whatever the size of an element is.
func shiftFor(size uintptr) uint8 {
	s := uint8(maxShift)
	for s > minShift && size<<s > chunkBytes {
		s--
	}
	return s
}

// cloneSpace returns a copy for a vector that shares all chunks.
func cloneSpace(s *space) space {
	return space{
		n: s.n, live: s.live, shift: s.shift,
		gaps: slices.Clone(s.gaps), hint: s.hint,
		// No chunk has an owner as high, and dirOwner is lower too: all is shared.
		epoch: atomic.AddUint64(&s.epoch, 1) + 1,
	}
}

// nextGap returns the first chunk with a free slot. There must be one.
func nextGap(s *space) int {
	for s.gaps[s.hint] == 0 {
		s.hint++
	}
	return s.hint<<6 + bits.TrailingZeros64(s.gaps[s.hint])
}

// occupied notes that slot p of chunk ci, which has so many slots, is in use from now on.
func occupied(s *space, u *used, ci, p, slots int) {
	u.live[p>>6] |= 1 << (p & 63)
	u.count++
	s.live++
	markGaps(s, ci, u.count < slots)
}

// freed notes that slot p of chunk ci is free from now on.
func freed(s *space, u *used, ci, p int) {
	u.live[p>>6] &^= 1 << (p & 63)
	u.count--
	s.live--
	markGaps(s, ci, true)
}

// markGaps records whether chunk ci has free slots between used ones.
func markGaps(s *space, ci int, has bool) {
	w, bit := ci>>6, uint64(1)<<(ci&63)
	if !has {
		s.gaps[w] &^= bit
		return
	}
	s.gaps[w] |= bit
	s.hint = min(s.hint, w)
}

// trimmed notes that all chunks but the first k are gone, and that the last of these, which is u, ends with
// the last slot in use. It returns the number of slots of u.
func trimmed(s *space, u *used, k int) (end int) {
	s.gaps = s.gaps[:(k+63)>>6]
	if k&63 != 0 {
		s.gaps[len(s.gaps)-1] &= 1<<(k&63) - 1
	}
	end = lastUsed(u) + 1
	s.n = (k-1)<<s.shift + end
	s.hint = min(s.hint, len(s.gaps)-1)
	markGaps(s, k-1, u.count < end)
	return end
}

func firstFree(u *used) int {
	for w, b := range u.live {
		if b != ^uint64(0) {
			return w<<6 + bits.TrailingZeros64(^b)
		}
	}
	return maxLen
}

func lastUsed(u *used) int {
	for w := len(u.live) - 1; w >= 0; w-- {
		if b := u.live[w]; b != 0 {
			return w<<6 + 63 - bits.LeadingZeros64(b)
		}
	}
	return -1
}

// next returns the first of so many slots, from p on, that is in use, or free, or their number.
func next(u *used, slots, p int, inUse bool) int {
	for p < slots {
		b := u.live[p>>6]
		if !inUse {
			b = ^b
		}
		if b >>= p & 63; b != 0 {
			return min(p+bits.TrailingZeros64(b), slots)
		}
		p = (p | 63) + 1
	}
	return slots
}

// has reports whether slot p, of so many, is in use.
func has(u *used, slots, p int) bool { return p < slots && u.live[p>>6]&(1<<(p&63)) != 0 }
