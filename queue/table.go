package queue

// minTable is the smallest number of slots of a table that is not empty. A power of two.
const minTable = 8

// table finds entries by key. It is a hash table with open addressing and linear probing. It has
// advantages over a Go map because entries have their own hash: removing and growing hash no key
// and read no entry; a lookup and the insertion after it hash once, outside of the lock; and it can
// shrink. Guarded by Queue.mu.
type table[K comparable] struct {
	slots []tableSlot[K] // their number is a power of two, or zero
	n     int            // slots in use, at most 3/4 of them
}

type tableSlot[K comparable] struct {
	e    *entry[K] // nil: free
	hash uint32
}

// find returns the entry of a key with that hash, or nil. O(1) expected.
func find[K comparable](t *table[K], key K, hash uint32) *entry[K] {
	if t.n == 0 {
		return nil
	}
	mask := uint32(len(t.slots) - 1)
	for i := hash & mask; ; i = (i + 1) & mask {
		s := &t.slots[i&mask]
		if s.e == nil {
			return nil
		}
		if s.hash == hash && s.e.key == key {
			return s.e
		}
	}
}

// insert adds an entry whose key is not in the table. Amortised O(1).
func insert[K comparable](t *table[K], e *entry[K]) {
	if 4*(t.n+1) > 3*len(t.slots) {
		t.resize(max(minTable, 2*len(t.slots)))
	}
	t.n++
	t.put(tableSlot[K]{e: e, hash: e.hash})
}

func (t *table[K]) put(s tableSlot[K]) {
	mask := uint32(len(t.slots) - 1)
	i := s.hash & mask
	for t.slots[i].e != nil {
		i = (i + 1) & mask
	}
	t.slots[i] = s
}

// remove removes an entry that is in the table. The entries behind it move up, so there are no
// tombstones, and lookups do not get slower over the years. O(1) expected.
func (t *table[K]) remove(e *entry[K]) {
	mask := uint32(len(t.slots) - 1)
	hole := e.hash & mask
	for t.slots[hole].e != e {
		hole = (hole + 1) & mask
	}
	for i := (hole + 1) & mask; t.slots[i].e != nil; i = (i + 1) & mask {
		if home := t.slots[i].hash & mask; (i-home)&mask >= (i-hole)&mask {
			t.slots[hole] = t.slots[i]
			hole = i
		}
	}
	t.slots[hole] = tableSlot[K]{}
	t.n--
}

// resize moves all entries to a new table of size slots, a power of two with room for them.
func (t *table[K]) resize(size int) {
	old := t.slots
	t.slots = make([]tableSlot[K], size)
	for _, s := range old {
		if s.e != nil {
			t.put(s)
		}
	}
}

// all calls yield for each entry, in no order. The table must not change meanwhile.
func (t *table[K]) all(yield func(*entry[K]) bool) {
	for _, s := range t.slots {
		if s.e != nil && !yield(s.e) {
			return
		}
	}
}
