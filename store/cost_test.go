package store

import (
	"fmt"
	"runtime"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/index"
	"github.com/kinform/kinform/internal/longtest"
	"github.com/kinform/kinform/internal/memtest"
)

// TestNoAllocations holds the reads and writes to what their comments promise.
func TestNoAllocations(t *testing.T) {
	if memtest.Race {
		t.Skip("the race detector allocates")
	}
	f := newFixture()
	s, err := New(itemKey, Options[*item]{Indexes: f.defs(), Unchanged: func(old, new *item) bool { return old == new }})
	if err != nil {
		t.Fatal(err)
	}
	var all [2][]*item
	for n := range 2000 {
		a, b := newItem(n+1), newItem(n+1)
		b.version, b.tags = 2, []string{"x"}
		a.tags = []string{"y"}
		all[0], all[1] = append(all[0], a), append(all[1], b)
		mustSet(t, s, a)
	}
	r := s.Reader()
	turn, sum := 0, 0
	next := func() *item { turn++; return all[turn/2000%2][turn%2000] }
	for range 8000 {
		mustSet(t, s, next()) // postings and scratch space reach their sizes
	}
	ops := make([]Op[id, *item], 40)
	dst := make([]*item, 0, 2000)
	keys := make([]id, 100)
	for n := range keys {
		keys[n] = newItem(n + 1).id
	}
	for name, fn := range map[string]func(){
		"GetMany": func() {
			r.GetMany(keys, func(_ int, it *item, ok bool) bool { sum += it.version; return ok })
		},
		"Get":             func() { it, _ := r.Get(id{"s1", 6}); sum += it.version },
		"Get of nothing":  func() { _, ok := r.Get(id{"s1", 60000}); sum += turn; _ = ok },
		"Len":             func() { sum += r.Len() },
		"ResourceVersion": func() { sum += len(r.ResourceVersion()) },
		"Snapshot":        func() { snap := r.Snapshot(); sum += snap.Len() },
		"All": func() {
			for _, it := range r.All() {
				sum += it.version
			}
		},
		"Keys": func() {
			for k := range r.Keys() {
				sum += k.num
			}
		},
		"Values": func() {
			for it := range s.Values() {
				sum += it.version
			}
		},
		"Chunks": func() {
			for c := range s.Chunks() {
				sum += len(c)
			}
		},
		"Snapshot.Values": func() {
			snap := s.Snapshot()
			for it := range snap.Values() {
				sum += it.version
			}
		},
		"index of 200, iterated": func() {
			for it := range f.node.All(s, "node-3") {
				sum += it.version
			}
		},
		"index, iterated from a reader": func() {
			for it := range f.place.All(r, place{"s1", "node-1"}) {
				sum += it.version
			}
		},
		"index, appended": func() { dst = f.node.Append(dst[:0], s, "node-3") },
		"index, counted":  func() { sum += f.node.Count(s, "node-3") },
		"values of an index": func() {
			for v := range f.node.Values(s) {
				sum += len(v)
			}
		},
	} {
		if n := memtest.Allocs(100, fn); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
	// The frozen views above make the next writes copy once; then nothing is left to copy.
	for range 8000 {
		mustSet(t, s, next())
	}
	for name, fn := range map[string]func(){
		"update":           func() { _ = s.Set(next()) },
		"update unchanged": func() { it, _ := s.Get(id{"s1", 6}); _ = s.Set(it) },
		"delete and add":   func() { it := next(); _, _, _ = s.Delete(it.id); _ = s.Set(it) },
		"commit of 40": func() {
			for i := range ops {
				it := next()
				ops[i] = Op[id, *item]{Key: it.id, Object: it}
			}
			_ = s.Commit("", ops)
		},
	} {
		if n := memtest.Allocs(4000, fn); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
	if n := memtest.Allocs(100, func() { sum += len(f.node.Get(s, "node-3")) }); n != 1 {
		t.Errorf("Get by index: %v allocations", n)
	}
	current := s.List()
	if n := memtest.Allocs(20, func() { _ = s.Replace(current, "") }); n > 2 {
		t.Errorf("Replace of 2,000 unchanged: %v allocations", n)
	}
}

// TestVersionAloneCopiesNothing: a bookmark after a Freeze must not cost a copy of the store.
func TestVersionAloneCopiesNothing(t *testing.T) {
	s := newStore(t, ^uint32(0), Options[*item]{})
	mustSet(t, s, newItem(1))
	frozen, before := s.Freeze(), s.slots.Own()
	if err := s.Commit("7", nil); err != nil {
		t.Fatal(err)
	}
	if err := s.CommitChunks("8", 0, func(func([]Op[id, *item]) bool) {}); err != nil {
		t.Fatal(err)
	}
	if s.slots.Own() != before {
		t.Error("the store was copied")
	}
	if s.ResourceVersion() != "8" || frozen.ResourceVersion() != "" {
		t.Errorf("at %q, frozen at %q", s.ResourceVersion(), frozen.ResourceVersion())
	}
}

func TestObjectKeyDoesNotAllocate(t *testing.T) {
	o := &object{metav1.ObjectMeta{Namespace: "a", Name: "b"}}
	n := 0
	if a := memtest.Allocs(100, func() { k, _ := ObjectKey(o); n += len(k.Name) }); a != 0 {
		t.Errorf("%v allocations", a)
	}
}

// TestMemoryIsGivenBack fills stores with 100,000 objects, in the short form fewer, and takes them
// out again, all or all but a few. What an emptied store takes may be twice what a new one does.
func TestMemoryIsGivenBack(t *testing.T) {
	n := longtest.N(30_000, 100_000)
	if memtest.Race || testing.Short() {
		n = 20_000
	}
	for _, c := range []struct {
		name  string
		left  int
		slack int64 // for what the runtime keeps, and for the smallest arrays of a few objects
		empty func(*Store[id, *item])
	}{
		{"deletes", 0, 8 << 10, func(s *Store[id, *item]) { deleteAllBut(s, 0) }},
		{"replace", 0, 8 << 10, func(s *Store[id, *item]) { _ = s.Replace(nil, "") }},
		{"commits of 1000", 0, 8 << 10, func(s *Store[id, *item]) { commitDeletes(s, 1000) }},
		{"one commit", 0, 8 << 10, func(s *Store[id, *item]) { commitDeletes(s, n) }},
		{"all but 10", 10, 16 << 10, func(s *Store[id, *item]) { deleteAllBut(s, 10) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			unique := index.New("unique", func(dst []int, it *item) []int { return append(dst, it.id.num) })
			defs := append(newFixture().defs(), unique)
			mk := func(objects int) *Store[id, *item] {
				s := newStore(t, ^uint32(0), Options[*item]{Indexes: defs})
				s.verify = nil
				for i := range objects {
					it := newItem(i + 1)
					it.tags = []string{fmt.Sprint(i % 100), "all"}
					mustSet(t, s, it)
				}
				return s
			}
			warm := mk(2000) // what the runtime and the tests themselves allocate once
			c.empty(warm)
			_ = warm.Check()
			size := memtest.Least(0, func() int64 {
				before := memtest.Heap()
				fresh := mk(c.left)
				size := memtest.Heap() - before
				runtime.KeepAlive(fresh)
				return size
			})
			kept := memtest.Least(2*size+c.slack, func() int64 {
				before := memtest.Heap()
				used := mk(n)
				c.empty(used)
				kept := memtest.Heap() - before
				if used.Len() != c.left {
					t.Fatalf("%d objects left", used.Len())
				}
				if err := used.Check(); err != nil {
					t.Fatal(err)
				}
				return kept
			})
			if kept > 2*size+c.slack {
				t.Errorf("a new store takes %d bytes; one that held %d keeps %d", size, n, kept)
			}
		})
	}
}

func deleteAllBut(s *Store[id, *item], left int) {
	n, every := s.Len(), 1<<62
	if left > 0 {
		every = n / left
	}
	i := 0
	for k := range s.Keys() {
		if i++; i%every != 0 {
			_, _, _ = s.Delete(k)
		}
	}
}

func commitDeletes(s *Store[id, *item], batch int) {
	var ops []Op[id, *item]
	for k := range s.Keys() {
		if ops = append(ops, Op[id, *item]{Key: k, Delete: true}); len(ops) == batch {
			_ = s.Commit("", ops)
			ops = nil
		}
	}
	_ = s.Commit("", ops)
}

// TestUnchangedValuesAreLetGo has an object with many values, which an update does not change.
// Their copy does not stay.
func TestUnchangedValuesAreLetGo(t *testing.T) {
	if memtest.Race {
		t.Skip("sizes differ under the race detector")
	}
	const values = 5000
	many := index.New("many", func(dst []int, _ *item) []int {
		for i := range values {
			dst = append(dst, i)
		}
		return dst
	})
	s := newStore(t, ^uint32(0), Options[*item]{Indexes: []index.Definition[*item]{many}})
	mustSet(t, s, newItem(1))
	before := memtest.Heap()
	mustSet(t, s, newItem(1))
	if kept := memtest.Heap() - before; kept > 8*values {
		t.Errorf("%d bytes", kept)
	}
	runtime.KeepAlive(s)
}

// TestRemovedObjectsAreReleased checks that nothing of the store holds on to an object
// that was deleted or replaced, nor to its strings.
func TestRemovedObjectsAreReleased(t *testing.T) {
	f := newFixture()
	s := newStore(t, ^uint32(0), Options[*item]{Indexes: f.defs()})
	mustSet(t, s, newItem(1), newItem(2), newItem(3))
	gone := make(chan string, 3)
	watch := func(name string, n int) *item {
		it := newItem(n)
		it.id.space = string([]byte("space of " + name))
		it.tags = []string{"x", "y"}
		runtime.AddCleanup(it, func(name string) { gone <- name }, name)
		return it
	}
	func() {
		a, b := watch("deleted", 10), watch("updated", 11)
		mustSet(t, s, a, b)
		again := *b
		mustSet(t, s, &again)
		_, _, _ = s.Delete(a.id)
		panics := watch("refused", 12)
		panics.boom = "tags"
		if s.Set(panics) == nil {
			t.Error("stored")
		}
	}()
	for range 3 {
		runtime.GC()
		runtime.GC()
		<-gone
	}
	if err := s.Check(); err != nil {
		t.Error(err)
	}
}

// TestStructValues stores objects that are no pointers and not comparable.
func TestStructValues(t *testing.T) {
	type row struct {
		name string
		data []int
		_    [40]int
	}
	byLen := index.New("len", func(dst []int, r row) []int { return append(dst, len(r.data)) })
	s, err := New(func(r row) (string, error) { return r.name, nil }, Options[row]{Indexes: []index.Definition[row]{byLen}})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 1000 {
		if err := s.Set(row{name: fmt.Sprint(i), data: make([]int, i%4)}); err != nil {
			t.Fatal(err)
		}
	}
	snap := s.Snapshot()
	for i := range 500 {
		_, _, _ = s.Delete(fmt.Sprint(2 * i))
	}
	if snap.Len() != 1000 || s.Len() != 500 || len(byLen.Get(s, 1)) != 250 || len(byLen.Get(s, 2)) != 0 {
		t.Error("wrong contents")
	}
	if r, ok := s.Get("7"); !ok || r.name != "7" || len(r.data) != 3 {
		t.Errorf("got %v", r)
	}
	if err := s.Check(); err != nil {
		t.Error(err)
	}
}
