package queue

import "github.com/kinform/kinform/internal/note"

// state is the state of a key. ready and running exclude each other; dirty implies running. A key
// in none of these states is in the table because it is delayed, held, or has failures.
type state uint8

const (
	ready   state = 1 << iota // in a lane, to be handed out
	running                   // handed out and not done
	dirty                     // added while running: goes back to ready when done; not held
)

// An entry can be in two timer heaps at the same time.
const (
	delayed = iota // AddAfter, AddRateLimited
	held           // Options.Debounce
	heaps
)

const (
	slabSize  = 16   // number of entries allocated together, once the queue has some
	keepTable = 512  // a table of up to this many slots keeps its size, and an empty queue its memory, for the next burst
	tooLarge  = 8    // a larger table shrinks when it has this many slots per key
	keepFree  = 1024 // largest number of recycled entries
)

// entry is everything that the queue knows about one key. There is one entry per key, found through
// store.table. Entries are recycled; gen tells an Item of an earlier use from one of the present
// use. Guarded by Queue.mu. With the usual key, the first 96 bytes are enough for a key that is
// neither delayed nor timed.
type entry[K comparable] struct {
	key             K
	links[entry[K]]        // in a lane when ready, in the list of running ones when timed, in the free list when unused
	hash            uint32 // of the key
	gen             uint32 // counts hand-outs
	prio            int32  // of the present or last hand-out
	state           state
	why             uint8 // a note: of the pending delay

	// notes are those of the adds since the last hand-out: of those that are delayed, only once their delay has ended.
	// Those of hand-outs that served nothing come back.
	notes note.Notes

	pos      [heaps]int32 // place in each heap plus one, zero: not in it
	later    [heaps]int32 // priority with which it leaves the heap
	again    int32        // priority with which a dirty key comes back
	failures uint32       // AddRateLimited since the last Forget
	class    *class       // nil without Options.Class
	since    int64        // added at, while held, ready or dirty; zero if not stamped
	start    int64        // handed out at; zero if not stamped
}

// idle reports whether the entry has nothing left to record.
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
	insert(&s.table, e)
	return e
}

// drop removes the key of an idle entry and recycles the entry. If it was the last entry after a
// burst, drop gives back all memory and returns true. Amortised O(1).
func drop[K comparable](s *store[K], e *entry[K]) (over bool) {
	s.table.remove(e)
	var none K
	e.key = none
	e.class, e.since, e.start, e.notes = nil, 0, 0, note.Notes{}
	if s.nFree < keepFree { // further entries become garbage, so that shrink is fast
		e.next = s.free
		s.free = e
		s.nFree++
	}
	if len(s.table.slots) > keepTable {
		s.burst = true
		if s.table.n*tooLarge <= len(s.table.slots) {
			shrink(s)
		}
	} else if s.burst && s.table.n == 0 {
		*s = store[K]{}
		return true
	}
	return false
}

// shrink shrinks the table and drops the recycled entries. Its cost is amortised over the drops
// since the last shrink.
func shrink[K comparable](s *store[K]) {
	s.table.resize(max(minTable, len(s.table.slots)/4))
	for e := s.free; e != nil; {
		next := e.next
		e.next = nil // else an entry whose slab is still in use would keep all the others in memory
		e = next
	}
	s.free, s.nFree, s.slab = nil, 0, nil
}
