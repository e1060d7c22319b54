package posting

import (
	"fmt"

	"github.com/kinform/kinform/internal/cowvec"
)

// Check verifies every invariant and returns the first breach. slots is the number of
// slots. Cost: O(slots + values).
func (l *Lists[V]) Check(slots int) error {
	if reached(l) > slots {
		return fmt.Errorf("back-references for %d slots, but only %d exist", reached(l), slots)
	}
	if l.posts.Len() > l.values.Len() {
		return fmt.Errorf("%d postings for %d values", l.posts.Len(), l.values.Len())
	}
	total, lists := 0, 0
	last := make([]uint32, l.values.Len()+1) // by posting: the last slot that referred to it, +1
	for slot := range uint32(reached(l)) {
		if l.rows.at(slot, l.col).post == several {
			lists++
		}
		refs := refsOf(l, slot)
		total += len(refs)
		for _, r := range refs {
			if int(r.post) > l.posts.Len() || int(r.pos) >= l.posts.At(r.post-1).len() {
				return fmt.Errorf("slot %d refers to posting %d at %d, which does not exist", slot, r.post, r.pos)
			}
			if got := l.posts.At(r.post - 1).at(r.pos); got != slot {
				return fmt.Errorf("slot %d refers to posting %d at %d, where slot %d stands", slot, r.post, r.pos, got)
			}
			if last[r.post] == slot+1 {
				return fmt.Errorf("slot %d refers to posting %d twice", slot, r.post)
			}
			last[r.post] = slot + 1
		}
	}
	if n := l.numbers.Live(); lists != n {
		return fmt.Errorf("%d slots with several values, %d counted", lists, n)
	}
	if total != l.slots {
		return fmt.Errorf("%d back-references, %d counted", total, l.slots)
	}
	live := 0
	for i := range uint32(l.posts.Len()) {
		n := l.posts.At(i).len()
		total -= n
		if cowvec.Used(&l.values, i) != (n > 0) {
			return fmt.Errorf("posting %d of %d slots, in use %v", i+1, n, cowvec.Used(&l.values, i))
		}
		if n == 0 {
			continue
		}
		live++
		value := l.values.At(i)
		if got := find(l, Value[V]{value, l.table.HashOf(i)}); got != i+1 {
			return fmt.Errorf("value %v is posting %d, but its table finds %d", value, i+1, got)
		}
	}
	if total != 0 {
		return fmt.Errorf("%d more back-references than entries in postings", total)
	}
	if live != l.table.Len() || live != l.values.Live() {
		return fmt.Errorf("%d postings in use, %d in the table, %d values", live, l.table.Len(), l.values.Live())
	}
	return nil
}

// CheckSlot verifies that the values of slot are want, which must be distinct, in any order.
func (l *Lists[V]) CheckSlot(slot uint32, want []Value[V]) error {
	refs := refsOf(l, slot)
	for _, v := range want {
		if !holds(l, refs, v.V) {
			return fmt.Errorf("slot %d is not under its value %v", slot, v.V)
		}
	}
	if len(want) != len(refs) {
		return fmt.Errorf("slot %d is under %d values, but has %d", slot, len(refs), len(want))
	}
	return nil
}
