package posting

import "fmt"

// Check verifies every invariant and returns the first breach. slots is the number of
// slots. Cost: O(slots + values).
func (l *Lists[V]) Check(slots int) error {
	if len(l.refs) > slots {
		return fmt.Errorf("back-references for %d slots, but only %d exist", len(l.refs), slots)
	}
	total := 0
	last := make([]uint32, len(l.posts)+1) // by posting: the last slot that referred to it, +1
	for slot := range l.refs {
		refs := l.refsOf(uint32(slot))
		total += len(refs)
		for _, r := range refs {
			if int(r.post) > len(l.posts) || int(r.pos) >= len(l.posts[r.post-1].ids) {
				return fmt.Errorf("slot %d refers to posting %d at %d, which does not exist", slot, r.post, r.pos)
			}
			if got := l.posts[r.post-1].ids[r.pos]; got != uint32(slot) {
				return fmt.Errorf("slot %d refers to posting %d at %d, where slot %d stands", slot, r.post, r.pos, got)
			}
			if last[r.post] == uint32(slot)+1 {
				return fmt.Errorf("slot %d refers to posting %d twice", slot, r.post)
			}
			last[r.post] = uint32(slot) + 1
		}
	}
	live := 0
	for i := range l.posts {
		p := &l.posts[i]
		total -= len(p.ids)
		if len(p.ids) == 0 {
			continue
		}
		live++
		if got := l.find(Value[V]{p.value, l.table.HashOf(uint32(i))}); got != uint32(i)+1 {
			return fmt.Errorf("value %v is posting %d, but its table finds %d", p.value, i+1, got)
		}
	}
	if total != 0 {
		return fmt.Errorf("%d more back-references than entries in postings", total)
	}
	if live != l.table.Len() || live+len(l.free) != len(l.posts) {
		return fmt.Errorf("%d postings: %d in use, %d free, %d in the table", len(l.posts), live, len(l.free), l.table.Len())
	}
	return nil
}

// CheckSlot verifies that the values of slot are want, which must be distinct, in any
// order. NaNs in want are passed over, as Set does.
func (l *Lists[V]) CheckSlot(slot uint32, want []Value[V]) error {
	refs := l.refsOf(slot)
	n := 0
	for _, v := range want {
		if v.V != v.V {
			continue
		}
		n++
		if !l.holds(refs, v.V) {
			return fmt.Errorf("slot %d is not under its value %v", slot, v.V)
		}
	}
	if n != len(refs) {
		return fmt.Errorf("slot %d is under %d values, but has %d", slot, len(refs), n)
	}
	return nil
}
