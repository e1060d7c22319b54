package posting

// When many more values, or slots with several values, were once held than are now, those
// with the highest numbers get lower ones, a few with each write, so that the memory above
// them can be given back.
const (
	keepPosts  = 16 // free numbers that always stay
	keepMore   = 16
	visitRefs  = 64 // refs that one write visits at most
	visitLists = 8  // lists in more that one write visits at most
)

// move is a posting that has got another number while refs of its slots still have the old one.
//
// Invariant: no other posting gets the number from before all refs are visited. There are a
// 64th as many free numbers as slots when a move begins, and each new value visits 64.
type move struct {
	from, to   uint32 // as in a ref; from is 0 where nothing moves
	next, last uint32 // positions in the posting still to be visited: from next to last-1
}

// shrink gives a little memory back.
func (l *Lists[V]) shrink() {
	budget := l.visit(visitRefs)
	for budget > 0 && l.tooManyPosts() {
		l.begin()
		budget = l.visit(budget - 1)
	}
	for i := 0; i < visitLists && l.numbers.Len() >= keepMore+4*l.numbers.Live(); i++ {
		l.lowerMore()
	}
	if n := l.numbers.Len(); l.more.Len() > keepMore+2*n {
		l.more.Truncate(n)
	}
}

func (l *Lists[V]) tooManyPosts() bool {
	n := l.values.Len() - l.values.Live()
	return n >= keepPosts+3*l.values.Live() && n >= l.refs.Len()/visitRefs
}

// begin gives the posting with the highest number the lowest free one.
func (l *Lists[V]) begin() {
	from := uint32(l.values.Len() - 1)
	to := l.values.Insert(l.values.At(from))
	l.table.Move(from, to)
	p := *l.posts.At(from)
	*l.posts.At(to) = p
	l.values.Remove(from)
	l.truncatePosts()
	l.move = move{from: from + 1, to: to + 1, last: uint32(p.len())}
}

// visit brings up to n refs up to date, and returns how many more it could have.
func (l *Lists[V]) visit(n int) int {
	m := &l.move
	if m.from == 0 {
		return n
	}
	p := l.posts.At(m.to - 1)
	for ; n > 0 && m.next < min(m.last, uint32(p.len())); n-- {
		l.refsOf(p.at(m.next)) // does it
		m.next++
	}
	if m.next >= min(m.last, uint32(p.len())) {
		*m = move{}
	}
	return n
}

// lowerMore gives the last list the lowest free number.
func (l *Lists[V]) lowerMore() {
	last := uint32(l.numbers.Len() - 1)
	to := l.newMore()
	refs := *l.more.At(last)
	slot := l.posts.At(l.number(refs[0]) - 1).at(refs[0].pos)
	*l.more.At(to), *l.more.At(last) = refs, nil
	l.refs.At(slot).pos = to
	l.numbers.Remove(last)
}

// truncatePosts gives back the memory of postings above the highest number in use.
func (l *Lists[V]) truncatePosts() {
	l.posts.Truncate(l.values.Len())
	l.table.Truncate(l.values.Len())
}
