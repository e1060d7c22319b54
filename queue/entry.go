package queue

// state says where a key is. ready and running exclude each other; dirty only goes with running. A key that is none of
// them is in the map because it is delayed, held or has failures to remember.
type state uint8

const (
	ready   state = 1 << iota // in a lane, to be handed out
	running                   // handed out and not done
	dirty                     // added while running: goes back to ready when done; not held
)

// Each entry can wait in two timer heaps at once.
const (
	delayed = iota // AddAfter, AddRateLimited
	held           // Options.Debounce
	heaps
)

const (
	slabSize  = 16   // entries are allocated this many at a time once the queue has some
	keepTable = 512  // a table of up to this many slots keeps its size, and an empty queue its memory, for the next burst
	tooLarge  = 8    // a larger table shrinks when it has this many slots per key
	keepFree  = 1024 // at most so many recycled entries wait for their next use
)

// entry is all that the queue knows about one key. There is one entry per key, found through store.table; entries are
// recycled, and gen tells a handle to an earlier life from the present one. Guarded by Queue.mu. The first 64 bytes,
// with the usual key, are all that a key needs that is neither delayed nor timed.
type entry[K comparable] struct {
	key        K
	next, prev *entry[K] // in a lane when ready, in the list of running ones when timed, in the free list when unused
	hash       uint32    // of the key
	gen        uint32    // counts hand-outs
	prio       int32     // of the present or last hand-out
	state      state

	pos      [heaps]int32 // place in each heap plus one, zero: not in it
	later    [heaps]int32 // priority with which it leaves the heap
	again    int32        // priority with which a dirty key comes back
	failures uint32       // AddRateLimited since the last Forget
	class    *class       // nil without Options.Class
	since    int64        // added at, while held, ready or dirty; zero if not stamped
	start    int64        // handed out at; zero if not stamped
}

// idle says that nothing is left to remember about the key.
func (e *entry[K]) idle() bool {
	return e.state == 0 && e.failures == 0 && e.pos == [heaps]int32{}
}

// store holds the entries by key. Guarded by Queue.mu.
type store[K comparable] struct {
	table table[K]
	free  *entry[K]  // recycled entries, by next
	nFree int        // their number
	slab  []entry[K] // entries never used so far
	burst bool       // the table has been large since the queue was empty
}

// make returns a new entry for a key that has none. Amortised O(1).
func (s *store[K]) make(key K, hash uint32) *entry[K] {
	e := s.free
	if e != nil {
		s.free = e.next
		s.nFree--
		e.next = nil
	} else {
		if len(s.slab) == 0 {
			s.slab = make([]entry[K], min(slabSize, 1+s.table.n))
		}
		e = &s.slab[0]
		s.slab = s.slab[1:]
	}
	e.key, e.hash = key, hash
	s.table.insert(e)
	return e
}

// drop forgets an idle entry's key and recycles the entry. It reports whether that was the last one of a burst, and all
// memory was let go. Amortised O(1).
func (s *store[K]) drop(e *entry[K]) (over bool) {
	s.table.remove(e)
	var none K
	e.key = none
	e.class, e.since, e.start = nil, 0, 0
	if s.nFree < keepFree { // the rest is garbage, so that shrink has no long list to take apart
		e.next = s.free
		s.free = e
		s.nFree++
	}
	if len(s.table.slots) > keepTable {
		s.burst = true
		if s.table.n*tooLarge <= len(s.table.slots) {
			s.shrink()
		}
	} else if s.burst && s.table.n == 0 {
		*s = store[K]{}
		return true
	}
	return false
}

// shrink makes the table fit its entries and lets the recycled ones go. Its cost is amortised over the drops since the
// last time.
func (s *store[K]) shrink() {
	s.table.resize(max(minTable, len(s.table.slots)/4))
	for e := s.free; e != nil; {
		next := e.next
		e.next = nil // an entry whose slab is still in use must not hold on to all the others
		e = next
	}
	s.free, s.nFree, s.slab = nil, 0, nil
}
