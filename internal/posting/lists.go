package posting

import (
	"slices"
	"sync/atomic"

	"github.com/kinform/kinform/internal/keytable"
)

// Value is an index value with its hash. Equal values must come with equal hashes.
type Value[V comparable] struct {
	V    V
	Hash uint32
}

// Lists holds the postings of one index. Its zero value is empty and ready.
type Lists[V comparable] struct {
	table keytable.Table // value -> number in posts
	posts []post[V]
	free  []uint32 // unused numbers in posts

	refs     []ref   // by slot; shorter than the slots when the last ones have no value
	more     [][]ref // refs of the slots with several values
	freeMore []uint32

	scratch []ref

	expected int // slots that there may soon be
}

// post is the posting of one value. A free one has the zero value and no ids.
type post[V comparable] struct {
	value  V
	ids    []uint32
	shared uint32 // atomic: a reader holds ids beyond its lock, so a write must copy
}

// ref says where a slot stands: posts[post-1].ids[pos] is the slot.
// post 0 means nowhere, several means that more[pos] holds the refs.
type ref struct{ post, pos uint32 }

const several = ^uint32(0)

// bigDiff bounds the quadratic comparison of old with new values.
const bigDiff = 1 << 12

// Set makes values, which must be distinct, the values of slot.
func (l *Lists[V]) Set(slot uint32, values []Value[V]) {
	old := l.refsOf(slot)
	if l.same(old, values) {
		return
	}
	keep := l.scratch[:0]
	diff := len(old)*len(values) <= bigDiff
	for _, r := range old {
		if diff && l.among(r, values) {
			keep = append(keep, r)
		} else {
			l.leave(r)
		}
	}
	kept := len(keep)
	for i := range values {
		if !l.holds(keep[:kept], values[i].V) {
			if r := l.join(slot, values[i]); r.post != 0 {
				keep = append(keep, r)
			}
		}
	}
	l.store(slot, keep)
	l.scratch = keep[:0]
	if cap(keep) > bigDiff {
		l.scratch = nil
	}
	l.shrink()
}

// Drop takes every value from slot.
func (l *Lists[V]) Drop(slot uint32) {
	for _, r := range l.refsOf(slot) {
		l.leave(r)
	}
	l.store(slot, nil)
	l.shrink()
}

// Move renames slot from to the slot to, which has no values.
func (l *Lists[V]) Move(from, to uint32) {
	rs := l.refsOf(from)
	if len(rs) == 0 {
		return
	}
	for _, r := range rs {
		p := &l.posts[r.post-1]
		p.own(0)
		p.ids[r.pos] = to
	}
	l.reach(to)
	l.refs[to], l.refs[from] = l.refs[from], ref{}
}

// Truncate says that no slot at or above n has values, so that memory can be given back.
func (l *Lists[V]) Truncate(n int) {
	if n >= len(l.refs) {
		return
	}
	l.refs = l.refs[:n]
	if n == 0 {
		*l = Lists[V]{}
	} else if cap(l.refs) > 64 && n < cap(l.refs)/4 {
		l.refs = append(make([]ref, 0, n+n/8), l.refs...)
	}
	l.shrink()
}

// Expect says that there may soon be n slots. Room for them is made when the first of them
// have values, since an index may have none.
func (l *Lists[V]) Expect(n int) { l.expected = n }

// Find returns the slots that have value, in no order, and valid until the next write.
func (l *Lists[V]) Find(value Value[V]) []uint32 {
	if p := l.find(value); p != 0 {
		return l.posts[p-1].ids
	}
	return nil
}

// Freeze returns what Find does as a slice that never changes. It is a read.
func (l *Lists[V]) Freeze(value Value[V]) []uint32 {
	p := l.find(value)
	if p == 0 {
		return nil
	}
	atomic.StoreUint32(&l.posts[p-1].shared, 1)
	return l.posts[p-1].ids
}

// Has says whether values, in this order, are those of slot.
func (l *Lists[V]) Has(slot uint32, values []Value[V]) bool {
	return l.same(l.refsOf(slot), values)
}

// Warm reads what leaving a posting will read of slot, and returns something that depends
// on it. The writer calls it while it waits for other memory, so that the processor
// fetches both at a time. It changes nothing.
func (l *Lists[V]) Warm(slot uint32) uint32 {
	if int(slot) >= len(l.refs) {
		return 0
	}
	r := l.refs[slot]
	if r.post == 0 || r.post == several {
		return r.pos
	}
	ids := l.posts[r.post-1].ids
	return l.refs[ids[len(ids)-1]].pos ^ ids[r.pos]
}

// Len returns the number of distinct values.
func (l *Lists[V]) Len() int { return l.table.Len() }

// AppendValues appends every value that some slot has, each once, in no order.
func (l *Lists[V]) AppendValues(dst []V) []V {
	for i := range l.posts {
		if len(l.posts[i].ids) > 0 {
			dst = append(dst, l.posts[i].value)
		}
	}
	return dst
}

// Clone returns lists of their own with the same content; l must not be written again,
// because the postings are shared until they change.
func (l *Lists[V]) Clone() Lists[V] {
	c := Lists[V]{
		table:    l.table.Clone(),
		posts:    make([]post[V], len(l.posts)),
		free:     slices.Clone(l.free),
		refs:     append(make([]ref, 0, cap(l.refs)), l.refs...),
		freeMore: slices.Clone(l.freeMore),
	}
	for i := range l.posts {
		c.posts[i] = post[V]{value: l.posts[i].value, ids: l.posts[i].ids, shared: 1}
	}
	if l.more != nil {
		c.more = make([][]ref, len(l.more))
		for i, rs := range l.more {
			c.more[i] = slices.Clone(rs)
		}
	}
	return c
}

func (l *Lists[V]) find(value Value[V]) uint32 {
	var pr keytable.Probe
	for {
		id, ok := l.table.Next(value.Hash, &pr)
		if !ok {
			return 0
		}
		if l.posts[id].value == value.V {
			return id + 1
		}
	}
}

// refsOf returns the refs of slot, to be changed in place.
func (l *Lists[V]) refsOf(slot uint32) []ref {
	if int(slot) >= len(l.refs) {
		return nil
	}
	switch r := &l.refs[slot]; r.post {
	case 0:
		return nil
	case several:
		return l.more[r.pos]
	}
	return l.refs[slot : slot+1 : slot+1]
}

func (l *Lists[V]) same(refs []ref, values []Value[V]) bool {
	if len(refs) != len(values) {
		return false
	}
	for i, r := range refs {
		if l.posts[r.post-1].value != values[i].V {
			return false
		}
	}
	return true
}

func (l *Lists[V]) among(r ref, values []Value[V]) bool {
	for i := range values {
		if l.posts[r.post-1].value == values[i].V {
			return true
		}
	}
	return false
}

func (l *Lists[V]) holds(refs []ref, value V) bool {
	for _, r := range refs {
		if l.posts[r.post-1].value == value {
			return true
		}
	}
	return false
}
