package decode

import (
	stdjson "encoding/json"
	"reflect"
)

// Unlimited is the limit for values of any size.
const Unlimited = 1<<63 - 1

// A decoded object may take memoryFactor times its limit of encoded bytes, or leastMemory if
// that is more, so that a small struct fits a tiny limit. Usual objects take twice the size of
// their JSON. For 1.5 MiB of the smallest legal parts the estimate is 126 MiB.
const (
	memoryFactor = 8
	leastMemory  = 1 << 20
)

const (
	// valueWeight is the largest memory in bytes for one byte of JSON, not counting structs,
	// maps and elements. The worst case is an untyped number of one digit, which is boxed.
	valueWeight = 4
	// mapWeight is the size of a map with one entry.
	mapWeight = 320
)

// weights estimates the memory of an object from its JSON. Two bytes of JSON, {}, can become a
// struct of 400 bytes, so a limit of the JSON alone does not bound the memory. Immutable.
type weights struct {
	most   int64 // bytes that an object may take; Unlimited if there is no limit
	scalar int64 // the largest element or entry that is not a struct
	member int64 // the largest element or entry, including those made by null
	object int64 // the largest struct or map
}

// MostMemory returns the number of bytes that a decoded object may take, or Unlimited. limit is the
// largest number of bytes of its JSON.
func MostMemory(limit int64) int64 {
	if limit > Unlimited/memoryFactor {
		return Unlimited
	}
	return max(leastMemory, memoryFactor*limit)
}

// weightsOf returns the weights of objects of type t, which may take most bytes.
func weightsOf(t reflect.Type, most int64) weights {
	w := weights{most: most}
	w.visit(t, map[reflect.Type]bool{})
	return w
}

// visit records the sizes of all types that a value of type t can hold.
func (w *weights) visit(t reflect.Type, seen map[reflect.Type]bool) {
	if seen[t] {
		return
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Struct:
		for i := range t.NumField() {
			w.visit(t.Field(i).Type, seen)
		}
	case reflect.Slice, reflect.Array:
		w.holds(t.Elem(), int64(t.Elem().Size()))
		w.visit(t.Elem(), seen)
	case reflect.Pointer:
		w.object = max(w.object, int64(t.Elem().Size()))
		w.visit(t.Elem(), seen)
	case reflect.Map:
		w.holds(t.Elem(), entryWeight(t))
		w.object = max(w.object, mapWeight)
		w.visit(t.Elem(), seen)
	case reflect.Interface:
		w.object = max(w.object, mapWeight)
	}
}

// holds records the size of an element or entry that holds a t.
func (w *weights) holds(t reflect.Type, size int64) {
	if t.Kind() != reflect.Struct || reflect.PointerTo(t).Implements(reflect.TypeFor[stdjson.Unmarshaler]()) {
		w.scalar = max(w.scalar, size)
	}
	w.member = max(w.member, size)
	w.object = max(w.object, size)
}

// entryWeight returns the size of a map's entry plus the same amount of free room. Go's maps
// keep elements of more than 128 bytes behind a pointer.
func entryWeight(t reflect.Type) int64 {
	key, elem := int64(t.Key().Size()), int64(t.Elem().Size())
	if elem > 128 {
		return 2*(key+8) + elem
	}
	return 2 * (key + elem)
}

// checkJSON returns ErrOverLimit if an object may take too much memory. Its estimate from the JSON
// is never too low. It only counts in detail if the JSON is large enough to matter.
func (w *weights) checkJSON(raw []byte) error {
	n := int64(len(raw))
	if w.most == Unlimited || n <= w.most/(valueWeight+max(w.scalar, w.object)) {
		return nil
	}
	if n*valueWeight+w.parts(raw) > w.most {
		return ErrOverLimit
	}
	return nil
}

// parts estimates the memory of structs, maps and elements.
func (w *weights) parts(raw []byte) (bytes int64) {
	for i := 0; i < len(raw); i++ {
		switch raw[i] {
		case ',', '[':
			bytes += w.scalar
		case '{':
			bytes += w.object
		case 'n': // of null
			bytes += w.member
		case '"':
			i = skipJSON(raw, i) - 1
		}
	}
	return bytes
}
