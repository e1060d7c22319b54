// Package deepcopy copies objects by reflection, and names the places in which two of them differ.
package deepcopy

import (
	"reflect"
	"unsafe"
)

// Of returns a copy of v. The copy shares no memory that can be written through exported
// fields, elements or pointers. It shares whatever only unexported fields refer to.
//
// It uses reflection even if T has a DeepCopyObject method. That method may be promoted from
// an embedded type and copy only a part of T, and it may panic on values that do not belong in
// an object. Two pointers to one thing stay two pointers to one copy, so Of also
// terminates on values that contain themselves.
func Of[T any](v T) T {
	deepen(&v)
	return v
}

// deepen replaces everything that the value at pointer refers to by a copy. The value itself is a shallow copy
// already.
//
//go:noinline
func deepen(pointer any) { copier{}.deepen(reflect.ValueOf(pointer).Elem()) }

// copier maps the pointers, maps and slices met so far to their copies.
type copier map[visit]reflect.Value

// visit identifies the memory that a pointer, map or slice refers to.
type visit struct {
	at  unsafe.Pointer
	len int // of a slice
	typ reflect.Type
}

func visitOf(v reflect.Value) visit {
	met := visit{at: v.UnsafePointer(), typ: v.Type()}
	if v.Kind() == reflect.Slice {
		met.len = v.Len()
	}
	return met
}

// deepen is deepen with what was met so far.
func (c copier) deepen(v reflect.Value) {
	if !v.CanSet() && v.Kind() != reflect.Struct { // an embedded struct may have settable fields
		return
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		if !v.IsNil() {
			c.refer(v)
		}
	case reflect.Interface:
		if !v.IsNil() {
			own := addressable(v.Elem())
			c.deepen(own)
			v.Set(own)
		}
	case reflect.Array:
		c.elements(v)
	case reflect.Struct:
		for n := range v.NumField() {
			c.deepen(v.Field(n))
		}
	}
}

// refer lets a pointer, slice or map refer to the copy of its memory. The first call for that
// memory makes the copy.
func (c copier) refer(v reflect.Value) {
	met := visitOf(v)
	if _, ok := c[met]; !ok {
		c.copy(v, met)
	}
	v.Set(c[met].Convert(v.Type()))
}

// copy makes the copy for refer. It is known before its contents are copied, because these may
// refer to it.
func (c copier) copy(v reflect.Value, met visit) {
	switch v.Kind() {
	case reflect.Pointer:
		own := reflect.New(v.Type().Elem())
		c[met] = own
		own.Elem().Set(v.Elem())
		c.deepen(own.Elem())
	case reflect.Slice:
		own := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		c[met] = own
		reflect.Copy(own, v)
		c.elements(own)
	case reflect.Map:
		own := reflect.MakeMapWithSize(v.Type(), v.Len())
		c[met] = own
		for all := v.MapRange(); all.Next(); {
			value := addressable(all.Value())
			c.deepen(value)
			own.SetMapIndex(all.Key(), value)
		}
	}
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
