package posting

import "github.com/kinform/kinform/internal/keytable"

// join puts slot into the posting of value. A value that does not equal itself (a NaN)
// could never be found again: it is passed over, and the zero ref returned.
func (l *Lists[V]) join(slot uint32, value Value[V]) ref {
	id := l.find(value)
	if id == 0 {
		if value.V != value.V {
			return ref{}
		}
		id = l.create(value)
	}
	p := &l.posts[id-1]
	p.own(1)
	p.ids = append(p.ids, slot)
	return ref{id, uint32(len(p.ids) - 1)}
}

func (l *Lists[V]) create(value Value[V]) uint32 {
	var id uint32
	if n := len(l.free); n > 0 {
		id = l.free[n-1]
		l.free = l.free[:n-1]
		l.posts[id].value = value.V
	} else {
		id = uint32(len(l.posts))
		l.posts = append(l.posts, post[V]{value: value.V})
	}
	l.table.Insert(value.Hash, id)
	return id + 1
}

// keepIDs is the longest list that an unused posting keeps.
const keepIDs = 8

// leave takes the slot that stands at r out of its posting: the last one takes its place.
func (l *Lists[V]) leave(r ref) {
	p := &l.posts[r.post-1]
	p.own(0)
	last := uint32(len(p.ids) - 1)
	if r.pos != last {
		moved := p.ids[last]
		p.ids[r.pos] = moved
		refs := l.refsOf(moved)
		for i := range refs {
			if refs[i].post == r.post {
				refs[i].pos = r.pos
				break
			}
		}
	}
	p.ids = p.ids[:last]
	if last == 0 {
		l.table.Remove(r.post - 1)
		// A short list stays for the next value, so that one object that comes and goes
		// allocates nothing.
		*p = post[V]{ids: p.ids}
		if cap(p.ids) > keepIDs {
			p.ids = nil
		}
		l.free = append(l.free, r.post-1)
	} else if cap(p.ids) > 16 && len(p.ids) < cap(p.ids)/4 {
		p.ids = append(make([]uint32, 0, 2*len(p.ids)), p.ids...)
	}
}

// own makes p.ids the writer's alone, with room for more.
func (p *post[V]) own(more int) {
	if p.shared != 0 {
		n := len(p.ids) + more
		p.ids = append(make([]uint32, 0, n+n/8), p.ids...)
		p.shared = 0
	}
}

// store makes refs, which are copied, the refs of slot.
func (l *Lists[V]) store(slot uint32, refs []ref) {
	if len(refs) > 0 {
		l.reach(slot)
	} else if int(slot) >= len(l.refs) {
		return
	}
	r := &l.refs[slot]
	if len(refs) < 2 {
		if r.post == several {
			l.more[r.pos] = l.more[r.pos][:0] // kept for the next slot with several values
			l.freeMore = append(l.freeMore, r.pos)
		}
		*r = ref{}
		if len(refs) == 1 {
			*r = refs[0]
		}
		return
	}
	if r.post != several {
		*r = ref{several, l.newMore()}
	}
	have := l.more[r.pos][:0]
	if cap(have) < len(refs) || cap(have) > 2*len(refs) {
		have = make([]ref, 0, len(refs))
	}
	l.more[r.pos] = append(have, refs...)
}

func (l *Lists[V]) newMore() uint32 {
	if n := len(l.freeMore); n > 0 {
		pos := l.freeMore[n-1]
		l.freeMore = l.freeMore[:n-1]
		return pos
	}
	l.more = append(l.more, nil)
	return uint32(len(l.more) - 1)
}

// reach lengthens refs to include slot, with an eighth to spare, or as many again while
// there are not as many as expected.
func (l *Lists[V]) reach(slot uint32) {
	need := int(slot) + 1
	if need <= len(l.refs) {
		return
	}
	if need > cap(l.refs) {
		room := max(need+need/8+4, min(2*need, l.expected))
		l.refs = append(make([]ref, 0, room), l.refs...)
	}
	tail := l.refs[len(l.refs):need]
	clear(tail)
	l.refs = l.refs[:need]
}

// shrink gives memory back when many more values, or slots with several values, were
// once held than are now. A pass costs as much as there are slots, so it waits until as
// many numbers are free: amortized O(1).
func (l *Lists[V]) shrink() {
	if n := len(l.free); n >= 16+3*l.table.Len() && n >= len(l.refs)/4 {
		l.renumberPosts()
	}
	if n := len(l.freeMore); n >= 16+3*(len(l.more)-n) && n >= len(l.refs)/4 {
		l.renumberMore()
	}
}

func (l *Lists[V]) renumberPosts() {
	var table keytable.Table
	posts := make([]post[V], 0, l.table.Len())
	to := make([]uint32, len(l.posts)+1)
	for i := range l.posts {
		if p := &l.posts[i]; len(p.ids) > 0 {
			table.Insert(l.table.HashOf(uint32(i)), uint32(len(posts)))
			posts = append(posts, *p)
			to[i+1] = uint32(len(posts))
		}
	}
	for slot := range l.refs {
		refs := l.refsOf(uint32(slot))
		for i := range refs {
			refs[i].post = to[refs[i].post]
		}
	}
	l.table, l.posts, l.free = table, posts, nil
}

func (l *Lists[V]) renumberMore() {
	more := make([][]ref, 0, len(l.more)-len(l.freeMore))
	for slot := range l.refs {
		if r := &l.refs[slot]; r.post == several {
			more = append(more, l.more[r.pos])
			r.pos = uint32(len(more) - 1)
		}
	}
	l.more, l.freeMore = more, nil
}
