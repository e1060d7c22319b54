package cowvec

import (
	"math/bits"
	"sync/atomic"
)

// View is a frozen state of a [Vec]. It never changes and may be read by any number of
// goroutines without a lock. It keeps the elements that it shows alive.
type View[T any] struct {
	dir   []*chunk[T]
	live  int
	n     int
	shift uint8
}

// View freezes the present state. Cost: O(1), no allocation. The next write to the
// vector copies the directory and one chunk.
func (c *Vec[T]) View() View[T] {
	atomic.AddUint64(&c.epoch, 1)
	return View[T]{dir: c.dir, live: c.live, n: c.n, shift: c.shift}
}

// Live returns the number of slots in use.
func (v View[T]) Live() int { return v.live }

// Len returns the number of slots.
func (v View[T]) Len() int { return v.n }

// At returns the element of slot i, which must be below Len.
func (v View[T]) At(i uint32) T {
	return v.dir[i>>v.shift].v[i&(1<<v.shift-1)]
}

// All calls yield for every slot in use, in slot order, until it returns false.
func (v View[T]) All(yield func(slot uint32, x T) bool) {
	for run := range v.Runs {
		for i, x := range run.Elems {
			if !yield(run.First+uint32(i), x) {
				return
			}
		}
	}
}

// Run is a stretch of neighbouring slots that are all in use.
type Run[T any] struct {
	First uint32 // slot of Elems[0]
	Elems []T    // shared: not to be written
}

// Runs calls yield for every longest stretch of used slots within a chunk.
func (v View[T]) Runs(yield func(Run[T]) bool) {
	for ci, ch := range v.dir {
		base := uint32(ci) << v.shift
		if ch.count == len(ch.v) {
			if !yield(Run[T]{base, ch.v[:ch.count:ch.count]}) {
				return
			}
			continue
		}
		for lo := ch.next(0, true); lo < len(ch.v); {
			hi := ch.next(lo, false)
			if !yield(Run[T]{base + uint32(lo), ch.v[lo:hi:hi]}) {
				return
			}
			lo = ch.next(hi, true)
		}
	}
}

// next returns the first slot at or after p that is in use, or free, or len(ch.v).
func (ch *chunk[T]) next(p int, used bool) int {
	for p < len(ch.v) {
		b := ch.live[p>>6]
		if !used {
			b = ^b
		}
		if b >>= p & 63; b != 0 {
			return min(p+bits.TrailingZeros64(b), len(ch.v))
		}
		p = (p | 63) + 1
	}
	return len(ch.v)
}

// AppendTo appends the elements in use to dst, in slot order.
func (v View[T]) AppendTo(dst []T) []T {
	for run := range v.Runs {
		dst = append(dst, run.Elems...)
	}
	return dst
}
