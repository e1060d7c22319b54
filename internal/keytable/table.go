// Package keytable finds small numbers by the hash of what they stand for.
//
// A [Table] maps a 32-bit hash to the ids that were put under it. It stores no keys: the
// caller compares what an id stands for with what it looks for. An entry is 8 bytes
// without pointers, and 4 bytes per id let an entry be found again, moved or rehashed
// without asking for its key.
//
// One writer at a time; reads may run in parallel with each other.
package keytable

// Table is the table. Its zero value is empty and ready. Ids should be dense: memory
// grows with the largest one.
type Table struct {
	slots  []uint64 // hash<<32 | id+1; 0 is free; a power of two long
	hashes []uint32 // by id; stale for ids that are not in the table
	n      int
}

const minSlots = 8

// Len returns the number of ids.
func (t *Table) Len() int { return t.n }

// Probe walks the ids under one hash: start with the zero Probe and the hash.
type Probe struct {
	pos   uint32
	begun bool
}

// Next returns the next id that was put under hash, or false after the last one.
// Cost: expected O(1), at most one or two cache lines.
func (t *Table) Next(hash uint32, p *Probe) (uint32, bool) {
	if len(t.slots) == 0 {
		return 0, false
	}
	mask := uint32(len(t.slots) - 1)
	i := p.pos
	if !p.begun {
		i, p.begun = hash&mask, true
	}
	for ; ; i++ {
		e := t.slots[i&mask]
		if e == 0 {
			p.pos = i
			return 0, false
		}
		if uint32(e>>32) == hash {
			p.pos = i + 1
			return uint32(e) - 1, true
		}
	}
}

// Insert puts id, which must not be in the table, under hash.
func (t *Table) Insert(hash, id uint32) {
	t.reserve(1)
	if need := int(id) + 1; need > len(t.hashes) {
		t.hashes = growTo(t.hashes, need)
	}
	t.hashes[id] = hash
	t.n++
	place(t.slots, hash, id)
}

// Reserve makes room for n more ids, so that inserting them moves nothing if they are
// those that follow the largest one.
func (t *Table) Reserve(n int) {
	t.reserve(n)
	if need := len(t.hashes) + n; need > cap(t.hashes) {
		t.hashes = append(make([]uint32, 0, need), t.hashes...)
	}
}

func (t *Table) reserve(n int) {
	if size := sizeFor(t.n + n); size > len(t.slots) {
		t.rebuild(size)
	}
}

// Remove takes id, which must be in the table, out of it.
func (t *Table) Remove(id uint32) {
	t.unplace(t.find(id))
	t.n--
	if size := sizeFor(t.n * 2); t.n == 0 {
		*t = Table{}
	} else if len(t.slots) > 4*size {
		t.rebuild(size)
	}
}

// Move renames id from, which must be in the table, to the unused id to.
func (t *Table) Move(from, to uint32) {
	i := t.find(from)
	hash := t.hashes[from]
	t.slots[i] = uint64(hash)<<32 | uint64(to+1)
	if need := int(to) + 1; need > len(t.hashes) {
		t.hashes = growTo(t.hashes, need)
	}
	t.hashes[to] = hash
}

// Truncate says that no id at or above n is in use any more, so that memory for them
// can be given back.
func (t *Table) Truncate(n int) {
	if n < len(t.hashes) {
		t.hashes = t.hashes[:n]
		if cap(t.hashes) > 64 && n < cap(t.hashes)/4 {
			t.hashes = append(make([]uint32, 0, n+n/4), t.hashes...)
		}
	}
}

// Clone returns a table of its own with the same ids and hashes.
func (t *Table) Clone() Table {
	return Table{
		slots:  append(make([]uint64, 0, len(t.slots)), t.slots...),
		hashes: append(make([]uint32, 0, cap(t.hashes)), t.hashes...),
		n:      t.n,
	}
}

// HashOf returns the hash of id, which must be in the table.
func (t *Table) HashOf(id uint32) uint32 { return t.hashes[id] }

func (t *Table) find(id uint32) uint32 {
	hash := t.hashes[id]
	want := uint64(hash)<<32 | uint64(id+1)
	mask := uint32(len(t.slots) - 1)
	i := hash & mask
	for t.slots[i] != want {
		i = (i + 1) & mask
	}
	return i
}

// unplace empties position i and closes the gap, so that no tombstones are needed.
func (t *Table) unplace(i uint32) {
	mask := uint32(len(t.slots) - 1)
	for j := i; ; {
		t.slots[i] = 0
		for {
			j = (j + 1) & mask
			e := t.slots[j]
			if e == 0 {
				return
			}
			if h := uint32(e >> 32); (j-h)&mask >= (j-i)&mask {
				t.slots[i] = e
				i = j
				break
			}
		}
	}
}

func (t *Table) rebuild(size int) {
	old := t.slots
	t.slots = make([]uint64, size)
	for _, e := range old {
		if e != 0 {
			place(t.slots, uint32(e>>32), uint32(e)-1)
		}
	}
}

func place(slots []uint64, hash, id uint32) {
	mask := uint32(len(slots) - 1)
	i := hash & mask
	for slots[i] != 0 {
		i = (i + 1) & mask
	}
	slots[i] = uint64(hash)<<32 | uint64(id+1)
}

// sizeFor returns the table length that keeps n ids at 13/16 load or less: at that load
// linear probing looks at 3 entries for a hit and 15 for a miss, within a cache line or two.
func sizeFor(n int) int {
	size := minSlots
	for size*13/16 < n {
		size *= 2
	}
	return size
}

// growTo lengthens s to n, with an eighth to spare rather than append's quarter to half:
// these slices are most of what an object costs.
func growTo(s []uint32, n int) []uint32 {
	if n > cap(s) {
		s = append(make([]uint32, 0, n+n/8+4), s...)
	}
	return s[:n]
}

// Reset takes all ids out, which must be 0 to Len-1, and keeps room for some if they
// were not more than keep. Cost: O(Len).
func (t *Table) Reset(keep int) {
	if cap(t.hashes) > 2*keep {
		*t = Table{}
		return
	}
	if t.n < len(t.slots)/8 {
		for id := range t.n {
			t.unplace(t.find(uint32(id)))
		}
	} else {
		clear(t.slots)
	}
	t.hashes, t.n = t.hashes[:0], 0
}
