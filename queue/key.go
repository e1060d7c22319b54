package queue

import "reflect"

// alwaysEqualsItself says whether every value of a comparable type can be found again in a map. Those with floating
// point numbers (NaN) and interfaces (with an incomparable value: comparing panics) cannot.
func alwaysEqualsItself(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Float32, reflect.Float64, reflect.Complex64, reflect.Complex128, reflect.Interface:
		return false
	case reflect.Array:
		return alwaysEqualsItself(t.Elem())
	case reflect.Struct:
		for f := range t.Fields() {
			if !alwaysEqualsItself(f.Type) {
				return false
			}
		}
	}
	return true
}

// equalsItself says whether a key can be a map key. Comparing takes the part of hashing: both panic for the same values.
func equalsItself[K comparable](key K) (ok bool) {
	defer func() { _ = recover() }()
	same := key
	return key == same // false for a NaN
}

// usable refuses keys that cannot be map keys, before any lock is taken.
func (q *Queue[K]) usable(key K) bool { return !q.checked || q.checkKey(key) }

// checkKey is the slow part of usable, apart so that usable is inlined.
func (q *Queue[K]) checkKey(key K) bool {
	if equalsItself(key) {
		return true
	}
	q.report(key, ErrBadKey)
	return false
}
