package kubeproto

import "unsafe"

// scalars allocates the targets of pointers to scalars, eight words at a time. One allocation for
// each would take longer than the rest of its field. A target keeps the words beside it alive, which
// belong to the same object or to its neighbours.
type scalars struct {
	block *[8]uint64 // nil at first
	used  uintptr    // bytes of block
}

// scalar returns a new scalar for a pointer to point to.
func (s *Strings) scalar(f *field) unsafe.Pointer {
	if s == nil {
		return f.alloc()
	}
	at := (s.scalars.used + f.size - 1) &^ (f.size - 1)
	if s.scalars.block == nil || at+f.size > unsafe.Sizeof(*s.scalars.block) {
		s.scalars.block, at = new([8]uint64), 0
	}
	s.scalars.used = at + f.size
	return unsafe.Add(unsafe.Pointer(s.scalars.block), at)
}
