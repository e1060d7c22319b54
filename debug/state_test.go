package debug

import (
	"testing"
	"time"
	"unsafe"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/queue"
)

// What one State of 10,000 queued keys costs. All viewers share it for a second.
func BenchmarkState(b *testing.B) {
	p := New(Options{})
	q := queue.New(queue.Options[int]{})
	for i := range 10_000 {
		q.Add(i)
	}
	if err := AddQueue(p, "q", q); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		p.read(time.Now())
	}
}

// The sizes that the comments of Options name.
func TestSizes(t *testing.T) {
	if a, b := unsafe.Sizeof(seen[types.NamespacedName]{}), unsafe.Sizeof(call[types.NamespacedName]{}); a != 88 || b != 96 {
		t.Errorf("an event takes %d bytes, a reconcile %d", a, b)
	}
}

func TestRing(t *testing.T) {
	r := newRing[int](3)
	for i := range 5 {
		all, total := r.newest()
		if len(all) != min(i, 3) || total != uint64(i) || i > 0 && all[0] != i-1 {
			t.Errorf("after %d: %v, %d", i, all, total)
		}
		for n, v := range all {
			if v != i-1-n {
				t.Errorf("after %d: %v", i, all)
			}
		}
		r.add(i)
	}
}
