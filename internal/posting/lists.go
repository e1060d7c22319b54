package posting

import (
	"slices"

	"github.com/kinform/kinform/internal/cowvec"
	"github.com/kinform/kinform/internal/paged"
)

// Lists holds the postings of one index. Its zero value is empty and ready to use. Everything that
// grows with the slots or the values is in pages, so that a change of one slot moves little.
//
// Only the table of the values depends on V: the rest is compiled once.
type Lists[V comparable] struct {
	values values[V]
	lists  lists
	wanted []uint32 // scratch of Set
}

// bigDiff bounds the quadratic comparison of old with new values.
const bigDiff = 1 << 12

// Use makes column col of rows the place of l's back-references, in place of the present ones. It
// must hold what they hold: nothing, if l is empty. Without Use, l makes its own rows.
func (l *Lists[V]) Use(rows *Rows, col int) { l.lists.rows, l.lists.col = rows, col }

// Set makes values, which must be distinct, the values of slot.
func (l *Lists[V]) Set(slot uint32, values []Value[V]) {
	if l.Has(slot, values) {
		return
	}
	wanted := l.wanted[:0]
	for _, v := range values {
		number := find(&l.values, v)
		if number == 0 {
			number = create(&l.values, v)
			l.lists.created(number)
		}
		wanted = append(wanted, number)
	}
	l.lists.set(&l.values, slot, wanted)
	if l.wanted = wanted[:0]; cap(wanted) > bigDiff {
		l.wanted = nil
	}
}

// Drop removes all values of slot.
func (l *Lists[V]) Drop(slot uint32) { l.lists.drop(&l.values, slot) }

// Move renames slot from to the slot to, which has no values.
func (l *Lists[V]) Move(from, to uint32) { l.lists.rename(from, to) }

// Truncate gives back memory of slots at and above n, none of which may have values. It leaves the
// rows to their owner.
func (l *Lists[V]) Truncate(n int) {
	if n == 0 {
		*l = Lists[V]{lists: lists{rows: l.lists.rows, col: l.lists.col}}
		return
	}
	l.lists.shrink(&l.values)
}

// Count returns the number of slots that have value.
func (l *Lists[V]) Count(value Value[V]) int {
	return l.lists.count(find(&l.values, value))
}

// Find returns the slots that have value, in no order. The result is valid until the next write.
// If there are more than ShortLen slots, ok is false; use Freeze then.
func (l *Lists[V]) Find(value Value[V]) (ids []uint32, ok bool) {
	return l.lists.short(find(&l.values, value))
}

// Freeze returns the slots that have value now. It is a read. Cost: O(1), but the next write to
// the posting copies a part of it.
func (l *Lists[V]) Freeze(value Value[V]) IDs {
	return l.lists.freeze(find(&l.values, value))
}

// Has reports whether slot has exactly values, in this order.
func (l *Lists[V]) Has(slot uint32, values []Value[V]) bool {
	refs := l.lists.refsOf(slot)
	if len(refs) != len(values) {
		return false
	}
	for i, r := range refs {
		if l.values.all.At(r.post-1) != values[i].V {
			return false
		}
	}
	return true
}

// Warm reads the memory that removing slot from its posting will read, and returns a value that
// depends on it. It changes nothing. The writer calls it while other reads are under way, so that
// the processor fetches both at a time.
func (l *Lists[V]) Warm(slot uint32) uint32 { return l.lists.warm(slot) }

// Len returns the number of distinct values.
func (l *Lists[V]) Len() int { return l.values.live() }

// Slots returns the sum of the lengths of all postings.
func (l *Lists[V]) Slots() int { return l.lists.slots }

// Longest returns the length of the longest of up to n postings, which are spread over all of them.
// It is a read. Cost: O(n).
func (l *Lists[V]) Longest(n int) int { return l.lists.longest(n) }

// Values freezes the distinct values of all slots. It is a read. Cost: O(1), but the next write
// that adds or removes a value copies a few KB.
func (l *Lists[V]) Values() cowvec.View[V] { return cowvec.ViewOf(&l.values.all) }

// Clone returns a copy, with rows, a clone of l's. l must not be written again, because both share
// the postings until the copy changes them.
func (l *Lists[V]) Clone(rows *Rows) Lists[V] {
	return Lists[V]{values: clone(&l.values), lists: l.lists.clone(rows)}
}

// lists are the postings by their numbers, and the places of each slot in them.
//
// Invariants: posts ends at the highest number of a value; each slot's ref has the number of its
// posting, except for refs that move has still to visit.
type lists struct {
	posts paged.Array[post]
	slots int // in all postings together
	move  move

	rows    *Rows                // has the ref of each slot in column col; nil is empty
	col     int                  // see Lists.Use
	more    paged.Array[[]ref]   // refs of the slots with several values; empty for unused numbers
	numbers cowvec.Vec[struct{}] // numbers in use in more

	scratch []ref
}

// ref is a back-reference: the slot is at position pos of posts[post-1]. If post is 0, the slot
// has no values. If post is several, more[pos] holds the refs of the slot.
type ref struct{ post, pos uint32 }

const several = ^uint32(0)

// reached returns the number of slots that may have values.
func (l *lists) reached() int {
	if l.rows == nil {
		return 0
	}
	return l.rows.n
}

// rename is Lists.Move.
func (l *lists) rename(from, to uint32) {
	rs := l.refsOf(from)
	if len(rs) == 0 {
		return
	}
	for _, r := range rs {
		l.posts.At(r.post-1).set(r.pos, to)
	}
	l.rows.Lengthen(int(to) + 1)
	*l.rows.at(to, l.col), *l.rows.at(from, l.col) = *l.rows.at(from, l.col), ref{}
}

// count, short and freeze take 0 for a value that no slot has.
func (l *lists) count(number uint32) int {
	if number == 0 {
		return 0
	}
	return l.posts.At(number - 1).len()
}

func (l *lists) short(number uint32) (ids []uint32, ok bool) {
	if number == 0 {
		return nil, true
	}
	if p := l.posts.At(number - 1); p.len() <= ShortLen { // so it is one slice
		return p.ids, true
	}
	return nil, false
}

func (l *lists) freeze(number uint32) IDs {
	if number == 0 {
		return IDs{}
	}
	return l.posts.At(number - 1).freeze()
}

func (l *lists) warm(slot uint32) uint32 {
	if int(slot) >= l.reached() {
		return 0
	}
	r := *l.rows.at(slot, l.col)
	if r.post == 0 || r.post == several {
		return r.pos
	}
	p := l.posts.At(l.number(r) - 1)
	return l.rows.at(p.at(uint32(p.len()-1)), l.col).pos ^ p.at(r.pos)
}

func (l *lists) longest(n int) (longest int) {
	for i, all := 0, l.posts.Len(); i < min(n, all); i++ {
		longest = max(longest, l.posts.At(uint32(i*all/min(n, all))).len())
	}
	return longest
}

func (l *lists) clone(rows *Rows) lists {
	c := lists{
		slots:   l.slots,
		move:    l.move,
		rows:    rows,
		col:     l.col,
		numbers: cowvec.Clone(&l.numbers),
	}
	paged.Lengthen(&c.posts, l.posts.Len())
	for i := range uint32(l.posts.Len()) {
		*c.posts.At(i) = l.posts.At(i).clone()
	}
	paged.Lengthen(&c.more, l.more.Len())
	for i := range uint32(l.more.Len()) {
		*c.more.At(i) = slices.Clone(*l.more.At(i))
	}
	return c
}

// refsOf returns the refs of slot, which the caller may change in place.
func (l *lists) refsOf(slot uint32) (refs []ref) {
	if int(slot) >= l.reached() {
		return nil
	}
	switch r := l.rows.at(slot, l.col); r.post {
	case 0:
		return nil
	case several:
		refs = *l.more.At(r.pos)
	default:
		refs = l.rows.one(slot, l.col)
	}
	if l.move.from != 0 {
		for i := range refs {
			refs[i].post = l.number(refs[i])
		}
	}
	return refs
}

// number returns the number of the posting of r.
func (l *lists) number(r ref) uint32 {
	if r.post == l.move.from {
		return l.move.to
	}
	return r.post
}
