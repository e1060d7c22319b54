// Package keytable finds ids, which are small numbers, by the hash of a key.
//
// A [Table] maps a 32-bit hash to the ids inserted under it. It stores no keys: the caller
// compares the key of each id found with the key that it wants. An entry takes 8 bytes without
// pointers. Another 4 bytes per id hold its hash, so that an entry can be found, moved and
// rehashed without its key.
//
// A table grows and shrinks by one part of about a thousand ids at a time. No insertion or
// removal moves more than that, however many ids there are.
//
// One writer at a time; reads may run in parallel with each other.
package keytable

import (
	"math"
	"math/bits"

	"github.com/kinform/kinform/internal/paged"
)

// Table maps hashes to ids. Its zero value is empty and ready to use. Ids should be dense:
// memory grows with the largest one.
//
// It is a linear hash table. With 2^k to 2^(k+1)-1 parts, an id is in the part that the k+1
// low bits of its hash number, or the k low bits if that part does not exist yet. So a new part
// takes its ids from exactly one other part, and the last part can be merged back into it.
//
// Invariants: mask is 2^(k+1)-1; n is the sum over parts, and about partLen for each of them:
// at most that on average, and at least a quarter of it if there are several.
type Table struct {
	parts  []part
	mask   uint32
	hashes paged.Array[uint32] // by id; stale for ids that are not in the table
	n      int
}

// partLen is the number of ids of a part, on average, at which the table gets one more. The
// largest parts have about twice as many.
const partLen = 1024

// Len returns the number of ids.
func (t *Table) Len() int { return t.n }

// Probe is the position of a walk over the ids under one hash. The walk starts with the zero
// Probe.
type Probe struct {
	slots []uint64 // of the part; nil before the first step
	pos   int
}

// Next returns the next id under hash, or false after the last one.
// Cost: expected O(1), at most one or two cache lines.
func (t *Table) Next(hash uint32, p *Probe) (uint32, bool) {
	if p.slots == nil {
		if t.n == 0 {
			return 0, false
		}
		if p.slots = t.part(hash).slots; len(p.slots) == 0 {
			return 0, false
		}
		p.pos = home(hash, len(p.slots))
	}
	slots := p.slots
	for i := p.pos; ; {
		e := slots[i]
		if e == 0 {
			p.pos = i
			return 0, false
		}
		if i++; i == len(slots) {
			i = 0
		}
		if uint32(e>>32) == hash {
			p.pos = i
			return uint32(e) - 1, true
		}
	}
}

// part returns the part for hash. There must be one.
func (t *Table) part(hash uint32) *part {
	i := hash & t.mask
	if int(i) >= len(t.parts) {
		i &= t.mask >> 1
	}
	return &t.parts[i]
}

// Insert puts id, which must not be in the table, under hash.
func (t *Table) Insert(hash, id uint32) {
	if len(t.parts) == 0 {
		t.setParts(make([]part, 1))
	}
	paged.Lengthen(&t.hashes, int(id)+1)
	*t.hashes.At(id) = hash
	t.n++
	t.part(hash).insert(entry(hash, id))
	if t.n > len(t.parts)*partLen {
		t.split()
	}
}

// Remove takes id, which must be in the table, out of it.
func (t *Table) Remove(id uint32) {
	hash := *t.hashes.At(id)
	t.part(hash).remove(entry(hash, id))
	t.n--
	if t.n == 0 {
		*t = Table{}
	} else if len(t.parts) > 1 && t.n < len(t.parts)*partLen/4 {
		t.merge()
	}
}

// setParts gives the table its parts, of which there is at least one.
func (t *Table) setParts(parts []part) {
	t.parts = parts
	t.mask = 1<<bits.Len(uint(len(parts))) - 1
}

// split adds one part, with ids of the part that has gone longest without a split.
func (t *Table) split() {
	bit := (t.mask + 1) >> 1
	from := uint32(len(t.parts)) - bit
	old := t.parts[from]
	counts := [2]int{}
	for _, e := range old.slots {
		if e != 0 {
			counts[e>>32&uint64(bit)/uint64(bit)]++
		}
	}
	halves := [2]part{newPart(counts[0]), newPart(counts[1])}
	for _, e := range old.slots {
		if e != 0 {
			halves[e>>32&uint64(bit)/uint64(bit)].put(e)
		}
	}
	t.parts[from] = halves[0]
	t.setParts(append(t.parts, halves[1]))
}

// merge undoes the last split.
func (t *Table) merge() {
	last := len(t.parts) - 1
	gone := t.parts[last]
	t.parts[last] = part{}
	t.setParts(t.parts[:last])
	if cap(t.parts) > 64 && last < cap(t.parts)/4 {
		t.parts = append(make([]part, 0, last+last/4), t.parts...)
	}
	into := &t.parts[last-1<<(bits.Len(uint(last))-1)]
	into.resize(roomFor(into.n + gone.n))
	for _, e := range gone.slots {
		if e != 0 {
			into.put(e)
		}
	}
}

// Reserve makes room for n more ids, which makes their insertion faster. It does nothing unless
// the table at least doubles. Cost: O(Len + n).
func (t *Table) Reserve(n int) {
	total := t.n + n
	parts := max(1, (total+partLen-1)/partLen)
	if parts < 2*len(t.parts) || n < t.n {
		return
	}
	old := t.parts
	t.setParts(make([]part, parts))
	whole := (int(t.mask) + 1) / 2 // parts, if none were split
	for i := range t.parts {
		expected := total / whole
		if i < parts-whole || i >= whole {
			expected /= 2
		}
		if parts > 1 {
			expected += int(3 * math.Sqrt(float64(expected))) // few parts hold more than that
		}
		t.parts[i] = newPart(expected)
	}
	for _, p := range old {
		for _, e := range p.slots {
			if e != 0 {
				t.part(uint32(e >> 32)).insert(e)
			}
		}
	}
}

// Move renames id from, which must be in the table, to the unused id to.
func (t *Table) Move(from, to uint32) {
	hash := *t.hashes.At(from)
	p := t.part(hash)
	p.slots[p.find(entry(hash, from))] = entry(hash, to)
	paged.Lengthen(&t.hashes, int(to)+1)
	*t.hashes.At(to) = hash
}

// Truncate gives back memory of ids at and above n, none of which may be in use.
func (t *Table) Truncate(n int) { paged.Truncate(&t.hashes, n) }

// Clone returns an independent copy of the table.
func (t *Table) Clone() Table {
	c := Table{parts: make([]part, len(t.parts)), mask: t.mask, hashes: paged.Clone(&t.hashes), n: t.n}
	for i, p := range t.parts {
		c.parts[i] = part{slots: append(make([]uint64, 0, len(p.slots)), p.slots...), n: p.n}
	}
	return c
}

// HashOf returns the hash of id, which must be in the table.
func (t *Table) HashOf(id uint32) uint32 { return *t.hashes.At(id) }

// Reset removes all ids, which must be 0 to Len-1. It keeps the memory unless that is for more
// than twice keep ids. Cost: O(Len).
func (t *Table) Reset(keep int) {
	if t.hashes.Room() > 2*keep {
		*t = Table{}
		return
	}
	if t.n < t.room()/8 {
		for id := range uint32(t.n) {
			t.part(t.HashOf(id)).unplace(entry(t.HashOf(id), id))
		}
	} else {
		for i := range t.parts {
			clear(t.parts[i].slots)
			t.parts[i].n = 0
		}
	}
	paged.Empty(&t.hashes)
	t.n = 0
}

// room returns the number of slots in all parts.
func (t *Table) room() (n int) {
	for i := range t.parts {
		n += len(t.parts[i].slots)
	}
	return n
}
