package store

import (
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/kinform/kinform/index"
)

// history is a writer that commits generation after generation of the same keys, and
// readers that check what they see against when they saw it: a read that began after
// generation a was committed and ended before b was begun must see one whole generation
// between a and b, and no reader may go back.
type history struct {
	t         *testing.T
	s         *Store[id, *item]
	byParity  *index.Index[*item, int]
	keys      int
	begun     atomic.Int64
	committed atomic.Int64
}

func (h *history) write(gen int, replace bool) {
	h.begun.Store(int64(gen))
	objs := make([]*item, h.keys)
	ops := make([]Op[id, *item], h.keys)
	for i := range objs {
		objs[i] = &item{id: id{"s", i + 1}, version: gen, node: strconv.Itoa(gen)}
		ops[i] = Op[id, *item]{Key: objs[i].id, Object: objs[i]}
	}
	var err error
	if replace {
		err = h.s.Replace(objs, strconv.Itoa(gen))
	} else {
		err = h.s.Commit(strconv.Itoa(gen), ops)
	}
	if err != nil {
		h.t.Error(err)
	}
	h.committed.Store(int64(gen))
}

// see collects the generation of a read; all objects of one read must agree on it.
type seen struct {
	n, gen int
	mixed  bool
}

func (v *seen) add(gen int) {
	v.mixed = v.mixed || v.n > 0 && gen != v.gen
	v.n, v.gen = v.n+1, gen
}

// read makes the i-th read, each of another kind than the one before, and returns what it
// saw and how many objects it should have seen.
func (h *history) read(i int) (v seen, want int) {
	switch i % readKinds {
	case 0:
		if it, ok := h.s.Get(id{"s", 1 + i/readKinds%h.keys}); ok {
			v.add(it.version)
		}
		return v, 1
	case 1:
		for _, it := range h.s.List() {
			v.add(it.version)
		}
	case 2:
		for k, it := range h.s.All() {
			if k != it.id {
				h.t.Errorf("key %v of object %v", k, it.id)
			}
			v.add(it.version)
		}
	case 3:
		snap := h.s.Snapshot()
		rv, _ := strconv.Atoi(snap.ResourceVersion())
		v.add(rv)
		for it := range snap.Values() {
			v.add(it.version)
		}
		return v, h.keys + 1
	case 4:
		for it := range h.byParity.All(h.s, 0) {
			v.add(it.version)
		}
		return v, h.keys / 2
	case 5:
		for _, it := range h.byParity.Get(h.s, 0) {
			v.add(it.version)
		}
		return v, h.keys / 2
	case 6:
		rv, _ := strconv.Atoi(h.s.ResourceVersion())
		v.add(rv)
		return v, 1
	case 7:
		objs, err := h.s.Index("parity", &item{id: id{"s", 2}})
		if err != nil {
			h.t.Error(err)
		}
		for _, it := range objs {
			v.add(it.version)
		}
		return v, h.keys / 2
	case 8:
		return h.readFrozen()
	case 9:
		var keys []id
		for n := range min(h.keys, blockLen) {
			keys = append(keys, id{"s", h.keys - n})
		}
		h.s.GetMany(keys, func(_ int, it *item, ok bool) bool {
			if ok {
				v.add(it.version)
			}
			return true
		})
		return v, len(keys)
	}
	return v, h.keys
}

// readFrozen reads a frozen state in all ways that must agree, as generations go by.
func (h *history) readFrozen() (v seen, want int) {
	frozen := h.s.Freeze()
	rv, _ := strconv.Atoi(frozen.ResourceVersion())
	v.add(rv)
	for n := range h.keys {
		if it, ok := frozen.Get(id{"s", n + 1}); ok {
			v.add(it.version)
		}
	}
	for _, it := range h.byParity.Get(frozen, 1) {
		v.add(it.version)
	}
	keys, err := frozen.IndexKeys("node", strconv.Itoa(rv))
	if err != nil {
		h.t.Error(err)
	}
	if len(keys) != h.keys {
		h.t.Errorf("%d keys under generation %d, want %d", len(keys), rv, h.keys)
	}
	return v, 1 + h.keys + (h.keys+1)/2
}

const readKinds = 10

func (h *history) reader(stop <-chan struct{}) {
	last := 0
	for i := 0; ; i++ {
		select {
		case <-stop:
			return
		default:
		}
		kind := i % readKinds
		low := int(h.committed.Load())
		v, want := h.read(i)
		high := int(h.begun.Load())
		switch {
		case v.mixed:
			h.t.Errorf("read %d saw half a commit", kind)
		case v.n != want:
			h.t.Errorf("read %d saw %d objects, want %d", kind, v.n, want)
		case v.gen < low || v.gen > high:
			h.t.Errorf("read %d saw generation %d, not in %d…%d", kind, v.gen, low, high)
		case v.gen < last:
			h.t.Errorf("read %d went back from generation %d to %d", kind, last, v.gen)
		default:
			last = v.gen
			continue
		}
		return
	}
}

// TestReadersSeeWholeCommits runs with commits made in place (40 and 300 objects, whose
// index reads are copies and frozen views) and aside (3,000).
func TestReadersSeeWholeCommits(t *testing.T) {
	for _, c := range []struct {
		keys, gens int
		packed     bool
	}{{40, 6000, false}, {300, 1500, false}, {3000, 150, false}, {40, 2000, true}, {3000, 50, true}} {
		t.Run(fmt.Sprint(c.keys, c.packed), func(t *testing.T) {
			h := &history{t: t, keys: c.keys, byParity: index.New("parity", func(dst []int, it *item) []int {
				return append(dst, it.id.num%2)
			})}
			f := newFixture()
			h.s = newStore(t, ^uint32(0), Options[*item]{Indexes: []index.Definition[*item]{f.node, h.byParity}, Packed: c.packed})
			h.s.verify = nil
			h.write(1, false)
			stop := make(chan struct{})
			var readers sync.WaitGroup
			for range 3 {
				readers.Go(func() { h.reader(stop) })
			}
			for gen := 2; gen < 2+max(steps(c.gens), 50); gen++ {
				h.write(gen, gen%3 == 0)
			}
			close(stop)
			readers.Wait()
			if err := h.s.Check(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestHistoryCheckerFinds makes sure that the readers of the test above would notice.
func TestHistoryCheckerFinds(t *testing.T) {
	var v seen
	v.add(3)
	v.add(3)
	if v.mixed || v.n != 2 || v.gen != 3 {
		t.Errorf("one generation: %+v", v)
	}
	if v.add(4); !v.mixed {
		t.Error("two generations are not noticed")
	}
}

// TestWriteWhileIterating writes to the store, and reads it, from the bodies of its loops.
func TestWriteWhileIterating(t *testing.T) {
	f := newFixture()
	s := newStore(t, ^uint32(0), Options[*item]{Indexes: f.defs()})
	for n := range 500 {
		mustSet(t, s, newItem(n+1))
	}
	n := 0
	for k := range s.Keys() {
		if _, had, err := s.Delete(k); !had || err != nil {
			t.Fatal("the loop does not show the state at its beginning")
		}
		n++
	}
	if n != 500 || s.Len() != 0 {
		t.Errorf("%d keys, %d left", n, s.Len())
	}
	for n := range 500 {
		mustSet(t, s, newItem(n+1))
	}
	for it := range f.node.All(s, "node-3") {
		moved := *it
		moved.node = "node-4"
		mustSet(t, s, &moved)
	}
	if f.node.Count(s, "node-3") != 0 || f.node.Count(s, "node-4") != 100 {
		t.Error("moving objects from within the loop over their index")
	}
	for range s.Values() {
		break
	}
	for range s.Chunks() {
		break
	}
	for range s.All() {
		break
	}
}

// TestConcurrentWriters checks that writes take turns.
func TestConcurrentWriters(t *testing.T) {
	f := newFixture()
	s := newStore(t, ^uint32(0), Options[*item]{Indexes: f.defs()})
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for n := range 200 {
				it := &item{id: id{fmt.Sprint(w), n%20 + 1}, version: n, node: fmt.Sprint(n % 3)}
				if err := s.Set(it); err != nil {
					t.Error(err)
				}
				if n%7 == 0 {
					_, _, _ = s.Delete(it.id)
				}
			}
		})
	}
	wg.Wait()
	if err := s.Check(); err != nil {
		t.Error(err)
	}
	if s.Len() == 0 || s.Len() > 80 {
		t.Errorf("%d objects", s.Len())
	}
}
