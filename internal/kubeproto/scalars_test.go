package kubeproto

import (
	"math/rand"
	"testing"
	"unsafe"

	"github.com/kinform/kinform/internal/memtest"
)

// sized are fields of all sizes that scalars have.
var sized = []*field{{element: element{size: 1}}, {element: element{size: 2}}, {element: element{size: 4}}, {element: element{size: 8}}}

// TestScalarsDoNotOverlap writes to each byte of many scalars, and reads all of them at the end.
func TestScalarsDoNotOverlap(t *testing.T) {
	for _, d := range []*decoder{{strings: NewStrings(1)}, {}} {
		scalarsDoNotOverlap(t, d)
	}
}

func scalarsDoNotOverlap(t *testing.T, d *decoder) {
	random := rand.New(rand.NewSource(1))
	var all [][]byte
	for i := range 10_000 {
		f := sized[random.Intn(len(sized))]
		p := d.newScalar(f)
		if uintptr(p)%f.size != 0 {
			t.Fatalf("%d bytes at %p", f.size, p)
		}
		one := unsafe.Slice((*byte)(p), f.size)
		for at, b := range one {
			if b != 0 {
				t.Fatalf("scalar %d was not zero", i)
			}
			one[at] = byte(i)
		}
		all = append(all, one)
	}
	for i, one := range all {
		for _, b := range one {
			if b != byte(i) {
				t.Fatalf("scalar %d was overwritten", i)
			}
		}
	}
}

func TestScalarsShareAllocations(t *testing.T) {
	if memtest.Race {
		t.Skip("the race detector allocates")
	}
	d := decoder{strings: NewStrings(1)}
	if n := memtest.Allocs(10, func() {
		for range 640 {
			kept = d.newScalar(sized[0])
		}
	}); n > 10 {
		t.Errorf("640 bools took %v allocations, want 10", n)
	}
}

// kept makes a scalar one on the heap.
var kept unsafe.Pointer
