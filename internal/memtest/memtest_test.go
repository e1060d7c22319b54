package memtest

import (
	"runtime"
	"testing"
)

var kept []byte

// loudAtFirst allocates size bytes in each call, and a megabyte more in the first calls.
func loudAtFirst(size, calls int) func() {
	return func() {
		if calls--; calls >= 0 {
			kept = make([]byte, 1<<20)
		}
		if size > 0 {
			kept = make([]byte, size)
		}
	}
}

func TestNoiseDoesNotCount(t *testing.T) {
	if n := Allocs(1, loudAtFirst(0, 2*(tries-1))); n != 0 {
		t.Errorf("%v allocations, want those of the quiet try", n)
	}
	if n := Allocs(1, loudAtFirst(10, 2*(tries-1))); n < 1 {
		t.Errorf("%v allocations of a function that allocates in each call", n)
	}
	if n := Bytes(0, loudAtFirst(1<<10, tries-1)); n < 1<<10 || n > 1<<19 {
		t.Errorf("%d bytes, want about 1024", n)
	}
}

func TestLeast(t *testing.T) {
	for _, c := range []struct {
		results      []int64
		enough, want int64
		calls        int
	}{
		{[]int64{5, 9, 9, 9, 9}, 5, 5, 1},
		{[]int64{9, 8, 3, 4, 7}, 2, 3, tries},
		{[]int64{9, 2, 1, 1, 1}, 2, 2, 2},
	} {
		calls := 0
		got := Least(c.enough, func() int64 { calls++; return c.results[calls-1] })
		if got != c.want || calls != c.calls {
			t.Errorf("%v: got %d after %d calls, want %d after %d", c.results, got, calls, c.want, c.calls)
		}
	}
}

func TestHeap(t *testing.T) {
	const slack = 4 << 10 // what something else may have let go meanwhile
	got := Least(2<<20, func() int64 {
		kept = nil
		before := Heap()
		kept = make([]byte, 1<<20)
		return Heap() - before
	})
	if got < 1<<20-slack || got > 2<<20 {
		t.Errorf("1 MiB is measured as %d bytes", got)
	}
	runtime.KeepAlive(kept)
}
