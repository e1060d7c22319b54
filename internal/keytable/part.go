package keytable

// part is a small hash table: open addressing with linear probing. The number of slots need not
// be a power of two.
//
// Invariants: n slots are used, at most 13/16 of all; no slot between the home of an entry and its
// slot is free. At that load a search looks at 3 entries for a hit and 15 for a miss, within a
// cache line or two.
type part struct {
	slots []uint64 // entries; 0 is free
	n     int
}

const minSlots = 8

// roomFor returns the number of slots that n ids need.
func roomFor(n int) int { return n + n/4 + 1 }

// newPart returns a part with room for n ids, and without slots if n is 0.
func newPart(n int) part {
	if n == 0 {
		return part{}
	}
	return part{slots: make([]uint64, max(roomFor(n), minSlots))}
}

// entry is the content of a used slot: hash<<32 | id+1.
func entry(hash, id uint32) uint64 { return uint64(hash)<<32 | uint64(id+1) }

// home returns the slot, of size slots, at which the search for hash starts. It uses the high
// bits, because all hashes in a part have the same low bits.
func home(hash uint32, size int) int { return int(uint64(hash) * uint64(size) >> 32) }

// insert adds e, and makes room first if necessary.
func (p *part) insert(e uint64) {
	if size := len(p.slots); 16*(p.n+1) > 13*size {
		if size < 64 {
			p.resize(max(minSlots, 2*size))
		} else {
			p.resize(size + size/4)
		}
	}
	p.put(e)
}

// put adds e. There must be room.
func (p *part) put(e uint64) {
	slots := p.slots
	i := home(uint32(e>>32), len(slots))
	for slots[i] != 0 {
		if i++; i == len(slots) {
			i = 0
		}
	}
	slots[i] = e
	p.n++
}

// remove removes e, and gives memory back when less than a quarter of the slots is used.
func (p *part) remove(e uint64) {
	p.unplace(e)
	if size := len(p.slots); p.n == 0 {
		*p = part{}
	} else if size > 2*minSlots && p.n < size/4 {
		p.resize(size / 2)
	}
}

// find returns the slot of e, which must be there.
func (p *part) find(e uint64) int {
	i := home(uint32(e>>32), len(p.slots))
	for p.slots[i] != e {
		if i++; i == len(p.slots) {
			i = 0
		}
	}
	return i
}

// unplace removes e and closes the gap, so that no tombstones are needed.
func (p *part) unplace(e uint64) {
	size := len(p.slots)
	after := func(i, j int) int { // how far j is after i
		if j -= i; j < 0 {
			j += size
		}
		return j
	}
	hole := p.find(e)
	p.n--
	for j := hole; ; {
		if j++; j == size {
			j = 0
		}
		e := p.slots[j]
		if e == 0 {
			p.slots[hole] = 0
			return
		}
		if after(home(uint32(e>>32), size), j) >= after(hole, j) {
			p.slots[hole] = e
			hole = j
		}
	}
}

// resize moves the entries to a new array of size slots, which must have room for them.
func (p *part) resize(size int) {
	old := p.slots
	*p = part{slots: make([]uint64, size)}
	for _, e := range old {
		if e != 0 {
			p.put(e)
		}
	}
}
