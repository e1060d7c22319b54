package store

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/kinform/kinform/index"
	"github.com/kinform/kinform/internal/longtest"
)

// model is the dumb version: a map, and indexes by looking at everything.
type model struct {
	rv   int
	objs map[id]*item
}

// driver makes random writes to a store and to the model, and compares all that can be
// seen of them.
type driver struct {
	t        *testing.T
	r        *rand.Rand
	s        *Store[id, *item]
	m        model
	f        fixture
	keys     int // size of the universe
	versions int
	frozen   []frozenState
}

// frozenState is a state of the store and of the model at one moment.
type frozenState struct {
	snap   Snapshot[id, *item]
	reader *Reader[id, *item] // nil if it was not frozen
	m      model
}

func newDriver(t *testing.T, seed uint64, keys int, mask uint32, unchanged, packed bool) *driver {
	d := &driver{t: t, r: rand.New(rand.NewPCG(seed, 7)), f: newFixture(), keys: keys}
	d.m.objs = map[id]*item{}
	opts := Options[*item]{Indexes: []index.Definition[*item]{d.f.node, d.f.tags}, Packed: packed}
	if unchanged {
		opts.Unchanged = func(old, new *item) bool { return old.version == new.version }
	}
	d.s = newStore(t, mask, opts)
	if err := d.s.AddIndexes(d.f.place, d.f.mod); err != nil {
		t.Fatal(err)
	}
	return d
}

func (d *driver) key() id {
	n := d.r.IntN(d.keys)
	return id{fmt.Sprintf("s%d", n%3), n + 1}
}

func (d *driver) item(k id) *item {
	d.versions++
	it := &item{id: k, version: d.versions}
	if d.r.IntN(8) > 0 {
		it.node = fmt.Sprintf("node-%d", d.r.IntN(5))
	}
	for range d.r.IntN(5) {
		it.tags = append(it.tags, fmt.Sprintf("t%d", d.r.IntN(6)))
	}
	if old := d.m.objs[k]; old != nil && d.r.IntN(3) == 0 {
		it.node, it.tags = old.node, old.tags
		if d.r.IntN(2) == 0 {
			it.version = old.version
		}
	}
	return it
}

// op returns an operation and what must come of its Err.
func (d *driver) op() (op Op[id, *item], wantErr error) {
	k := d.key()
	op = Op[id, *item]{Key: k, Object: d.item(k), Err: errors.New("stale"), Had: true}
	kind := d.r.IntN(24)
	if kind <= 5 {
		op.Object.version = d.versions // or Unchanged would pass it over
	}
	switch kind {
	case 0:
		op.Key = id{}
		op.Object.id = id{}
		return op, ErrZeroKey
	case 1:
		op.Key = id{"other", 1}
		return op, ErrKeyMismatch
	case 2:
		op.Object = nil
		return op, errNoID
	case 3:
		op.Object.boom = "node"
		return op, &PanicError{Where: "index function", Name: "node"}
	case 4:
		op.Object.boom = "tags"
		return op, &PanicError{Where: "index function", Name: "tags"}
	case 5:
		op.Object.boom = "key"
		return op, &PanicError{Where: "key function"}
	case 6:
		return Op[id, *item]{Delete: true}, ErrZeroKey
	case 7, 8, 9, 10, 11, 12:
		op.Delete, op.Object = true, nil
	}
	return op, nil
}

func (d *driver) commit(n int) {
	ops, wants := make([]Op[id, *item], n), make([]error, n)
	for i := range ops {
		ops[i], wants[i] = d.op()
	}
	rv := d.m.rv + d.r.IntN(4) - 1
	if err := d.s.Commit(rvString(rv), ops); err != nil {
		d.t.Fatal(err)
	}
	d.m.rv = max(d.m.rv, rv)
	for i := range ops {
		d.checkOp(&ops[i], wants[i])
	}
}

func rvString(rv int) string {
	if rv <= 0 {
		return ""
	}
	return fmt.Sprint(rv)
}

// checkOp applies op to the model and compares its results.
func (d *driver) checkOp(op *Op[id, *item], want error) {
	d.t.Helper()
	if want != nil {
		if !sameError(op.Err, want) || op.Had || op.Old != nil || op.Unchanged {
			d.t.Fatalf("op %+v: got error %v, want %v", op, op.Err, want)
		}
		return
	}
	old, had := d.m.objs[op.Key]
	if op.Err != nil || original(op.Old) != old || op.Had != had {
		d.t.Fatalf("op on %v: got old %v %v error %v, want %v %v", op.Key, op.Old, op.Had, op.Err, old, had)
	}
	same := !op.Delete && had && d.s.unchanged != nil && d.s.unchanged(old, op.Object)
	if op.Unchanged != same {
		d.t.Fatalf("op on %v: Unchanged is %v", op.Key, op.Unchanged)
	}
	switch {
	case op.Delete:
		delete(d.m.objs, op.Key)
	case !same:
		d.m.objs[op.Key] = op.Object
	}
}

func sameError(got, want error) bool {
	var wantPanic, gotPanic *PanicError
	if errors.As(want, &wantPanic) {
		return errors.As(got, &gotPanic) && gotPanic.Where == wantPanic.Where && gotPanic.Name == wantPanic.Name && gotPanic.Key != "" && len(gotPanic.Stack) > 0
	}
	var keyErr *KeyError
	return errors.Is(got, want) && errors.As(got, &keyErr)
}

func (d *driver) replace() {
	var objs []*item
	last := map[id]*item{}
	for range d.r.IntN(d.keys + d.keys/2) {
		it := d.item(d.key())
		if d.r.IntN(2) == 0 && d.m.objs[it.id] != nil {
			it = d.m.objs[it.id]
		}
		objs = append(objs, it)
		last[it.id] = it
	}
	if len(objs) > 0 && d.r.IntN(5) == 0 {
		bad := *objs[0]
		bad.boom, bad.version = "tags", -1
		if err := d.s.Replace(append(slices.Clone(objs), &bad), "1000000"); !sameError(err, &PanicError{Where: "index function", Name: "tags"}) {
			d.t.Fatalf("replace with a bad object: %v", err)
		}
		return
	}
	d.m.rv++
	if err := d.s.Replace(objs, rvString(d.m.rv)); err != nil {
		d.t.Fatal(err)
	}
	for k, it := range last {
		// One that is as good may be there instead: stored before, or listed before.
		got, _ := d.s.Get(k)
		if got = original(got); got != it && d.s.unchanged != nil {
			if got == nil || !d.s.unchanged(got, it) || got != d.m.objs[k] && !slices.Contains(objs, got) {
				d.t.Fatalf("after replace %v is %v, want %v", k, got, it)
			}
			last[k] = got
		}
	}
	d.m.objs = last
}

func (d *driver) step() {
	switch n := d.r.IntN(100); {
	case n < 40:
		d.commit(1)
	case n < 85:
		d.commit(d.r.IntN(14))
	case n < 88:
		d.commit(1 + d.r.IntN(3*d.keys))
	case n < 92:
		d.replace()
	case n < 95 && len(d.frozen) < 4:
		f := frozenState{snap: d.s.Snapshot(), m: model{d.m.rv, maps.Clone(d.m.objs)}}
		if d.r.IntN(2) == 0 {
			f.reader = d.s.Freeze()
		}
		d.frozen = append(d.frozen, f)
	case n < 96 && len(d.frozen) > 0:
		f := d.frozen[0]
		d.frozen = d.frozen[1:]
		d.thaw(f)
	}
}

// thaw compares a state that was frozen some steps ago.
func (d *driver) thaw(f frozenState) {
	compare(d.t, "snapshot", f.snap.All(), f.m.objs)
	if f.snap.Len() != len(f.m.objs) || f.snap.ResourceVersion() != rvString(f.m.rv) {
		d.t.Fatalf("snapshot of %d objects at %q", f.snap.Len(), f.snap.ResourceVersion())
	}
	now := frozenState{snap: d.s.Snapshot(), m: d.m}
	f.diff(d.t, now)
	now.diff(d.t, f)
	if f.reader == nil {
		return
	}
	for range 20 {
		d.read(f.reader, f.m)
	}
	frozen := Store[id, *item]{readSide: readSide[id, *item]{key: f.reader.key, slots: f.reader.slots, seed: f.reader.seed, mask: f.reader.mask, codec: f.reader.codec, packedOf: f.reader.packedOf}}
	if err := frozen.Check(); err != nil {
		d.t.Fatalf("frozen: %v", err)
	}
}

// diff checks that Diff leaves out nothing in which the states differ.
func (f frozenState) diff(t *testing.T, other frozenState) {
	t.Helper()
	got := map[id]*item{}
	for k, it := range f.snap.Diff(other.snap, func(a, b *item) bool { return a == b }) {
		if it = original(it); f.m.objs[k] != it || got[k] != nil {
			t.Fatalf("Diff: %v is %v, want %v and that once", k, it, f.m.objs[k])
		}
		got[k] = it
	}
	for k, it := range f.m.objs {
		if other.m.objs[k] != it && got[k] == nil {
			t.Fatalf("Diff leaves out %v: %v, in the other %v", k, it, other.m.objs[k])
		}
	}
}

func compare(t *testing.T, what string, got func(func(id, *item) bool), want map[id]*item) {
	t.Helper()
	n := 0
	for k, it := range got {
		n++
		if it = original(it); want[k] != it {
			t.Fatalf("%s: %v is %v, want %v", what, k, it, want[k])
		}
	}
	if n != len(want) {
		t.Fatalf("%s: %d objects, want %d", what, n, len(want))
	}
}

// read compares one thing that can be read of s, chosen at random, with the model of it.
func (d *driver) read(s *Reader[id, *item], m model) {
	t := d.t
	k := d.key()
	if got, ok := s.Get(k); original(got) != m.objs[k] || ok != (m.objs[k] != nil) {
		t.Fatalf("Get(%v): %v %v, want %v", k, got, ok, m.objs[k])
	}
	if s.Len() != len(m.objs) || s.ResourceVersion() != rvString(m.rv) {
		t.Fatalf("%d objects at %q, want %d at %d", s.Len(), s.ResourceVersion(), len(m.objs), m.rv)
	}
	switch d.r.IntN(12) {
	case 10:
		d.readMany(s, m)
	case 0:
		compare(t, "All", s.All(), m.objs)
	case 1:
		sameItems(t, "List", s.List(), m.where(func(*item) bool { return true }))
	case 2:
		node := fmt.Sprintf("node-%d", d.r.IntN(6))
		want := m.where(func(it *item) bool { return it.node == node })
		sameItems(t, "node", d.f.node.Get(s, node), want)
		sameItems(t, "node", slices.Collect(d.f.node.All(s, node)), want)
		byName, err := s.ByIndex("node", node)
		if err != nil {
			t.Fatal(err)
		}
		sameItems(t, "node", byName, want)
		if n := d.f.node.Count(s, node); n != len(want) {
			t.Fatalf("Count %d, want %d", n, len(want))
		}
	case 3:
		tag := fmt.Sprintf("t%d", d.r.IntN(7))
		want := m.where(func(it *item) bool { return slices.Contains(it.tags, tag) })
		sameItems(t, "tags", d.f.tags.Get(s, tag), want)
	case 4:
		p := place{fmt.Sprintf("s%d", d.r.IntN(3)), "node-1"}
		sameItems(t, "place", d.f.place.Get(s, p), m.where(func(it *item) bool { return it.id.space == p.space && it.node == p.node }))
	case 5:
		n := d.r.IntN(7)
		sameItems(t, "mod", d.f.mod.Get(s, n), m.where(func(it *item) bool { return it.version%7 == n }))
		sameItems(t, "mod", d.f.mod.Get(s, -1), m.where(func(*item) bool { return true }))
	case 6:
		want := map[string]bool{}
		for _, it := range m.objs {
			for _, tag := range it.tags {
				want[tag] = true
			}
		}
		got, err := s.IndexValues("tags")
		slices.Sort(got)
		if err != nil || !slices.Equal(got, slices.Sorted(maps.Keys(want))) {
			t.Fatalf("values %v %v, want %v", got, err, want)
		}
	case 7:
		obj := d.item(d.key())
		got, err := s.Index("tags", obj)
		if err != nil {
			t.Fatal(err)
		}
		sameItems(t, "Index", got, m.where(func(it *item) bool {
			return slices.ContainsFunc(it.tags, func(tag string) bool { return slices.Contains(obj.tags, tag) })
		}))
	case 8:
		keys, err := s.IndexKeys("node", "node-2")
		if err != nil {
			t.Fatal(err)
		}
		var got []*item
		for _, k := range keys {
			got = append(got, m.objs[k])
		}
		sameItems(t, "IndexKeys", got, m.where(func(it *item) bool { return it.node == "node-2" }))
	case 9:
		var got []*item
		for chunk := range s.Chunks() {
			got = append(got, chunk...)
		}
		sameItems(t, "Chunks", got, m.where(func(*item) bool { return true }))
	}
}

// readMany compares GetMany with the model, up to where it is ended.
func (d *driver) readMany(s *Reader[id, *item], m model) {
	keys := make([]id, d.r.IntN(3*blockLen))
	for i := range keys {
		keys[i] = d.key()
	}
	stop, n := 1+d.r.IntN(2*len(keys)+1), 0
	s.GetMany(keys, func(i int, got *item, ok bool) bool {
		if want := m.objs[keys[i]]; i != n || original(got) != want || ok != (want != nil) {
			d.t.Fatalf("GetMany: key %d, %v, is %v %v, want %v of key %d", i, keys[i], got, ok, want, n)
		}
		n++
		return n != stop
	})
	if n != min(stop, len(keys)) {
		d.t.Fatalf("GetMany: %d keys of %d, to be ended after %d", n, len(keys), stop)
	}
}

func (m model) where(f func(*item) bool) (out []*item) {
	for _, it := range m.objs {
		if f(it) {
			out = append(out, it)
		}
	}
	return out
}

func sameItems(t *testing.T, what string, got, want []*item) {
	t.Helper()
	for i, it := range got {
		got[i] = original(it)
	}
	less := func(a, b *item) int {
		return cmp.Or(a.id.num-b.id.num, strings.Compare(a.id.space, b.id.space))
	}
	slices.SortFunc(got, less)
	slices.SortFunc(want, less)
	if !slices.Equal(got, want) {
		for _, it := range got {
			if !slices.Contains(want, it) {
				t.Errorf("%s: unexpected %+v", what, *it)
			}
		}
		t.Fatalf("%s: got %d items, want %d", what, len(got), len(want))
	}
}

// steps scales a number of random steps to the form of the tests.
func steps(n int) int {
	if testing.Short() {
		return n / 50
	}
	return longtest.N(n/40, n)
}

// TestModel makes 25,000 random steps in all (20,000 with -short, a million in the long form), with
// the invariants checked after every commit.
func TestModel(t *testing.T) {
	for _, c := range []struct {
		name      string
		keys      int
		mask      uint32
		unchanged bool
		packed    bool
		steps     int
	}{
		{"tiny", 3, ^uint32(0), false, false, 300_000},
		{"small", 12, ^uint32(0), true, false, 400_000},
		{"collisions", 20, 0x3, false, false, 200_000},
		{"all keys collide", 10, 0, true, false, 95_000},
		{"large", 1500, ^uint32(0), true, false, 5_000},
		{"tiny packed", 3, ^uint32(0), false, true, 100_000},
		{"small packed", 12, ^uint32(0), true, true, 100_000},
		{"large packed", 1500, ^uint32(0), true, true, 2_000},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d := newDriver(t, uint64(c.keys), c.keys, c.mask, c.unchanged, c.packed)
			for range steps(c.steps) {
				d.step()
				d.read(d.s.Reader(), d.m)
			}
		})
	}
}
