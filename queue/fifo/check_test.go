package fifo

import (
	"fmt"
	"strings"
	"testing"
)

// verify checks every invariant of the queue.
func (f *FIFO[K, T]) verify() error {
	f.gate.Lock()
	defer f.gate.Unlock()
	l := &f.line
	used, unsynced := 0, 0
	for i := range l.slots {
		s := &l.slots[i]
		switch {
		case s.taken:
			used++
			if place, ok := l.at[s.item.Key]; !ok || l.slot(place) != s || place < l.head || place >= l.tail {
				return fmt.Errorf("slot %d: key is said to be at %d of [%d, %d)", i, place, l.head, l.tail)
			}
		case fmt.Sprint(*s) != fmt.Sprint(slot[K, T]{}):
			return fmt.Errorf("slot %d is free and not empty", i)
		}
		if s.unsynced {
			unsynced++
		}
	}
	switch size := len(l.slots); {
	case used != len(l.at):
		return fmt.Errorf("%d slots for %d keys", used, len(l.at))
	case size&(size-1) != 0 || size < minLine:
		return fmt.Errorf("%d slots in all", size)
	case size > 4*max(used, minLine):
		return fmt.Errorf("%d slots for as few as %d keys", size, used)
	case used > 0 && !l.slot(l.head).taken:
		return fmt.Errorf("a gap at the head")
	case f.unsynced < unsynced || f.done && f.unsynced > 0 || !f.listed && f.unsynced > 0:
		return fmt.Errorf("%d unsynced, %d of them in line", f.unsynced, unsynced)
	}
	return nil
}

func (f *FIFO[K, T]) verified(t testing.TB) {
	t.Helper()
	must(t, f.verify())
}

// verify checks every invariant of the heap but the order.
func (h *Heap[K, T]) verify() error {
	h.gate.Lock()
	defer h.gate.Unlock()
	if len(h.at) != len(h.nodes) {
		return fmt.Errorf("%d places for %d nodes", len(h.at), len(h.nodes))
	}
	for i, n := range h.nodes {
		if at, ok := h.at[n.key]; !ok || at != i {
			return fmt.Errorf("node %d is placed at %d, %t", i, at, ok)
		}
	}
	for i := len(h.nodes); i < cap(h.nodes); i++ {
		if fmt.Sprint(h.nodes[:cap(h.nodes)][i]) != fmt.Sprint(node[K, T]{}) {
			return fmt.Errorf("unused node %d is not empty", i)
		}
	}
	if room := cap(h.nodes); room > 4*max(len(h.nodes), minHeap) {
		return fmt.Errorf("room for %d, for as few as %d nodes", room, len(h.nodes))
	}
	return nil
}

// verifyOrder checks that every node is behind its parent.
func (h *Heap[K, T]) verifyOrder() error {
	h.gate.Lock()
	defer h.gate.Unlock()
	for i := 1; i < len(h.nodes); i++ {
		if !h.before((i-1)/2, i) {
			return fmt.Errorf("node %d is before its parent", i)
		}
	}
	return nil
}

func (h *Heap[K, T]) verified(t testing.TB) {
	t.Helper()
	must(t, h.verify(), h.verifyOrder())
}

// A checker that finds nothing proves nothing.
func TestVerifyFindsDamage(t *testing.T) {
	for want, damage := range map[string]func(f *FIFO[int, int]){
		"slots for":               func(f *FIFO[int, int]) { f.line.at[9] = 0 },
		"key is said":             func(f *FIFO[int, int]) { f.line.at[1] = 2 },
		"not empty":               func(f *FIFO[int, int]) { f.line.slots[5].item.Object = 1 },
		"8 slots in all":          func(f *FIFO[int, int]) { f.line.slots = f.line.slots[:8] },
		"0 unsynced, 1":           func(f *FIFO[int, int]) { f.line.slots[1].unsynced = true },
		"1 unsynced, 0":           func(f *FIFO[int, int]) { f.unsynced = 1 },
		"a gap at the head":       func(f *FIFO[int, int]) { f.line.head-- },
		"128 slots for as few as": func(f *FIFO[int, int]) { f.line.slots = append(f.line.slots, make([]slot[int, int], 112)...) },
	} {
		f := New[int, int]()
		must(t, f.Add(0, 0), f.Add(1, 10), f.Add(2, 20))
		f.Delete(0)
		f.verified(t)
		damage(f)
		if err := f.verify(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want an error with %q, got %v", want, err)
		}
	}
	for want, damage := range map[string]func(h *Heap[int, int]){
		"places for":    func(h *Heap[int, int]) { h.at[9] = 0 },
		"is placed at":  func(h *Heap[int, int]) { h.at[1], h.at[2] = h.at[2], h.at[1] },
		"not empty":     func(h *Heap[int, int]) { h.nodes[:4][3].obj = 1 },
		"its parent":    func(h *Heap[int, int]) { h.nodes[0].obj = 99 },
		"as few as 3 n": func(h *Heap[int, int]) { h.nodes = append(make([]node[int, int], 0, 65), h.nodes...) },
	} {
		h := newHeap(t)
		must(t, h.Add(1, 10), h.Add(2, 20), h.Add(3, 30))
		h.verified(t)
		damage(h)
		err := h.verify()
		if err == nil {
			err = h.verifyOrder()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want an error with %q, got %v", want, err)
		}
	}
}
