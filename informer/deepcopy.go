package informer

import (
	"reflect"
	"unsafe"
)

// deepCopy returns a copy of v. The copy shares no memory that can be written through exported
// fields, elements or pointers. It shares whatever only unexported fields refer to.
//
// It uses reflection even if T has a DeepCopyObject method. That method may be promoted from
// an embedded type and copy only a part of T, and it may panic on values that do not belong in
// an object. Two pointers to one thing stay two pointers to one copy, so deepCopy also
// terminates on values that contain themselves.
func deepCopy[T any](v T) T {
	c := copier{}
	c.deepen(reflect.ValueOf(&v).Elem())
	return v
}

// copier maps the pointers, maps and slices met so far to their copies.
type copier map[visit]reflect.Value

// visit identifies a pointer, map or slice.
type visit struct {
	at  unsafe.Pointer
	len int
	typ reflect.Type
}

// deepen replaces everything that v refers to by a copy. v itself is a shallow copy already.
func (c copier) deepen(v reflect.Value) {
	if !v.CanSet() && v.Kind() != reflect.Struct { // an embedded struct may have settable fields
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		c.pointer(v)
	case reflect.Interface:
		if !v.IsNil() {
			own := reflect.New(v.Elem().Type()).Elem()
			own.Set(v.Elem())
			c.deepen(own)
			v.Set(own)
		}
	case reflect.Slice:
		c.slice(v)
	case reflect.Map:
		c.mapping(v)
	case reflect.Array:
		c.elements(v)
	case reflect.Struct:
		for n := range v.NumField() {
			c.deepen(v.Field(n))
		}
	}
}

func (c copier) pointer(v reflect.Value) {
	if v.IsNil() {
		return
	}
	met := visit{v.UnsafePointer(), 0, v.Type()}
	own, ok := c[met]
	if !ok {
		own = reflect.New(v.Type().Elem())
		c[met] = own
		own.Elem().Set(v.Elem())
		c.deepen(own.Elem())
	}
	v.Set(own.Convert(v.Type()))
}

func (c copier) slice(v reflect.Value) {
	if v.IsNil() {
		return
	}
	met := visit{v.UnsafePointer(), v.Len(), v.Type()}
	own, ok := c[met]
	if !ok {
		own = reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		c[met] = own
		reflect.Copy(own, v)
		c.elements(own)
	}
	v.Set(own)
}

func (c copier) mapping(v reflect.Value) {
	if v.IsNil() {
		return
	}
	met := visit{v.UnsafePointer(), 0, v.Type()}
	own, ok := c[met]
	if !ok {
		own = reflect.MakeMapWithSize(v.Type(), v.Len())
		c[met] = own
		for all := v.MapRange(); all.Next(); {
			value := reflect.New(v.Type().Elem()).Elem()
			value.Set(all.Value())
			c.deepen(value)
			own.SetMapIndex(all.Key(), value)
		}
	}
	v.Set(own)
}

// elements deepens the elements of a slice or an array, unless their kind cannot refer to
// anything.
func (c copier) elements(v reflect.Value) {
	if refers(v.Type().Elem().Kind()) {
		for n := range v.Len() {
			c.deepen(v.Index(n))
		}
	}
}

// refers reports whether values of a kind can refer to writable memory.
func refers(k reflect.Kind) bool {
	switch k {
	case reflect.Pointer, reflect.Interface, reflect.Slice, reflect.Map, reflect.Array, reflect.Struct:
		return true
	}
	return false
}
