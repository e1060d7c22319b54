package controller

import (
	"testing"
	"unsafe"

	"k8s.io/apimachinery/pkg/types"
)

// The size that the comment of Trace names.
func TestTraceSize(t *testing.T) {
	if size := unsafe.Sizeof(endedCall[types.NamespacedName]{}); size != 128 {
		t.Errorf("a reconcile takes %d bytes", size)
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
