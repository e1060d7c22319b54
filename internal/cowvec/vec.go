package cowvec

import (
	"math/bits"
	"slices"
	"sync/atomic"
	"unsafe"
)

// maxLen is the number of slots of a chunk of small elements; it is also the size of a
// chunk's occupancy bitmap.
const (
	maxShift   = 8
	maxLen     = 1 << maxShift
	minShift   = 4
	chunkBytes = 4096
)

// chunk is a run of slots. While owner equals the vector's epoch, the vector alone uses it.
// Otherwise views may share it, and a write must copy it first.
type chunk[T any] struct {
	owner uint64
	live  [maxLen / 64]uint64 // a set bit for a slot in use
	count int                 // number of set bits
	v     []T                 // free slots hold the zero T
}

// Vec is the vector. Its zero value is empty and ready.
type Vec[T any] struct {
	dir      []*chunk[T]
	n        int      // slots up to the last one in use
	live     int      // slots in use
	gaps     []uint64 // a set bit for a chunk with free slots; written by the writer alone
	hint     int      // words of gaps before this one are 0
	shift    uint8
	dirOwner uint64
	epoch    uint64 // atomic: readers raise it when they take a view
}

// shiftFor keeps the copy of one chunk near a page whatever the size of an element is.
func shiftFor(size uintptr) uint8 {
	s := uint8(maxShift)
	for s > minShift && size<<s > chunkBytes {
		s--
	}
	return s
}

// Len returns the number of slots, free ones included: every slot number is below it.
func (c *Vec[T]) Len() int { return c.n }

// Live returns the number of slots in use.
func (c *Vec[T]) Live() int { return c.live }

// At returns the element of slot i, which must be below Len. It is the zero T for a
// free slot.
func (c *Vec[T]) At(i uint32) T {
	return c.dir[i>>c.shift].v[i&(1<<c.shift-1)]
}

// Used reports whether slot i is in use. i may be any number.
func Used[T any](c *Vec[T], i uint32) bool {
	if int(i) >= c.n {
		return false
	}
	p := i & (1<<c.shift - 1)
	return c.dir[i>>c.shift].live[p>>6]&(1<<(p&63)) != 0
}

// Set replaces the element of slot i, which must be in use.
func Set[T any](c *Vec[T], i uint32, x T) {
	own(c, int(i>>c.shift)).v[i&(1<<c.shift-1)] = x
}

// Insert puts x into the lowest free slot and returns its number. Cost: amortized O(1),
// plus one bit of work per chunk when few slots are free.
func Insert[T any](c *Vec[T], x T) uint32 {
	if c.shift == 0 {
		c.shift = shiftFor(unsafe.Sizeof(x))
	}
	if c.live == c.n {
		return push(c, x)
	}
	for c.gaps[c.hint] == 0 {
		c.hint++
	}
	ci := c.hint<<6 + bits.TrailingZeros64(c.gaps[c.hint])
	return occupy(c, ci, firstFree(c.dir[ci]), x)
}

func occupy[T any](c *Vec[T], ci, p int, x T) uint32 {
	ch := own(c, ci)
	ch.v[p] = x
	ch.live[p>>6] |= 1 << (p & 63)
	ch.count++
	c.live++
	markGaps(c, ci)
	return uint32(ci<<c.shift | p)
}

func push[T any](c *Vec[T], x T) uint32 {
	ci := c.n >> c.shift
	if ci == len(c.dir) {
		ownDir(c, 1)
		room := 4
		if ci > 0 {
			room = 1 << c.shift
		}
		c.dir = append(c.dir, &chunk[T]{owner: c.epoch, v: make([]T, 0, room)})
		if ci>>6 == len(c.gaps) {
			c.gaps = append(c.gaps, 0)
		}
	}
	ch := own(c, ci)
	if len(ch.v) == cap(ch.v) {
		ch.v = append(make([]T, 0, min(2*cap(ch.v), 1<<c.shift)), ch.v...)
	}
	ch.v = ch.v[:len(ch.v)+1]
	c.n++
	return occupy(c, ci, len(ch.v)-1, x)
}

// Remove frees slot i, which must be in use, zeroes it, and drops the free slots and
// chunks at the end.
func Remove[T any](c *Vec[T], i uint32) {
	ci, p := int(i>>c.shift), i&(1<<c.shift-1)
	ch := own(c, ci)
	var zero T
	ch.v[p] = zero
	ch.live[p>>6] &^= 1 << (p & 63)
	ch.count--
	c.live--
	markGaps(c, ci)
	if int(i) == c.n-1 {
		trim(c)
	}
}

// markGaps records whether chunk ci has free slots between used ones.
func markGaps[T any](c *Vec[T], ci int) {
	w, bit := ci>>6, uint64(1)<<(ci&63)
	if ch := c.dir[ci]; ch.count == len(ch.v) {
		c.gaps[w] &^= bit
		return
	}
	c.gaps[w] |= bit
	c.hint = min(c.hint, w)
}

// trim drops the free slots at the end, so that slot n-1 is in use again.
func trim[T any](c *Vec[T]) {
	k := len(c.dir)
	for k > 0 && c.dir[k-1].count == 0 {
		k--
		c.gaps[k>>6] &^= 1 << (k & 63)
	}
	if k == 0 {
		*c = Vec[T]{shift: c.shift, epoch: c.epoch + 1}
		return
	}
	if k < len(c.dir) {
		ownDir(c, 0)
		clear(c.dir[k:])
		c.dir = c.dir[:k]
		c.gaps = c.gaps[:(k+63)>>6]
	}
	if cap(c.dir) > 64 && k < cap(c.dir)/4 {
		c.dir = append(make([]*chunk[T], 0, k+k/4), c.dir...)
	}
	end := lastUsed(c.dir[k-1]) + 1
	if ch := own(c, k-1); end < len(ch.v) {
		ch.v = ch.v[:end]
	}
	c.n = (k-1)<<c.shift + end
	c.hint = min(c.hint, len(c.gaps)-1)
	markGaps(c, k-1)
}

// own returns chunk ci. If a view may share it, own copies it first.
func own[T any](c *Vec[T], ci int) *chunk[T] {
	ch := c.dir[ci]
	if ch.owner == c.epoch {
		return ch
	}
	ownDir(c, 0)
	cp := &chunk[T]{owner: c.epoch, live: ch.live, count: ch.count}
	cp.v = append(make([]T, 0, cap(ch.v)), ch.v...)
	c.dir[ci] = cp
	return cp
}

// ownDir copies the directory if a view may share it, and makes room for more entries.
func ownDir[T any](c *Vec[T], more int) {
	if c.dirOwner == c.epoch && len(c.dir)+more <= cap(c.dir) {
		return
	}
	room := cap(c.dir)
	if len(c.dir)+more > room {
		room = len(c.dir) + len(c.dir)/2 + more
	}
	c.dir = append(make([]*chunk[T], 0, room), c.dir...)
	c.dirOwner = c.epoch
}

// Clone returns a second vector with the same slots. Both share the chunks until the clone
// writes to one, so writes to the clone never show in c. c must not be written again. Cost:
// O(1), and the first write to each chunk copies it.
//
//go:noinline
func Clone[T any](c *Vec[T]) Vec[T] {
	return Vec[T]{
		dir: c.dir, n: c.n, live: c.live, shift: c.shift,
		gaps: slices.Clone(c.gaps), hint: c.hint,
		// No chunk has an owner as high, and dirOwner is lower too: all is shared.
		epoch: atomic.AddUint64(&c.epoch, 1) + 1,
	}
}

func firstFree[T any](ch *chunk[T]) int {
	for w, b := range ch.live {
		if b != ^uint64(0) {
			return w<<6 + bits.TrailingZeros64(^b)
		}
	}
	return maxLen
}

func lastUsed[T any](ch *chunk[T]) int {
	for w := len(ch.live) - 1; w >= 0; w-- {
		if b := ch.live[w]; b != 0 {
			return w<<6 + 63 - bits.LeadingZeros64(b)
		}
	}
	return -1
}
