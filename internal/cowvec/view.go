package cowvec

import (
	"iter"
	"sync/atomic"
)

// View is a frozen state of a [Vec]. It never changes and may be read by any number of
// goroutines without a lock. It keeps its elements alive.
type View[T any] struct {
	dir   []*chunk[T]
	live  int
	n     int
	shift uint8
}

// ViewOf freezes the present state. Cost: O(1), no allocation. The next write to the
// vector copies the directory and one chunk.
func ViewOf[T any](c *Vec[T]) View[T] {
	atomic.AddUint64(&c.epoch, 1)
	return View[T]{dir: c.dir, live: c.live, n: c.n, shift: c.shift}
}

// Live returns the number of slots in use.
func (v *View[T]) Live() int { return v.live }

// Len returns the number of slots.
func (v *View[T]) Len() int { return v.n }

// ViewUsed reports whether slot i, which must be below Len, is in use.
func ViewUsed[T any](v *View[T], i uint32) bool {
	ch := v.dir[i>>v.shift]
	return has(&ch.used, len(ch.v), int(i&(1<<v.shift-1)))
}

// At returns the element of slot i, which must be below Len.
func (v *View[T]) At(i uint32) T {
	return v.dir[i>>(v.shift&31)].v[i&(1<<(v.shift&31)-1)] // see Vec.At
}

// Beside returns the text beside the element of slot i, which must be below Len.
func (v *View[T]) Beside(i uint32) string {
	return besideAt(v.dir[i>>(v.shift&31)].beside, int(i&(1<<(v.shift&31)-1)))
}

// Run is a series of adjacent used slots in one chunk.
type Run[T any] struct {
	First uint32 // slot of Elems[0]
	Elems []T    // shared: not to be written
}

// Cursor is a place in a View; its zero value is the beginning.
type Cursor struct{ chunk, slot int }

// Next returns the next run of used slots, which never crosses a chunk boundary, or false after
// the last one. It is a plain call and not an iterator, so that the loop over the elements is
// in the caller, where the processor can fetch objects ahead.
func (v *View[T]) Next(c *Cursor) (run Run[T], ok bool) {
	for ; c.chunk < len(v.dir); c.chunk, c.slot = c.chunk+1, 0 {
		ch := v.dir[c.chunk]
		lo, hi := 0, len(ch.v)
		if ch.count < hi {
			lo = next(&ch.used, hi, c.slot, true)
			hi = next(&ch.used, hi, lo, false)
		} else if c.slot > 0 {
			continue
		}
		if lo < hi {
			c.slot = hi
			return Run[T]{uint32(c.chunk<<v.shift | lo), ch.v[lo:hi:hi]}, true
		}
	}
	return Run[T]{}, false
}

// All iterates over the slots in use with their elements, in slot order.
func All[T any](v View[T]) iter.Seq2[uint32, T] {
	return func(yield func(slot uint32, x T) bool) {
		var c Cursor
		for run, ok := v.Next(&c); ok; run, ok = v.Next(&c) {
			for i, x := range run.Elems {
				if !yield(run.First+uint32(i), x) {
					return
				}
			}
		}
	}
}

// Diff calls yield, in slot order, for the elements of v whose slot is free in other or has another
// element there, until yield returns false. Elements with texts beside them are the same if the texts are.
// other is a view of the same vector or of a clone. Cost:
// O(chunks), and one call of same for each element of the chunks that v and other do not share.
func Diff[T any](v, other *View[T], same func(a, b T) bool, yield func(slot uint32, x T) bool) {
	var c Cursor
	for run, ok := v.Next(&c); ok; run, ok = v.Next(&c) {
		first := int(run.First & (1<<v.shift - 1))
		var theirs *chunk[T]
		if ci := int(run.First >> v.shift); ci < len(other.dir) {
			theirs = other.dir[ci]
			if theirs == v.dir[ci] {
				continue
			}
		}
		for i, x := range run.Elems {
			slot := run.First + uint32(i)
			if theirs != nil && has(&theirs.used, len(theirs.v), first+i) {
				text, theirText := v.Beside(slot), besideAt(theirs.beside, first+i)
				if text == theirText && (text != "" || same(theirs.v[first+i], x)) {
					continue
				}
			}
			if !yield(slot, x) {
				return
			}
		}
	}
}

// AppendTo appends the elements in use to dst, in slot order.
func AppendTo[T any](dst []T, v View[T]) []T {
	var c Cursor
	for run, ok := v.Next(&c); ok; run, ok = v.Next(&c) {
		dst = append(dst, run.Elems...)
	}
	return dst
}
