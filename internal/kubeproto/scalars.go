package kubeproto

import "unsafe"

// scalars allocates the targets of pointers to scalars, 64 bytes at a time. One allocation for each
// would take longer than the rest of its field: a pod takes 54 allocations in place of 65
// (BenchmarkList in bench/decode). A target keeps the bytes beside it in memory. They are targets
// of the same object, or of objects that were decoded just before or after it.
type scalars struct {
	block *[8]uint64 // nil at first
	used  uintptr    // bytes of block
}

// newScalar returns a new zero scalar for a pointer to point to. The size of a scalar is a power of
// two, and it needs to be aligned to that.
func (d *decoder) newScalar(f *field) unsafe.Pointer {
	s := &d.targets
	if d.strings != nil {
		s = &d.strings.scalars
	}
	at := (s.used + f.size - 1) &^ (f.size - 1)
	if s.block == nil || at+f.size > unsafe.Sizeof(*s.block) {
		s.block, at = new([8]uint64), 0
	}
	s.used = at + f.size
	return unsafe.Add(unsafe.Pointer(s.block), at)
}
