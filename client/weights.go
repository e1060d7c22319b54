package client

import (
	stdjson "encoding/json"
	"reflect"
)

const (
	// valueWeight is what a byte of JSON takes at most beside the structs, maps and elements:
	// a number of one digit and its comma, which is boxed where it is untyped.
	valueWeight = 4
	// mapWeight is what a map of one entry takes.
	mapWeight = 320
)

// weights are what the parts of an object take in memory. A few bytes of JSON, such as {},
// may stand for a struct of 400 bytes, so a limit of JSON does not limit that. Immutable.
type weights struct {
	most   int64 // bytes that an object may take; unlimited for no limit
	scalar int64 // the largest element or entry that is no struct
	member int64 // the largest element or entry, which null makes too
	object int64 // the largest struct or map
}

func newWeights(t reflect.Type, limit int64) weights {
	w := weights{most: unlimited}
	if limit <= unlimited/memoryFactor {
		w.most = max(leastMemory, memoryFactor*limit)
	}
	w.visit(t, map[reflect.Type]bool{})
	return w
}

// visit looks at everything that a t can hold.
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

// holds takes note of an element or entry with a t.
func (w *weights) holds(t reflect.Type, size int64) {
	if t.Kind() != reflect.Struct || reflect.PointerTo(t).Implements(reflect.TypeFor[stdjson.Unmarshaler]()) {
		w.scalar = max(w.scalar, size)
	}
	w.member = max(w.member, size)
	w.object = max(w.object, size)
}

// entryWeight is what an entry of a map takes, with as much room again. Go's maps hold what
// has more than 128 bytes by a pointer.
func entryWeight(t reflect.Type) int64 {
	key, elem := int64(t.Key().Size()), int64(t.Elem().Size())
	if elem > 128 {
		return 2*(key+8) + elem
	}
	return 2 * (key + elem)
}

// check estimates from above what an object's JSON takes in memory, and returns
// errOverLimit if that is too much. It counts only in what is large enough.
func (w *weights) check(raw []byte) error {
	n := int64(len(raw))
	if w.most == unlimited || n <= w.most/(valueWeight+max(w.scalar, w.object)) {
		return nil
	}
	if n*valueWeight+w.parts(raw) > w.most {
		return errOverLimit
	}
	return nil
}

// parts is what structs, maps and elements take.
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
