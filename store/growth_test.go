package store

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime/metrics"
	"slices"
	"testing"

	"github.com/kinform/kinform/index"
	"github.com/kinform/kinform/internal/longtest"
	"github.com/kinform/kinform/internal/memtest"
)

// TestModelGrowth has a store grow past several borders of its pages, parts and chunks, and
// shrink again, one object or a few per commit. Most objects share a value of the index
// "owner", under which the others have one each: when those go, the posting of the many is
// renumbered over many commits. Frozen states are taken all the way.
func TestModelGrowth(t *testing.T) {
	size, every := 6000, 80
	if testing.Short() || memtest.Race {
		every = 500
	}
	rounds := longtest.N(1, 8)
	seed := rand.Uint64()
	for round := range rounds {
		d := newDriver(t, seed+uint64(round), size, ^uint32(0), false, round%2 == 1)
		d.s.verify = nil
		owner := index.New("owner", func(dst []string, it *item) []string {
			if it.id.num%5 == 0 && it.version > 0 {
				return append(dst, fmt.Sprint("alone-", it.id.num))
			}
			return append(dst, "many")
		})
		if err := d.s.AddIndexes(owner); err != nil {
			t.Fatal(err)
		}
		g := &growth{driver: d, owner: owner, every: every, seed: seed + uint64(round)}
		alone := func(n int) bool { return n%5 == 0 }
		g.through(g.order(size, alone), g.add) // the lowest numbers belong to values of one object
		g.through(g.order(size, func(n int) bool { return !alone(n) }), g.add)
		g.through(g.order(size, alone), g.disown)
		g.through(g.order(size, alone), g.add)
		g.through(g.order(size, func(int) bool { return true })[:size/2], g.remove)
		g.through(g.order(size, func(int) bool { return true })[:size/4], g.add)
		g.through(g.order(size, func(int) bool { return true }), g.remove)
		if d.s.Len() != 0 {
			t.Fatalf("seed %d: %d objects left", g.seed, d.s.Len())
		}
	}
}

// growth makes a driver's store grow and shrink.
type growth struct {
	*driver
	owner *index.Index[*item, string]
	every int // commits between two checks of everything
	seed  uint64
	done  int // commits
}

// order returns the numbers from 1 to n that want holds for, in random order.
func (g *growth) order(n int, want func(int) bool) (nums []int) {
	for _, i := range g.r.Perm(n) {
		if want(i + 1) {
			nums = append(nums, i+1)
		}
	}
	return nums
}

func (g *growth) add(k id) Op[id, *item] { return Op[id, *item]{Key: k, Object: g.item(k)} }

// disown stores an object that shares the value of the many.
func (g *growth) disown(k id) Op[id, *item] {
	it := g.item(k)
	it.version = -g.versions
	return Op[id, *item]{Key: k, Object: it}
}

func (g *growth) remove(k id) Op[id, *item] { return Op[id, *item]{Key: k, Delete: true} }

// through makes an operation for each number, mostly one per commit.
func (g *growth) through(nums []int, op func(id) Op[id, *item]) {
	defer func() {
		if g.t.Failed() {
			g.t.Logf("seed %d, after %d commits", g.seed, g.done)
		}
	}()
	for len(nums) > 0 {
		n := 1
		if g.r.IntN(4) == 0 {
			n = min(1+g.r.IntN(12), len(nums))
		}
		ops := make([]Op[id, *item], n)
		for i, num := range nums[:n] {
			ops[i] = op(id{fmt.Sprintf("s%d", (num-1)%3), num})
		}
		nums = nums[n:]
		if err := g.s.Commit("", ops); err != nil {
			g.t.Fatal(err)
		}
		for i := range ops {
			g.checkOp(&ops[i], nil)
		}
		g.read1()
		if g.done++; g.done%g.every == 0 {
			g.checkAll()
		}
	}
	g.checkAll()
}

// read1 compares one lookup, at a cost that does not grow with the store.
func (g *growth) read1() {
	k := g.key()
	if got, ok := g.s.Get(k); got != g.m.objs[k] || ok != (got != nil) {
		g.t.Fatalf("Get(%v): %v %v, want %v", k, got, ok, g.m.objs[k])
	}
}

// checkAll verifies the invariants, compares what can be read, and now and then freezes a
// state or compares one that was frozen before.
func (g *growth) checkAll() {
	if err := g.s.Check(); err != nil {
		g.t.Fatal(err)
	}
	g.read(g.s.Reader(), g.m)
	many := g.m.where(func(it *item) bool { return it.id.num%5 != 0 || it.version <= 0 })
	sameItems(g.t, "owner", g.owner.Get(g.s, "many"), many)
	values := len(g.m.objs) - len(many)
	if len(many) > 0 {
		values++
	}
	if got := len(slices.Collect(g.owner.Values(g.s))); got != values {
		g.t.Fatalf("%d owners, want %d", got, values)
	}
	switch n := g.r.IntN(6); {
	case n < 2 && len(g.frozen) < 3:
		f := frozenState{snap: g.s.Snapshot(), m: model{g.m.rv, maps.Clone(g.m.objs)}}
		if n == 0 {
			f.reader = g.s.Freeze()
		}
		g.frozen = append(g.frozen, f)
	case n < 4 && len(g.frozen) > 0:
		f := g.frozen[0]
		g.frozen = g.frozen[1:]
		g.thaw(f)
	}
}

// TestBoundedCommits fills a store one by one and empties it again. No commit may allocate
// more than a page of each structure and their lists of pages: a table that is made anew
// takes megabytes.
func TestBoundedCommits(t *testing.T) {
	if memtest.Race {
		t.Skip("the race detector allocates")
	}
	n := 200_000
	if testing.Short() {
		n = 60_000
	}
	f := newFixture()
	unique := index.New("unique", func(dst []int, it *item) []int { return append(dst, it.id.num) })
	s, err := New(itemKey, Options[*item]{Indexes: []index.Definition[*item]{f.node, f.place, unique}})
	if err != nil {
		t.Fatal(err)
	}
	items := make([]*item, n)
	for i := range items {
		items[i] = newItem(i + 1)
	}
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	allocated := func() uint64 {
		metrics.Read(sample)
		return sample[0].Value.Uint64()
	}
	const most = 256 << 10
	large := 0
	bounded := func(what string, i int, write func() error) {
		before := allocated()
		if err := write(); err != nil {
			t.Fatal(err)
		}
		if took := allocated() - before; took > most {
			if large++; large > 3 { // the runtime itself allocates now and then
				t.Fatalf("%s %d allocates %d bytes", what, i, took)
			}
		}
	}
	for i, it := range items {
		bounded("Set", i, func() error { return s.Set(it) })
	}
	for i, it := range items {
		bounded("Delete", i, func() error { _, _, err := s.Delete(it.id); return err })
	}
}
