package keytable

import (
	"math/rand/v2"
	"testing"
)

// tight verifies that the parts of a table have no more room than they should.
func tight(t *testing.T, tab *Table, growing bool) {
	t.Helper()
	for i, p := range tab.parts {
		room := len(p.slots)
		switch {
		case p.n == 0 && room > 0:
			t.Fatalf("part %d of %d is empty and has %d slots", i, len(tab.parts), room)
		case growing && p.n >= 64 && room > p.n*8/5:
			t.Fatalf("part %d of %d has grown to %d slots for %d ids", i, len(tab.parts), room, p.n)
		case room > max(2*minSlots, 4*p.n+3):
			t.Fatalf("part %d of %d has %d slots for %d ids", i, len(tab.parts), room, p.n)
		}
	}
	for i, p := range tab.parts[len(tab.parts):cap(tab.parts)] {
		if p.slots != nil {
			t.Fatalf("the %dth part that is gone keeps %d slots", i, len(p.slots))
		}
	}
}

// A table that grows id by id, and shrinks again, has at no time much more room than it needs.
func TestPartsAreTight(t *testing.T) {
	const many, few = 150 * partLen, partLen / 4
	rnd := rand.New(rand.NewPCG(1, 1))
	var tab Table
	look := func(growing bool, step uint32, parts int) {
		if len(tab.parts) != parts || step%997 == 0 {
			tight(t, &tab, growing)
		}
	}
	for id := range uint32(many) {
		parts := len(tab.parts)
		tab.Insert(rnd.Uint32(), id)
		look(true, id, parts)
	}
	most := cap(tab.parts)
	for id := uint32(many - 1); id >= few; id-- {
		parts := len(tab.parts)
		tab.Remove(id)
		look(false, id, parts)
	}
	if len(tab.parts) != 1 || cap(tab.parts) > most/2 {
		t.Errorf("%d parts, with room for %d; at most there was room for %d", len(tab.parts), cap(tab.parts), most)
	}
	for id := range uint32(few) {
		tab.Remove(id)
		tight(t, &tab, false)
	}
}

// Reset keeps room for the given number of ids, and not for many more.
func TestResetKeepsLittle(t *testing.T) {
	for keep, want := range map[int]bool{100: false, 6000: true} {
		var tab Table
		for id := range uint32(5000) {
			tab.Insert(id*0x9e3779b1, id)
		}
		if tab.Reset(keep); tab.Len() != 0 || (tab.room() > 0) != want {
			t.Errorf("keeps %d slots for %d ids", tab.room(), keep)
		}
	}
}

// A part without ids has no slots.
func TestEmptyPart(t *testing.T) {
	var p part
	p.insert(entry(1, 1))
	if p.remove(entry(1, 1)); p.slots != nil {
		t.Errorf("%d slots", len(p.slots))
	}
}
