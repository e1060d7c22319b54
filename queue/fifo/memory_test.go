package fifo

import (
	"cmp"
	"runtime"
	"testing"
	"weak"

	"github.com/kinform/kinform/internal/memtest"
)

// A queue that stays about as long as it is allocates nothing.
func TestAllocations(t *testing.T) {
	f, h := New[int, int](), newHeap(t)
	key := 0
	for ; key < 1000; key++ {
		must(t, f.Add(key, key), h.Add(key, key))
	}
	n := memtest.Allocs(5000, func() {
		_ = f.Add(key, key)
		_ = h.Add(key, key)
		_, _ = f.Pop(never)
		_, _, _ = h.Pop(never)
		key++
	})
	if n > 0 {
		t.Errorf("%g allocations for an Add and a Pop of both", n)
	}
}

// blob is an object whose end can be seen: too large to share an allocation.
type blob struct{ _ [64]byte }

// A queue keeps no reference to an object that has left it in any way.
func TestQueuesPinNothing(t *testing.T) {
	var made []weak.Pointer[blob]
	object := func() *blob {
		b := new(blob)
		made = append(made, weak.Make(b))
		return b
	}
	f := New[int, *blob]()
	h, err := NewHeap[int](func(*blob, *blob) int { return 0 })
	must(t, err)
	for key := range 100 {
		must(t, f.Add(key, object()), h.Add(key, object()))
		must(t, f.Add(key, object()), h.Add(key, object())) // and the one before goes
	}
	for key := range 50 {
		f.Delete(2 * key)
		h.Delete(2 * key)
	}
	for range 25 {
		_, _ = f.Pop(never)
		_, _, _ = h.Pop(never)
	}
	alive := func() (n int) {
		runtime.GC()
		for _, w := range made {
			if w.Value() != nil {
				n++
			}
		}
		return n
	}
	if n := alive(); n != 50 {
		t.Errorf("%d objects are kept of which 50 are in the queues", n)
	}
	must(t, f.Replace(nil))
	for range 25 {
		_, _, _ = h.Pop(never)
	}
	if n := alive(); n != 0 {
		t.Errorf("%d objects are kept by empty queues", n)
	}
	runtime.KeepAlive(f)
	runtime.KeepAlive(h)
}

// A burst costs memory while it lasts.
func TestBurstIsForgotten(t *testing.T) {
	const burst = 100_000
	for name, queue := range map[string]func() (fill, drain func()){
		"FIFO": func() (fill, drain func()) {
			f := New[int, int]()
			fill = func() {
				for key := range burst {
					_ = f.Add(key, key)
				}
			}
			drain = func() {
				for f.Len() > 10 {
					_, _ = f.Pop(never)
				}
			}
			return fill, drain
		},
		"Heap": func() (fill, drain func()) {
			h := newHeap(t)
			fill = func() {
				for key := range burst {
					_ = h.Add(key, key)
				}
			}
			drain = func() {
				for h.Len() > 10 {
					_, _, _ = h.Pop(never)
				}
			}
			return fill, drain
		},
	} {
		percent := memtest.Least(2, func() int64 {
			fill, drain := queue()
			empty := memtest.Heap()
			fill()
			full := memtest.Heap() - empty
			drain()
			after := memtest.Heap() - empty
			if full < 16*burst {
				t.Errorf("%s: a burst takes %d bytes", name, full)
			}
			runtime.KeepAlive(drain)
			return after * 100 / full
		})
		if percent > 2 {
			t.Errorf("%s: %d%% of the memory is left after a burst", name, percent)
		}
	}
}

// The order of compare's arguments and results is the same as in package cmp.
func TestHeapOrder(t *testing.T) {
	for want, compare := range map[int]func(a, b int) int{
		1: cmp.Compare[int],
		9: func(a, b int) int { return cmp.Compare(b, a) },
	} {
		h, err := NewHeap[int](compare)
		must(t, err, h.Add(5, 5), h.Add(1, 1), h.Add(9, 9))
		if _, got, err := h.Pop(never); err != nil || got != want {
			t.Errorf("got %d, error %v, want %d", got, err, want)
		}
	}
}
