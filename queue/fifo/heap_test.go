package fifo

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/kinform/kinform/internal/longtest"
	"github.com/kinform/kinform/internal/waittest"
)

func newHeap(t testing.TB) *Heap[int, int] {
	t.Helper()
	h, err := NewHeap[int](cmp.Compare[int])
	must(t, err)
	return h
}

// heapModel is a heap that is too simple to be wrong: a slice in order of arrival.
type heapModel struct {
	items  []Item[int, int]
	closed bool
}

func (m *heapModel) find(key int) int {
	return slices.IndexFunc(m.items, func(it Item[int, int]) bool { return it.Key == key })
}

func (m *heapModel) add(key, obj int) {
	if i := m.find(key); i >= 0 {
		m.items[i].Object = obj
	} else {
		m.items = append(m.items, Item[int, int]{Key: key, Object: obj})
	}
}

// take takes the first one of the least.
func (m *heapModel) take() (Item[int, int], error) {
	if len(m.items) == 0 {
		if m.closed {
			return Item[int, int]{}, ErrClosed
		}
		return Item[int, int]{}, context.Canceled
	}
	least := slices.MinFunc(m.items, func(a, b Item[int, int]) int { return cmp.Compare(a.Object, b.Object) })
	i := m.find(least.Key)
	m.items = slices.Delete(m.items, i, i+1)
	return least, nil
}

type heapScript struct {
	t      *testing.T
	choose chooser
	keys   int
	heap   *Heap[int, int]
	model  heapModel
}

func newHeapScript(t *testing.T, choose chooser) *heapScript {
	return &heapScript{t: t, choose: choose, keys: []int{1, 3, 10, 200}[choose.IntN(4)], heap: newHeap(t)}
}

func (s *heapScript) step() {
	m := &s.model
	var closed error
	if m.closed {
		closed = ErrClosed
	}
	key, obj := s.choose.IntN(s.keys), s.choose.IntN(20) // many compare equal
	switch op := s.choose.IntN(40); {
	case op < 12:
		wantErr(s.t, s.heap.Add(key, obj), closed)
		if !m.closed {
			m.add(key, obj)
		}
	case op < 16:
		added, err := s.heap.AddIfNotPresent(key, obj)
		wantErr(s.t, err, closed)
		if want := !m.closed && m.find(key) < 0; added != want {
			s.t.Fatalf("added: %t, want %t", added, want)
		} else if added {
			m.add(key, obj)
		}
	case op < 22:
		got, had := s.heap.Delete(key)
		i := m.find(key)
		if had != (i >= 0) || had && got != m.items[i].Object {
			s.t.Fatalf("deleted %d, %t; was at %d of %v", got, had, i, m.items)
		}
		if had {
			m.items = slices.Delete(m.items, i, i+1)
		}
	case op < 25:
		var items []Item[int, int]
		for range s.choose.IntN(20) {
			items = append(items, Item[int, int]{Key: s.choose.IntN(s.keys), Object: s.choose.IntN(20)})
		}
		wantErr(s.t, s.heap.AddAll(items), closed)
		for _, item := range items {
			if !m.closed {
				m.add(item.Key, item.Object)
			}
		}
	case op < 39:
		key, obj, err := s.heap.Pop(never)
		want, wantError := m.take()
		wantErr(s.t, err, wantError)
		if key != want.Key || obj != want.Object {
			s.t.Fatalf("got %d: %d, want %v", key, obj, want)
		}
	case s.choose.IntN(20) == 0:
		s.heap.Close()
		m.closed = true
	}
	s.compare()
}

func (s *heapScript) compare() {
	s.heap.verified(s.t)
	want := map[int]int{}
	for _, item := range s.model.items {
		want[item.Key] = item.Object
	}
	if got := maps.Collect(s.heap.All()); s.heap.Len() != len(want) || !maps.Equal(got, want) {
		s.t.Fatalf("got %d objects: %v, want %v", s.heap.Len(), got, want)
	}
	key := s.choose.IntN(s.keys)
	obj, ok := s.heap.Get(key)
	if wantObj, wantOK := want[key]; obj != wantObj || ok != wantOK {
		s.t.Fatalf("key %d: got %d, %t", key, obj, ok)
	}
}

func TestHeapAgainstModel(t *testing.T) {
	runs, steps := longtest.N(80, 1000), 500
	if testing.Short() {
		runs = 40
	}
	for seed := range runs {
		s := newHeapScript(t, rand.New(rand.NewPCG(uint64(seed), 1)))
		for range steps {
			s.step()
		}
	}
}

func FuzzHeapAgainstModel(f *testing.F) {
	rnd := rand.NewChaCha8([32]byte{})
	for _, n := range []int{0, 8, 128, 1024} {
		seed := make([]byte, n)
		_, _ = rnd.Read(seed)
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, ops []byte) {
		choose := &bytesChooser{left: ops}
		s := newHeapScript(t, choose)
		for len(choose.left) > 0 {
			s.step()
		}
	})
}

func TestHeapWaits(t *testing.T) {
	for way, put := range map[string]func(h *Heap[int, int]) error{
		"Add":             func(h *Heap[int, int]) error { return h.Add(1, 1) },
		"AddIfNotPresent": func(h *Heap[int, int]) error { _, err := h.AddIfNotPresent(1, 1); return err },
		"AddAll":          func(h *Heap[int, int]) error { return h.AddAll([]Item[int, int]{{Key: 1}}) },
	} {
		t.Run(way, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHeap(t)
				pop := func(ctx context.Context) waittest.Call {
					return waittest.Start(func() error { _, _, err := h.Pop(ctx); return err })
				}
				ctx, cancel := context.WithCancel(t.Context())
				gone := pop(ctx)
				gone.Waits(t)
				cancel()
				gone.Want(t, context.Canceled)
				first := pop(t.Context())
				first.Waits(t)
				must(t, put(h))
				first.Want(t, nil)
				second := pop(t.Context())
				must(t, h.AddAll(nil))
				second.Waits(t)
				h.Close()
				second.Want(t, ErrClosed)
				wantErr(t, put(h), ErrClosed)
			})
		})
	}
}

// One that takes an object wakes the next one, and Close everybody.
func TestHeapWakesAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHeap(t)
		var pops []waittest.Call
		for range 10 {
			pops = append(pops, waittest.Start(func() error { _, _, err := h.Pop(t.Context()); return err }))
		}
		must(t, h.AddAll([]Item[int, int]{{Key: 1}, {Key: 2}, {Key: 3}}))
		synctest.Wait()
		if h.Len() != 0 {
			t.Fatalf("%d objects are left though consumers wait", h.Len())
		}
		h.Close()
		synctest.Wait()
		closed := 0
		for _, pop := range pops {
			if errors.Is(<-pop, ErrClosed) {
				closed++
			}
		}
		if closed != 7 {
			t.Errorf("%d consumers were told of the end, want 7", closed)
		}
	})
}

// No consumer gets the first of many before the last is in.
func TestAddAllIsOneStep(t *testing.T) {
	for range 50 {
		h := newHeap(t)
		var wg sync.WaitGroup
		wg.Go(func() {
			var items []Item[int, int]
			for i := range 100 {
				items = append(items, Item[int, int]{Key: i, Object: -i})
			}
			if err := h.AddAll(items); err != nil {
				t.Error(err)
			}
		})
		for i := range 100 {
			if key, _, err := h.Pop(t.Context()); err != nil || key != 99-i {
				t.Fatalf("got key %d, error %v, want %d", key, err, 99-i)
			}
		}
		wg.Wait()
	}
}

func TestHeapBadInput(t *testing.T) {
	if _, err := NewHeap[int, int](nil); !errors.Is(err, ErrNoCompare) {
		t.Errorf("got error %v", err)
	}
}

// A comparison that panics at any time loses no object and holds no lock.
func TestComparePanics(t *testing.T) {
	calm := -1
	compare := func(a, b int) int {
		if calm == 0 {
			panic("compare")
		}
		calm--
		return cmp.Compare(a, b)
	}
	for after := range 12 {
		for name, c := range map[string]struct {
			op             func(h *Heap[int, int])
			done, panicked int // number of objects in the end
		}{
			"Add":     {func(h *Heap[int, int]) { must(t, h.Add(100, -1)) }, 21, 21},
			"Add old": {func(h *Heap[int, int]) { must(t, h.Add(3, 99)) }, 20, 20},
			"Delete":  {func(h *Heap[int, int]) { h.Delete(3) }, 19, 20},
			"Pop":     {func(h *Heap[int, int]) { _, _, _ = h.Pop(never) }, 19, 20},
		} {
			calm = -1
			h, err := NewHeap[int](compare)
			must(t, err)
			for key := range 20 {
				must(t, h.Add(key, (7*key)%20))
			}
			calm = after
			want := c.panicked
			func() {
				defer func() { _ = recover() }()
				c.op(h)
				want = c.done
			}()
			calm = -1
			must(t, h.verify())
			if h.Len() != want || after == 0 && want == c.done && c.done != c.panicked {
				t.Errorf("%s: %d objects after %d comparisons, want %d", name, h.Len(), after, want)
			}
			for range want {
				if _, _, err := h.Pop(never); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
		}
	}
}

// The order holds for any number of producers, and nothing is lost.
func TestHeapConcurrently(t *testing.T) {
	const producers, each = 4, 1000
	h := newHeap(t)
	var wg sync.WaitGroup
	for p := range producers {
		wg.Go(func() {
			for i := range each {
				if err := h.Add(i*producers+p, each-i); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	h.Close()
	last, n := 0, 0
	for {
		_, obj, err := h.Pop(t.Context())
		if err != nil {
			break
		}
		if obj < last {
			t.Fatalf("%d after %d", obj, last)
		}
		last = obj
		n++
	}
	if n != producers*each {
		t.Errorf("got %d objects", n)
	}
}

// A loop over a heap may use it, be left, and be used again.
func TestHeapAll(t *testing.T) {
	h := newHeap(t)
	must(t, h.AddAll([]Item[int, int]{{Key: 1, Object: 1}, {Key: 2, Object: 2}, {Key: 3, Object: 3}}))
	all := h.All()
	n := 0
	for key := range all {
		h.Delete(key)
		if n++; n == 2 {
			break
		}
	}
	if left := maps.Collect(all); len(left) != 1 || h.Len() != 1 {
		t.Errorf("left: %v", left)
	}
}
