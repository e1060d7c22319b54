package posting

import (
	"sync/atomic"

	"github.com/kinform/kinform/internal/cowvec"
)

// ShortLen is the largest number of slots that Find can return.
const ShortLen = 1024

// sliceLen is the largest number of slots of a posting that is one slice, of 16 KB. A longer
// posting is in chunks: it need not be copied as a whole when it grows, or at the first write
// after a freeze.
const sliceLen = 4096

// post is the posting of one value. An unused post has no slots.
//
// Invariants: ids or long is nil; long has no free slots.
type post struct {
	ids    []uint32
	long   *cowvec.Vec[uint32]
	shared uint32 // atomic; not 0 if a reader may use ids without the lock, so that a write must copy it
}

// IDs is a frozen list of slots, in no order.
type IDs struct {
	short []uint32
	long  cowvec.View[uint32]
}

// Len returns the number of slots.
func (s IDs) Len() int { return len(s.short) + s.long.Live() }

// All calls yield for each slot until it returns false.
func (s IDs) All(yield func(uint32) bool) {
	for _, id := range s.short {
		if !yield(id) {
			return
		}
	}
	for _, id := range cowvec.All(s.long) {
		if !yield(id) {
			return
		}
	}
}

// AppendTo appends the slots to dst.
func (s IDs) AppendTo(dst []uint32) []uint32 { return cowvec.AppendTo(append(dst, s.short...), s.long) }

func (p *post) len() int {
	if p.long != nil {
		return p.long.Len()
	}
	return len(p.ids)
}

func (p *post) at(pos uint32) uint32 {
	if p.long != nil {
		return p.long.At(pos)
	}
	return p.ids[pos]
}

func (p *post) set(pos, slot uint32) {
	if p.long != nil {
		cowvec.Set(p.long, pos, slot)
		return
	}
	p.own(0)
	p.ids[pos] = slot
}

// push adds slot at the end.
func (p *post) push(slot uint32) {
	if p.long == nil && len(p.ids) == sliceLen {
		long := &cowvec.Vec[uint32]{}
		for _, id := range p.ids {
			cowvec.Insert(long, id)
		}
		*p = post{long: long}
	}
	if p.long != nil {
		cowvec.Insert(p.long, slot)
		return
	}
	p.own(1)
	p.ids = append(p.ids, slot)
}

// pop takes away the last slot.
func (p *post) pop() {
	if p.long == nil {
		p.own(0)
		if p.ids = p.ids[:len(p.ids)-1]; cap(p.ids) > 16 && len(p.ids) < cap(p.ids)/4 {
			p.ids = append(make([]uint32, 0, 2*len(p.ids)), p.ids...)
		}
		return
	}
	if cowvec.Remove(p.long, uint32(p.long.Len()-1)); p.long.Len() == sliceLen/2 {
		*p = post{ids: cowvec.AppendTo(make([]uint32, 0, sliceLen), cowvec.ViewOf(p.long))}
	}
}

// own copies ids if readers may share it, with room for more.
func (p *post) own(more int) {
	if p.shared != 0 {
		n := len(p.ids) + more
		p.ids = append(make([]uint32, 0, n+n/8), p.ids...)
		p.shared = 0
	}
}

// freeze is a read.
func (p *post) freeze() IDs {
	if p.long != nil {
		return IDs{long: cowvec.ViewOf(p.long)}
	}
	atomic.StoreUint32(&p.shared, 1)
	return IDs{short: p.ids}
}

// clone returns a posting that shares its slots with p until it is written. p must not be written
// again.
func (p *post) clone() post {
	if p.long == nil {
		return post{ids: p.ids, shared: 1}
	}
	long := cowvec.Clone(p.long)
	return post{long: &long}
}
