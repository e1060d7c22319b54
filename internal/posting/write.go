package posting

import (
	"math"

	"github.com/kinform/kinform/internal/cowvec"
	"github.com/kinform/kinform/internal/paged"
)

// join adds slot to the posting of value.
func join[V comparable](l *Lists[V], slot uint32, value Value[V]) ref {
	number := find(l, value)
	if number == 0 {
		number = create(l, value)
	}
	p := l.posts.At(number - 1)
	p.push(slot)
	l.slots++
	return ref{number, uint32(p.len() - 1)}
}

func create[V comparable](l *Lists[V], value Value[V]) (number uint32) {
	id := cowvec.Insert(&l.values, value.V)
	paged.Lengthen(&l.posts, int(id)+1)
	l.table.Insert(value.Hash, id)
	if visit(l, visitRefs); id+1 == l.move.from { // refs still use this number for the posting that moved
		visit(l, math.MaxInt)
	}
	return id + 1
}

// keepIDs is the longest list that an unused posting keeps.
const keepIDs = 8

// leave removes the slot at r from its posting. The last slot takes its place.
func leave[V comparable](l *Lists[V], r ref) {
	p := l.posts.At(r.post - 1)
	last := uint32(p.len() - 1)
	if r.pos != last {
		moved := p.at(last)
		p.set(r.pos, moved)
		refs := refsOf(l, moved)
		for i := range refs {
			if refs[i].post == r.post {
				refs[i].pos = r.pos
				break
			}
		}
	}
	p.pop()
	l.slots--
	if last == 0 {
		remove(l, r.post)
	}
}

// remove frees the number of a posting without slots.
func remove[V comparable](l *Lists[V], number uint32) {
	// Keep a short list for the next value, so that an object that comes and goes allocates
	// nothing.
	if p := l.posts.At(number - 1); cap(p.ids) > keepIDs {
		*p = post{}
	}
	l.table.Remove(number - 1)
	cowvec.Remove(&l.values, number-1)
	truncatePosts(l)
	if l.move.to == number {
		l.move = move{}
	}
}

// store makes a copy of refs the refs of slot.
func store[V comparable](l *Lists[V], slot uint32, refs []ref) {
	if int(slot) >= reached(l) {
		if len(refs) == 0 {
			return
		}
		if l.rows == nil {
			l.rows = NewRows(1)
		}
		l.rows.Lengthen(int(slot) + 1)
	}
	r := l.rows.at(slot, l.col)
	if len(refs) < 2 {
		if r.post == several {
			dropMore(l, r.pos)
		}
		*r = ref{}
		if len(refs) == 1 {
			*r = refs[0]
		}
		return
	}
	if r.post != several {
		*r = ref{several, newMore(l)}
	}
	list := l.more.At(r.pos)
	if cap(*list) < len(refs) || cap(*list) > 2*len(refs) {
		*list = make([]ref, 0, len(refs))
	}
	*list = append((*list)[:0], refs...)
}

func newMore[V comparable](l *Lists[V]) uint32 {
	pos := cowvec.Insert(&l.numbers, struct{}{})
	paged.Lengthen(&l.more, int(pos)+1)
	return pos
}

// dropMore frees a list of refs but keeps its memory for the next slot with several values.
func dropMore[V comparable](l *Lists[V], pos uint32) {
	cowvec.Remove(&l.numbers, pos)
	*l.more.At(pos) = (*l.more.At(pos))[:0]
}
