// Package mapkey finds keys that a map cannot hold: those that do not equal themselves
// (NaN), which are never found again, and those with an incomparable value in an
// interface, which panic.
package mapkey

import "reflect"

// Check tells good keys from bad ones. Set by [For] and never changed.
type Check[K comparable] struct{ needed bool }

// For returns the check for a type of keys.
func For[K comparable]() Check[K] { return Check[K]{needed: !alwaysGood(reflect.TypeFor[K]())} }

// Needed reports whether the type has keys that are not good, so that OK has to look.
func (c Check[K]) Needed() bool { return c.needed }

// OK reports whether key can be a map key. It costs next to nothing for a type of which
// all can, such as types.NamespacedName.
func (c Check[K]) OK(key K) bool { return !c.needed || good(key) }

func good[K comparable](key K) (ok bool) {
	defer func() { _ = recover() }()
	same := key
	return key == same
}

func alwaysGood(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Float32, reflect.Float64, reflect.Complex64, reflect.Complex128, reflect.Interface:
		return false
	case reflect.Array:
		return alwaysGood(t.Elem())
	case reflect.Struct:
		for field := range t.Fields() {
			if !alwaysGood(field.Type) {
				return false
			}
		}
	}
	return true
}
