package kubeproto

import (
	"reflect"
	"unsafe"
)

// sliceHeader is a slice whose element type only reflection knows.
type sliceHeader struct {
	data     unsafe.Pointer
	len, cap int
}

// grow makes room for more elements. The first time it makes exactly that room. Later it at
// least doubles it, because elements of two alternating fields must not cost quadratic time.
func (s *sliceHeader) grow(f *field, more int) {
	if s.cap == 0 && more == 1 && f.holder != holdPointers {
		s.data, s.cap = f.alloc(), 1 // takes half as long as reflection
		return
	}
	more = max(more, s.len)
	reflect.NewAt(f.whole, unsafe.Pointer(s)).Elem().Grow(more)
}

// alloc returns a new value for a pointer to point to.
func (e *element) alloc() unsafe.Pointer { return reflect.New(e.typ).UnsafePointer() }

// stride returns the distance between the elements of a slice field.
func (f *field) stride() uintptr {
	if f.holder == holdPointers {
		return unsafe.Sizeof(uintptr(0))
	}
	return f.size
}

// storeScalar stores a scalar in the field at p.
func (d *decoder) storeScalar(f *field, p unsafe.Pointer, v uint64) {
	switch f.holder {
	case holdPointer:
		q := d.newScalar(f)
		*(*unsafe.Pointer)(p) = q
		p = q
	case holdSlice:
		list := (*sliceHeader)(p)
		if list.len == list.cap {
			list.grow(f, 1)
		}
		p = unsafe.Add(list.data, uintptr(list.len)*f.size)
		list.len++
	}
	switch f.shape {
	case shapeBool:
		*(*bool)(p) = v != 0
	case shape8:
		*(*uint8)(p) = uint8(v)
	case shape16:
		*(*uint16)(p) = uint16(v)
	case shape32:
		*(*uint32)(p) = uint32(v)
	default:
		*(*uint64)(p) = v
	}
}
