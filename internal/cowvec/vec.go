package cowvec

import (
	"slices"
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

// chunk is a run of slots.
type chunk[T any] struct {
	used
	v      []T      // free slots hold the zero T
	beside []string // a text for each of the first slots, empty for free ones; see SetBeside
}

// Vec is the vector. Its zero value is empty and ready.
type Vec[T any] struct {
	dir []*chunk[T]
	space
}

// Len returns the number of slots, free ones included: every slot number is below it.
func (c *Vec[T]) Len() int { return c.n }

// Live returns the number of slots in use.
func (c *Vec[T]) Live() int { return c.live }

// At returns the element of slot i, which must be below Len. It is the zero T for a
// free slot.
func (c *Vec[T]) At(i uint32) T {
	return c.dir[i>>(c.shift&31)].v[i&(1<<(c.shift&31)-1)] // without &31, a shift has a branch
}

// Beside returns the text beside the element of slot i, which must be below Len.
func (c *Vec[T]) Beside(i uint32) string {
	return besideAt(c.dir[i>>(c.shift&31)].beside, int(i&(1<<(c.shift&31)-1)))
}

func besideAt(all []string, p int) string {
	if p >= len(all) {
		return ""
	}
	return all[p]
}

// SetBeside puts a text beside the element of slot i, which must be in use. It takes 16 bytes for each slot of
// the chunk, from the first text on.
func SetBeside[T any](c *Vec[T], i uint32, text string) {
	ch := own(c, int(i>>c.shift))
	ch.beside = putBeside(ch.beside, int(i&(1<<c.shift-1)), cap(ch.v), text)
}

// putBeside sets the text of slot p of a chunk with room for n slots.
//
//go:noinline
func putBeside(all []string, p, n int, text string) []string {
	if p >= len(all) {
		if text == "" {
			return all
		}
		all = append(make([]string, 0, n), all...)[:n]
	}
	all[p] = text
	return all
}

// cloneTexts is here so that it is compiled once, and not for each type of elements.
//
//go:noinline
func cloneTexts(all []string) []string { return slices.Clone(all) }

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
	own(c, int(i>>(c.shift&31))).v[i&(1<<(c.shift&31)-1)] = x
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
	ci := nextGap(&c.space)
	return occupy(c, ci, firstFree(&c.dir[ci].used), x)
}

func occupy[T any](c *Vec[T], ci, p int, x T) uint32 {
	ch := own(c, ci)
	ch.v[p] = x
	occupied(&c.space, &ch.used, ci, p, len(ch.v))
	return uint32(ci<<c.shift | p)
}

func push[T any](c *Vec[T], x T) uint32 {
	ci := c.n >> c.shift
	if ci == len(c.dir) {
		addChunk(c)
	}
	ch := own(c, ci)
	if len(ch.v) == cap(ch.v) {
		ch.v = copied(ch.v, min(2*cap(ch.v), 1<<c.shift))
	}
	ch.v = ch.v[:len(ch.v)+1]
	c.n++
	return occupy(c, ci, len(ch.v)-1, x)
}

// addChunk adds a chunk at the end. The first one grows with a small vector.
func addChunk[T any](c *Vec[T]) {
	room := 1 << c.shift
	if len(c.dir) == 0 {
		room = 4
	}
	ownDir(c, 1)
	ch := &chunk[T]{v: make([]T, 0, room)}
	ch.owner = c.epoch
	c.dir = append(c.dir, ch)
	if len(c.dir) > 64*len(c.gaps) {
		c.gaps = append(c.gaps, 0)
	}
}

// Remove frees slot i, which must be in use, zeroes it, and drops the free slots and
// chunks at the end.
func Remove[T any](c *Vec[T], i uint32) {
	ci, p := int(i>>c.shift), i&(1<<c.shift-1)
	ch := own(c, ci)
	var zero T
	ch.v[p], ch.beside = zero, putBeside(ch.beside, int(p), cap(ch.v), "")
	freed(&c.space, &ch.used, ci, int(p))
	if int(i) == c.n-1 {
		trim(c)
	}
}

// trim drops the free slots at the end, so that slot n-1 is in use again.
func trim[T any](c *Vec[T]) {
	k := len(c.dir)
	for k > 0 && c.dir[k-1].count == 0 {
		k--
	}
	if k == 0 {
		*c = Vec[T]{space: space{shift: c.shift, epoch: c.epoch + 1}}
		return
	}
	if k < len(c.dir) {
		ownDir(c, 0)
		clear(c.dir[k:])
		c.dir = c.dir[:k]
	}
	if cap(c.dir) > 64 && k < cap(c.dir)/4 {
		c.dir = copied(c.dir, k+k/4)
	}
	ch := own(c, k-1)
	ch.v = ch.v[:trimmed(&c.space, &ch.used, k)]
}

// own returns chunk ci. If a view may share it, own copies it first.
func own[T any](c *Vec[T], ci int) *chunk[T] {
	if ch := c.dir[ci]; ch.owner == c.epoch {
		return ch
	}
	return ownChunk(c, ci)
}

// ownChunk replaces chunk ci by a copy, and returns that.
//
//go:noinline
func ownChunk[T any](c *Vec[T], ci int) *chunk[T] {
	ch := c.dir[ci]
	ownDir(c, 0)
	cp := &chunk[T]{used: ch.used, v: copied(ch.v, cap(ch.v)), beside: cloneTexts(ch.beside)}
	cp.owner = c.epoch
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
	c.dir = copied(c.dir, room)
	c.dirOwner = c.epoch
}

// copied returns a copy of a slice with room for so many elements.
//
//go:noinline
func copied[E any](all []E, room int) []E {
	cp := make([]E, len(all), room)
	copy(cp, all)
	return cp
}

// Clone returns a second vector with the same slots. Both share the chunks until the clone
// writes to one, so writes to the clone never show in c. c must not be written again. Cost:
// O(1), and the first write to each chunk copies it.
//
//go:noinline
func Clone[T any](c *Vec[T]) Vec[T] {
	return Vec[T]{dir: c.dir, space: cloneSpace(&c.space)}
}
