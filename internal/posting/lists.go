package posting

import (
	"slices"

	"github.com/kinform/kinform/internal/cowvec"
	"github.com/kinform/kinform/internal/keytable"
	"github.com/kinform/kinform/internal/paged"
)

// Value is an index value with its hash. Equal values must have equal hashes, and a value must
// equal itself: see package mapkey.
type Value[V comparable] struct {
	V    V
	Hash uint32
}

// Lists holds the postings of one index. Its zero value is empty and ready to use. Everything that
// grows with the slots or the values is in pages, so that a change of one slot moves little.
//
// Invariants: values, table and posts use the same numbers, and posts ends at the highest one;
// each slot's ref has the number of its posting, except for refs that move has still to visit.
type Lists[V comparable] struct {
	table  keytable.Table // value -> number in posts
	values cowvec.Vec[V]  // by number in posts
	posts  paged.Array[post]
	slots  int // in all postings together
	move   move

	rows    *Rows                // has the ref of each slot in column col; nil is empty
	col     int                  // see Use
	more    paged.Array[[]ref]   // refs of the slots with several values; empty for unused numbers
	numbers cowvec.Vec[struct{}] // numbers in use in more

	scratch []ref
}

// ref is a back-reference: the slot is at position pos of posts[post-1]. If post is 0, the slot
// has no values. If post is several, more[pos] holds the refs of the slot.
type ref struct{ post, pos uint32 }

const several = ^uint32(0)

// bigDiff bounds the quadratic comparison of old with new values.
const bigDiff = 1 << 12

// Use makes column col of rows the place of l's back-references, in place of the present ones.
// It must hold what they hold: nothing, if l is empty. Without Use, l makes rows of its own.
func (l *Lists[V]) Use(rows *Rows, col int) { l.rows, l.col = rows, col }

// reached returns the number of slots that may have values.
func reached[V comparable](l *Lists[V]) int {
	if l.rows == nil {
		return 0
	}
	return l.rows.n
}

// Set makes values, which must be distinct, the values of slot.
func (l *Lists[V]) Set(slot uint32, values []Value[V]) {
	old := refsOf(l, slot)
	if same(l, old, values) {
		return
	}
	keep := l.scratch[:0]
	diff := len(old)*len(values) <= bigDiff
	for _, r := range old {
		if diff && among(l, r, values) {
			keep = append(keep, r)
		} else {
			leave(l, r)
		}
	}
	kept := len(keep)
	for i := range values {
		if !holds(l, keep[:kept], values[i].V) {
			keep = append(keep, join(l, slot, values[i]))
		}
	}
	store(l, slot, keep)
	l.scratch = keep[:0]
	if cap(keep) > bigDiff {
		l.scratch = nil
	}
	shrink(l)
}

// Drop removes all values of slot.
func (l *Lists[V]) Drop(slot uint32) {
	for _, r := range refsOf(l, slot) {
		leave(l, r)
	}
	store(l, slot, nil)
	shrink(l)
}

// Move renames slot from to the slot to, which has no values.
func (l *Lists[V]) Move(from, to uint32) {
	rs := refsOf(l, from)
	if len(rs) == 0 {
		return
	}
	for _, r := range rs {
		l.posts.At(r.post-1).set(r.pos, to)
	}
	l.rows.Lengthen(int(to) + 1)
	*l.rows.at(to, l.col), *l.rows.at(from, l.col) = *l.rows.at(from, l.col), ref{}
}

// Truncate gives back memory of slots at and above n, none of which may have values. It leaves the
// rows to their owner.
func (l *Lists[V]) Truncate(n int) {
	if n == 0 {
		*l = Lists[V]{rows: l.rows, col: l.col}
		return
	}
	shrink(l)
}

// Count returns the number of slots that have value.
func (l *Lists[V]) Count(value Value[V]) int {
	if p := find(l, value); p != 0 {
		return l.posts.At(p - 1).len()
	}
	return 0
}

// Find returns the slots that have value, in no order. The result is valid until the next write.
// If there are more than ShortLen slots, ok is false; use Freeze then.
func (l *Lists[V]) Find(value Value[V]) (ids []uint32, ok bool) {
	p := find(l, value)
	if p == 0 {
		return nil, true
	}
	if post := l.posts.At(p - 1); post.len() <= ShortLen { // so it is one slice
		return post.ids, true
	}
	return nil, false
}

// Freeze returns the slots that have value now. It is a read. Cost: O(1), but the next write to
// the posting copies a part of it.
func (l *Lists[V]) Freeze(value Value[V]) IDs {
	if p := find(l, value); p != 0 {
		return l.posts.At(p - 1).freeze()
	}
	return IDs{}
}

// Has reports whether slot has exactly values, in this order.
func (l *Lists[V]) Has(slot uint32, values []Value[V]) bool {
	return same(l, refsOf(l, slot), values)
}

// Warm reads the memory that removing slot from its posting will read, and returns a value that
// depends on it. It changes nothing. The writer calls it while other reads are under way, so that
// the processor fetches both at a time.
func (l *Lists[V]) Warm(slot uint32) uint32 {
	if int(slot) >= reached(l) {
		return 0
	}
	r := *l.rows.at(slot, l.col)
	if r.post == 0 || r.post == several {
		return r.pos
	}
	p := l.posts.At(l.number(r) - 1)
	return l.rows.at(p.at(uint32(p.len()-1)), l.col).pos ^ p.at(r.pos)
}

// Len returns the number of distinct values.
func (l *Lists[V]) Len() int { return l.values.Live() }

// Slots returns the sum of the lengths of all postings.
func (l *Lists[V]) Slots() int { return l.slots }

// Longest returns the length of the longest of up to n postings, which are spread over all of them.
// It is a read. Cost: O(n).
func (l *Lists[V]) Longest(n int) (longest int) {
	for i, all := 0, l.posts.Len(); i < min(n, all); i++ {
		longest = max(longest, l.posts.At(uint32(i*all/min(n, all))).len())
	}
	return longest
}

// Values freezes the distinct values of all slots. It is a read. Cost: O(1), but the next write
// that adds or removes a value copies a few KB.
func (l *Lists[V]) Values() cowvec.View[V] { return cowvec.ViewOf(&l.values) }

// Clone returns a copy, with rows, a clone of l's. l must not be written again, because both share
// the postings until the copy changes them.
func (l *Lists[V]) Clone(rows *Rows) Lists[V] {
	c := Lists[V]{
		table:   l.table.Clone(),
		values:  cowvec.Clone(&l.values),
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

func find[V comparable](l *Lists[V], value Value[V]) uint32 {
	var pr keytable.Probe
	for {
		id, ok := l.table.Next(value.Hash, &pr)
		if !ok {
			return 0
		}
		if l.values.At(id) == value.V {
			return id + 1
		}
	}
}

// refsOf returns the refs of slot, which the caller may change in place.
func refsOf[V comparable](l *Lists[V], slot uint32) (refs []ref) {
	if int(slot) >= reached(l) {
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
func (l *Lists[V]) number(r ref) uint32 {
	if r.post == l.move.from {
		return l.move.to
	}
	return r.post
}

func (l *Lists[V]) value(r ref) V { return l.values.At(r.post - 1) }

func same[V comparable](l *Lists[V], refs []ref, values []Value[V]) bool {
	if len(refs) != len(values) {
		return false
	}
	for i, r := range refs {
		if l.value(r) != values[i].V {
			return false
		}
	}
	return true
}

func among[V comparable](l *Lists[V], r ref, values []Value[V]) bool {
	for i := range values {
		if l.value(r) == values[i].V {
			return true
		}
	}
	return false
}

func holds[V comparable](l *Lists[V], refs []ref, value V) bool {
	for _, r := range refs {
		if l.value(r) == value {
			return true
		}
	}
	return false
}
