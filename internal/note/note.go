// Package note says in a number why a key was added to a queue. The queue keeps the newest notes of each key, and hands
// them out with it: see Of. Package controller makes the notes of events, and puts them into words.
package note

import "context"

// Note says why a key was added.
type Note uint64

// The notes of the queue. Those of events have the bit Event.
const (
	ByHand   Note = iota // added, and nobody said why
	Delayed              // a delay of AddAfter ended
	Retry                // rate limited
	Again                // the function of Run asked for it
	CutShort             // Run's context ended during the call
	Freed                // package controller: a name that the key waits for may be free
	PutOff               // the function of Run has put it off and served nothing

	unknown // stands for one that is not kept

	Event Note = 8
)

// Kept is the number of notes that a queue keeps for each key.
const Kept = 3

// Notes are the notes of the adds that one hand-out serves. The zero value has none.
type Notes struct {
	newest [Kept]Note // the newest first
	adds   uint32
	common uint32 // bits of all notes
}

// Add adds a note. It costs no allocation.
func (n *Notes) Add(is Note) {
	if n.adds == 0 {
		n.common = uint32(is)
	}
	n.newest[2], n.newest[1], n.newest[0] = n.newest[1], n.newest[0], is
	n.common &= uint32(is)
	n.adds = max(n.adds, n.adds+1)
}

// Adds returns the number of all notes, up to 1<<32 - 1.
func (n *Notes) Adds() int { return int(n.adds) }

// All returns those of the lowest 32 bits that all notes have, also the ones that are not kept.
func (n *Notes) All() Note { return Note(n.common) }

// Newest returns the notes that are kept, the newest first.
func (n *Notes) Newest() []Note {
	kept := min(n.adds, Kept)
	for kept > 0 && n.newest[kept-1] == unknown {
		kept--
	}
	return n.newest[:kept]
}

// Repeats reports whether a note says that the hand-out before served nothing.
func (is Note) Repeats() bool { return is == Retry || is == CutShort || is == PutOff }

// PutBack adds, as the oldest, the notes of a hand-out that served nothing. It leaves out those that say that the hand-out
// before did not either: otherwise they would push out the reason of it all.
func (n *Notes) PutBack(old *Notes) {
	left, known, kept, common := old.adds, uint32(0), len(n.Newest()), ^uint32(0)
	for _, is := range old.Newest() {
		if is.Repeats() {
			left--
			continue
		}
		known++
		common &= uint32(is)
		if kept < Kept {
			n.newest[kept] = is
			kept++
		}
	}
	if left == 0 {
		return
	}
	if left > known {
		common &= old.common // of the others only that is known
	}
	if n.adds > 0 {
		common &= n.common
	}
	n.common = common
	n.adds = max(n.adds, left, n.adds+left) // the sum may be too large
	for ; kept < Kept; kept++ {
		n.newest[kept] = unknown
	}
}

// noted is the context of the calls of one worker.
type noted struct {
	context.Context
	notes *Notes
}

type key struct{}

// Value implements context.Context.
func (c noted) Value(k any) any {
	if k == (key{}) {
		return c.notes
	}
	return c.Context.Value(k)
}

// With returns a context for the calls of one goroutine. The goroutine sets notes before each call.
func With(ctx context.Context, notes *Notes) context.Context { return noted{ctx, notes} }

// Of returns the notes of the hand-out that a call of queue.Run is for. Only the goroutine of the call may ask.
func Of(ctx context.Context) Notes {
	if notes, ok := ctx.Value(key{}).(*Notes); ok {
		return *notes
	}
	return Notes{}
}
