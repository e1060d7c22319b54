// Package mapkey tells which types can be the keys of a map. A value that does not equal
// itself (NaN) is never found again in a map, and a value in an interface may be one that
// panics when it is compared. Both are properties of the type, so constructors refuse such
// types once and no method has to look at a key.
package mapkey

import (
	"errors"
	"fmt"
	"reflect"
)

// ErrKeyType is in the errors of [Check]. Packages that return them export it.
var ErrKeyType = errors.New("type cannot be a key")

// Check returns nil if every value of K equals itself, so that a map finds it again. If not,
// the error wraps [ErrKeyType] and names the type and the part of it that is at fault.
// O(fields of K), by reflection.
func Check[K comparable]() error {
	t := reflect.TypeFor[K]()
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

// Must panics with what [Check] returns. It is for constructors without an error result: the
// type is fixed when the program is compiled, so the call panics always or never.
func Must[K comparable]() {
	if err := Check[K](); err != nil {
		panic(err)
	}
}

// fault returns the first part of t that has values which do not equal themselves, and the
// path to it; nil if there is none.
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
		for field := range t.Fields() {
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
