package posting

import (
	"math"
	"slices"

	"github.com/kinform/kinform/internal/cowvec"
	"github.com/kinform/kinform/internal/paged"
)

// set puts slot into the postings that are wanted, and takes it out of all others.
func (l *lists) set(v numbering, slot uint32, wanted []uint32) {
	old := l.refsOf(slot)
	if len(old)*len(wanted) > bigDiff {
		l.setMany(v, slot, old, wanted)
		return
	}
	refs := l.scratch[:0]
	for _, r := range old {
		if slices.Contains(wanted, r.post) {
			refs = append(refs, r)
		} else {
			l.leave(v, r)
		}
	}
	kept := len(refs)
	for _, number := range wanted {
		if !among(refs[:kept], number) {
			refs = append(refs, l.join(slot, number))
		}
	}
	l.store(slot, refs)
	if l.scratch = refs[:0]; cap(refs) > bigDiff {
		l.scratch = nil
	}
	l.shrink(v)
}

// setMany is set for so many postings that it looks them up. The refs of slot get the order of wanted, so that
// Lists.Has finds the same values the next time.
func (l *lists) setMany(v numbering, slot uint32, old []ref, wanted []uint32) {
	had := make(map[uint32]ref, len(old))
	for _, r := range old {
		had[r.post] = r
	}
	refs := make([]ref, 0, len(wanted))
	for _, number := range wanted {
		r, kept := had[number]
		if !kept {
			r = l.join(slot, number)
		}
		delete(had, number)
		refs = append(refs, r)
	}
	for _, r := range had {
		l.leave(v, r)
	}
	l.store(slot, refs)
	l.shrink(v)
}

// among reports whether one of refs is of the posting.
func among(refs []ref, number uint32) bool {
	for _, r := range refs {
		if r.post == number {
			return true
		}
	}
	return false
}

// drop takes slot out of all postings.
func (l *lists) drop(v numbering, slot uint32) {
	for _, r := range l.refsOf(slot) {
		l.leave(v, r)
	}
	l.store(slot, nil)
	l.shrink(v)
}

// join adds slot to a posting.
func (l *lists) join(slot, number uint32) ref {
	p := l.posts.At(number - 1)
	p.push(slot)
	l.slots++
	return ref{number, uint32(p.len() - 1)}
}

// created makes the posting of a new value.
func (l *lists) created(number uint32) {
	paged.Lengthen(&l.posts, int(number))
	if l.visit(visitRefs); number == l.move.from { // refs still use this number for the posting that moved
		l.visit(math.MaxInt)
	}
}

// keepIDs is the longest list that an unused posting keeps.
const keepIDs = 8

// leave removes the slot at r from its posting. The last slot takes its place.
func (l *lists) leave(v numbering, r ref) {
	p := l.posts.At(r.post - 1)
	last := uint32(p.len() - 1)
	if r.pos != last {
		moved := p.at(last)
		p.set(r.pos, moved)
		refs := l.refsOf(moved)
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
		l.remove(v, r.post)
	}
}

// remove frees the number of a posting without slots.
func (l *lists) remove(v numbering, number uint32) {
	// Keep a short list for the next value, so that an object that comes and goes allocates
	// nothing.
	if p := l.posts.At(number - 1); cap(p.ids) > keepIDs {
		*p = post{}
	}
	v.free(number)
	paged.Truncate(&l.posts, v.last())
	if l.move.to == number {
		l.move = move{}
	}
}

// store makes a copy of refs the refs of slot.
func (l *lists) store(slot uint32, refs []ref) {
	if int(slot) >= l.reached() {
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
			l.dropMore(r.pos)
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
	list := l.more.At(r.pos)
	if cap(*list) < len(refs) || cap(*list) > 2*len(refs) {
		*list = make([]ref, 0, len(refs))
	}
	*list = append((*list)[:0], refs...)
}

func (l *lists) newMore() uint32 {
	pos := cowvec.Insert(&l.numbers, struct{}{})
	paged.Lengthen(&l.more, int(pos)+1)
	return pos
}

// dropMore frees a list of refs but keeps its memory for the next slot with several values.
func (l *lists) dropMore(pos uint32) {
	cowvec.Remove(&l.numbers, pos)
	*l.more.At(pos) = (*l.more.At(pos))[:0]
}
