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

// grow makes room for more elements, exactly so many at first. Later it doubles at least:
// elements of two fields that take turns must not cost quadratic time.
func (s *sliceHeader) grow(f *field, more int) {
	if s.cap == 0 && more == 1 && f.holder != holdPointers {
		s.data, s.cap = f.alloc(), 1 // half as long as by reflection
		return
	}
	more = max(more, s.len)
	reflect.NewAt(f.whole, unsafe.Pointer(s)).Elem().Grow(more)
}

// alloc returns a new value for a pointer to point to.
func (e *element) alloc() unsafe.Pointer { return reflect.New(e.typ).UnsafePointer() }

// stride is how far the elements of a slice field are apart.
func (f *field) stride() uintptr {
	if f.holder == holdPointers {
		return unsafe.Sizeof(uintptr(0))
	}
	return f.size
}

// storeScalar puts a scalar where the field at p holds it.
func (f *field) storeScalar(p unsafe.Pointer, v uint64) {
	switch f.holder {
	case holdPointer:
		q := f.alloc()
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
