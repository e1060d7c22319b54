// Package mapkey tells which types can be the keys of a map. A map never finds a value again
// that does not equal itself (NaN), and a value in an interface may panic when it is compared.
// Both are properties of the type. So constructors refuse such types once, and no method has
// to check a key.
package mapkey

import (
	"fmt"
	"reflect"

	"github.com/kinform/kinform/internal/mistake"
)

// ErrKeyType is in the errors of [Check]. It matches the ErrInvalid of all packages.
var ErrKeyType error = mistake.Text("type cannot be a key")

// Check returns nil if every value of K equals itself, so that a map finds it again. Otherwise
// the error wraps [ErrKeyType] and names the type and the offending part of it. O(fields of
// K), by reflection.
func Check[K comparable]() error { return check((*K)(nil)) }

// check is [Check] for a nil *K. See package typekind.
func check(pointer any) error {
	t := reflect.TypeOf(pointer).Elem()
	path, part := fault(t)
	if part == nil {
		return nil
	}
	if path == "" {
		path = "it"
	}
	reason := "whose values may not be comparable"
	if part.Kind() != reflect.Interface {
		reason = "and NaN does not equal itself"
	}
	return fmt.Errorf("%w: %v: %s is of kind %v, %s", ErrKeyType, t, path, part.Kind(), reason)
}

// Must panics with the error of [Check]. It is for constructors without an error result. The
// type is fixed at compile time, so a call panics always or never.
func Must[K comparable]() {
	if err := Check[K](); err != nil {
		panic(err)
	}
}

// fault returns the first part of t whose values may not equal themselves, and the path to it.
// It returns nil if there is none.
func fault(t reflect.Type) (path string, part reflect.Type) {
	switch t.Kind() {
	case reflect.Float32, reflect.Float64, reflect.Complex64, reflect.Complex128, reflect.Interface:
		return "", t
	case reflect.Array:
		if t.Len() > 0 {
			path, part = fault(t.Elem())
			return "[i]" + path, part
		}
	case reflect.Struct:
		for i := range t.NumField() { // t.Fields allocates
			field := t.Field(i)
			if field.Name == "_" {
				continue // == skips it
			}
			if path, part = fault(field.Type); part != nil {
				return "." + field.Name + path, part
			}
		}
	}
	return "", nil
}
