package queue

// state says where a key is. ready and running exclude each other; dirty only goes with running. A key that is none of
// them is in the map because it is delayed, held or has failures to remember.
type state uint8

const (
	ready   state = 1 << iota // in a lane, to be handed out
	running                   // handed out and not done
	dirty                     // added while running: goes back to ready when done
)

// Each entry can wait in two timer heaps at once.
const (
	delayed = iota // AddAfter, AddRateLimited
	held           // Options.Debounce
	heaps
)

const (
	slabSize   = 16  // entries are allocated this many at a time once the queue has some
	keepBurst  = 512 // an empty queue that held fewer keys keeps its memory for the next burst
	shrinkFrom = 8   // the map is rebuilt when it is this many times too large
)

// entry is all that the queue knows about one key. There is one entry per key, found through Queue.keys; entries are
// recycled, and gen tells a handle to an earlier life from the present one. Guarded by Queue.mu.
type entry[K comparable] struct {
	key        K
	next, prev *entry[K] // in a lane when ready, in the list of running ones when timed, in the free list when unused
	class      *class    // nil without Options.Class
	since      int64     // added at; zero if not stamped
	start      int64     // handed out at; zero if not stamped
	gen        uint32    // counts hand-outs
	failures   uint32    // AddRateLimited since the last Forget
	pos        [heaps]int32
	later      [heaps]int32 // priority with which it leaves the heap
	prio       int32        // of the present or last hand-out
	again      int32        // priority with which a dirty key comes back
	state      state
}

// idle says that nothing is left to remember about the key.
func (e *entry[K]) idle() bool {
	return e.state == 0 && e.failures == 0 && e.pos == [heaps]int32{}
}

// store holds the entries by key. Guarded by Queue.mu.
type store[K comparable] struct {
	keys map[K]*entry[K]
	free *entry[K]  // recycled entries, by next
	slab []entry[K] // entries never used so far
	peak int        // largest len(keys) since the map was made
	high int        // largest len(keys) since the queue was empty
}

// make returns a new entry for a key that has none. Amortised O(1).
func (s *store[K]) make(key K) *entry[K] {
	e := s.free
	if e != nil {
		s.free = e.next
		e.next = nil
	} else {
		if len(s.slab) == 0 {
			s.slab = make([]entry[K], min(slabSize, 1+len(s.keys)))
		}
		e = &s.slab[0]
		s.slab = s.slab[1:]
	}
	e.key = key
	if s.keys == nil {
		s.keys = make(map[K]*entry[K])
	}
	s.keys[key] = e
	return e
}

// drop forgets an idle entry's key and recycles the entry. Amortised O(1).
func (s *store[K]) drop(e *entry[K]) {
	n := len(s.keys)
	s.peak = max(s.peak, n)
	s.high = max(s.high, n)
	delete(s.keys, e.key)
	*e = entry[K]{gen: e.gen, next: s.free}
	s.free = e
	if n--; n == 0 {
		if s.high >= keepBurst {
			*s = store[K]{}
		}
		s.high = 0
	} else if s.peak >= keepBurst && n*shrinkFrom <= s.peak {
		s.rebuild()
	}
}

// rebuild moves the live entries to a map of their number, because Go maps never shrink, and lets the recycled entries
// go. It costs O(live) and happens after at least seven times as many drops.
func (s *store[K]) rebuild() {
	keys := make(map[K]*entry[K], len(s.keys))
	for k, e := range s.keys {
		keys[k] = e
	}
	s.keys, s.peak = keys, len(keys)
	s.free, s.slab = nil, nil
}
