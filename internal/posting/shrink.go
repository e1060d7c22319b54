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
func shrink[V comparable](l *Lists[V]) {
	budget := visit(l, visitRefs)
	for budget > 0 && tooManyPosts(l) {
		begin(l)
		budget = visit(l, budget-1)
	}
	for i := 0; i < visitLists && l.numbers.Len() >= keepMore+4*l.numbers.Live(); i++ {
		lowerMore(l)
	}
	if n := l.numbers.Len(); l.more.Len() > keepMore+2*n {
		paged.Truncate(&l.more, n)
	}
}

func tooManyPosts[V comparable](l *Lists[V]) bool {
	n := l.values.Len() - l.values.Live()
	return n >= keepPosts+3*l.values.Live() && n >= reached(l)/visitRefs
}

// begin gives the posting with the highest number the lowest free one.
func begin[V comparable](l *Lists[V]) {
	from := uint32(l.values.Len() - 1)
	to := cowvec.Insert(&l.values, l.values.At(from))
	l.table.Move(from, to)
	p := *l.posts.At(from)
	*l.posts.At(to) = p
	cowvec.Remove(&l.values, from)
	truncatePosts(l)
	l.move = move{from: from + 1, to: to + 1, last: uint32(p.len())}
}

// visit updates at most n refs, and returns how many of the n are left.
func visit[V comparable](l *Lists[V], n int) int {
	m := &l.move
	if m.from == 0 {
		return n
	}
	p := l.posts.At(m.to - 1)
	for ; n > 0 && m.next < min(m.last, uint32(p.len())); n-- {
		refsOf(l, p.at(m.next)) // updates the ref
		m.next++
	}
	if m.next >= min(m.last, uint32(p.len())) {
		*m = move{}
	}
	return n
}

// lowerMore gives the last list the lowest free number.
func lowerMore[V comparable](l *Lists[V]) {
	last := uint32(l.numbers.Len() - 1)
	to := newMore(l)
	refs := *l.more.At(last)
	slot := l.posts.At(l.number(refs[0]) - 1).at(refs[0].pos)
	*l.more.At(to), *l.more.At(last) = refs, nil
	l.rows.at(slot, l.col).pos = to
	cowvec.Remove(&l.numbers, last)
}

// truncatePosts gives back the memory of postings above the highest number in use.
func truncatePosts[V comparable](l *Lists[V]) {
	paged.Truncate(&l.posts, l.values.Len())
	l.table.Truncate(l.values.Len())
}
