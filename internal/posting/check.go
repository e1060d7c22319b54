package posting

import (
	"fmt"
	"slices"

	"github.com/kinform/kinform/internal/cowvec"
)

// Check verifies every invariant and returns the first breach. slots is the number of
// slots. Cost: O(slots + values).
func (l *Lists[V]) Check(slots int) error {
	v := &l.values
	if err := l.lists.check(v, slots); err != nil {
		return err
	}
	for i := range uint32(v.last()) {
		used := cowvec.Used(&v.all, i)
		if n := l.lists.count(i + 1); used != (n > 0) {
			return fmt.Errorf("posting %d of %d slots, in use %v", i+1, n, used)
		}
		if !used {
			continue
		}
		value := v.all.At(i)
		if got := find(v, Value[V]{value, v.table.HashOf(i)}); got != i+1 {
			return fmt.Errorf("value %v is posting %d, but its table finds %d", value, i+1, got)
		}
	}
	if v.live() != v.table.Len() {
		return fmt.Errorf("%d values, %d in the table", v.live(), v.table.Len())
	}
	return nil
}

// CheckSlot verifies that the values of slot are want, which must be distinct, in any order. It looks at no hash.
func (l *Lists[V]) CheckSlot(slot uint32, want []Value[V]) error {
	refs := l.lists.refsOf(slot)
	for _, v := range want {
		if !slices.ContainsFunc(refs, func(r ref) bool { return l.values.all.At(r.post-1) == v.V }) {
			return fmt.Errorf("slot %d is not under its value %v", slot, v.V)
		}
	}
	if len(want) != len(refs) {
		return fmt.Errorf("slot %d is under %d values, but has %d", slot, len(refs), len(want))
	}
	return nil
}

// check verifies that the postings and the refs of the slots fit.
func (l *lists) check(v numbering, slots int) error {
	if l.reached() > slots {
		return fmt.Errorf("back-references for %d slots, but only %d exist", l.reached(), slots)
	}
	if l.posts.Len() != v.last() {
		return fmt.Errorf("%d postings for %d values", l.posts.Len(), v.last())
	}
	total, lists := 0, 0
	seen := make([]uint32, v.last()+1) // by posting: the last slot that referred to it, +1
	for slot := range uint32(l.reached()) {
		if l.rows.at(slot, l.col).post == several {
			lists++
		}
		refs := l.refsOf(slot)
		total += len(refs)
		for _, r := range refs {
			if int(r.post) > l.posts.Len() || int(r.pos) >= l.posts.At(r.post-1).len() {
				return fmt.Errorf("slot %d refers to posting %d at %d, which does not exist", slot, r.post, r.pos)
			}
			if got := l.posts.At(r.post - 1).at(r.pos); got != slot {
				return fmt.Errorf("slot %d refers to posting %d at %d, where slot %d stands", slot, r.post, r.pos, got)
			}
			if seen[r.post] == slot+1 {
				return fmt.Errorf("slot %d refers to posting %d twice", slot, r.post)
			}
			seen[r.post] = slot + 1
		}
	}
	if n := l.numbers.Live(); lists != n {
		return fmt.Errorf("%d slots with several values, %d counted", lists, n)
	}
	if total != l.slots {
		return fmt.Errorf("%d back-references, %d counted", total, l.slots)
	}
	for i := range uint32(l.posts.Len()) {
		total -= l.posts.At(i).len()
	}
	if total != 0 {
		return fmt.Errorf("%d more back-references than entries in postings", total)
	}
	return nil
}
