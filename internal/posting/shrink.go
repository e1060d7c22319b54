package posting

import (
	"github.com/kinform/kinform/internal/cowvec"
	"github.com/kinform/kinform/internal/paged"
)

// After many values, or many slots with several values, are gone, those with the highest numbers
// get lower numbers, a few with each write. Then the memory above can be given back.
const (
	keepPosts  = 16 // free numbers that are never given back
	keepMore   = 16
	visitRefs  = 64 // most refs that one write visits
	visitLists = 8  // most lists in more that one write visits
)

// move is a posting that got a new number while refs of its slots still have the old one.
//
// Invariant: no other posting gets the number from until all refs were visited. When a move
// begins, there is at least one free number per 64 slots, and each new value visits 64 refs.
type move struct {
	from, to   uint32 // as in a ref; from is 0 if there is no move
	next, last uint32 // positions in the posting still to be visited: from next to last-1
}

// shrink does a bounded part of the work to give memory back.
func (l *lists) shrink(v numbering) {
	budget := l.visit(visitRefs)
	for budget > 0 && l.tooManyPosts(v) {
		l.begin(v)
		budget = l.visit(budget - 1)
	}
	for i := 0; i < visitLists && l.numbers.Len() >= keepMore+4*l.numbers.Live(); i++ {
		l.lowerMore()
	}
	if n := l.numbers.Len(); l.more.Len() > keepMore+2*n {
		paged.Truncate(&l.more, n)
	}
}

func (l *lists) tooManyPosts(v numbering) bool {
	n := v.last() - v.live()
	return n >= keepPosts+3*v.live() && n >= l.reached()/visitRefs
}

// begin gives the posting with the highest number the lowest free one.
func (l *lists) begin(v numbering) {
	from := uint32(v.last())
	to := v.lower(from)
	p := *l.posts.At(from - 1)
	*l.posts.At(to - 1) = p
	paged.Truncate(&l.posts, v.last())
	l.move = move{from: from, to: to, last: uint32(p.len())}
}

// visit updates at most n refs, and returns how many of the n are left.
func (l *lists) visit(n int) int {
	m := &l.move
	if m.from == 0 {
		return n
	}
	p := l.posts.At(m.to - 1)
	for ; n > 0 && m.next < min(m.last, uint32(p.len())); n-- {
		l.refsOf(p.at(m.next)) // updates the ref
		m.next++
	}
	if m.next >= min(m.last, uint32(p.len())) {
		*m = move{}
	}
	return n
}

// lowerMore gives the last list the lowest free number.
func (l *lists) lowerMore() {
	last := uint32(l.numbers.Len() - 1)
	to := l.newMore()
	refs := *l.more.At(last)
	slot := l.posts.At(l.number(refs[0]) - 1).at(refs[0].pos)
	*l.more.At(to), *l.more.At(last) = refs, nil
	l.rows.at(slot, l.col).pos = to
	cowvec.Remove(&l.numbers, last)
}
