// Package objsize estimates how much memory an object takes.
package objsize

import (
	"math/bits"
	"reflect"
)

const (
	// maxSteps bounds the values that one estimate looks at. Of a larger object it knows a part.
	maxSteps = 10_000
	// maxDepth bounds the nesting.
	maxDepth = 100
	// mapHead is the size of a map without its groups of 8 entries, each with 8 bytes of its own.
	mapHead   = 48
	mapGroup  = 8
	groupHead = 8
)

// Of estimates the bytes of the heap that v refers to, at most the bytes of 10,000 values. Memory
// that v shares with others, such as interned strings, counts in full; memory that two parts of v
// share counts once if it is found by a pointer. Fields that are not exported count without what
// they refer to: their owner may change them at any time. Nothing of v's own code runs. Cost: some
// 10 ns per value.
func Of(v any) uint64 {
	if v == nil {
		return 0
	}
	w := walk{}
	r := reflect.ValueOf(v)
	if r.Kind() != reflect.Pointer && r.Kind() != reflect.Map { // it is boxed somewhere, or stored as it is
		w.bytes = uint64(r.Type().Size())
	}
	w.value(r, 0)
	return w.bytes
}

type walk struct {
	bytes uint64
	steps int
	seen  map[uintptr]bool // pointers and maps, from the second on
	first uintptr
}

// again reports whether the memory at p was counted, and notes that it was.
func (w *walk) again(p uintptr) bool {
	switch {
	case p == w.first || w.seen[p]:
		return true
	case w.first == 0:
		w.first = p
	case w.seen == nil:
		w.seen = map[uintptr]bool{p: true}
	default:
		w.seen[p] = true
	}
	return false
}

// value counts the memory that v refers to, and not v itself.
func (w *walk) value(v reflect.Value, depth int) {
	if w.steps++; w.steps > maxSteps || depth > maxDepth {
		return
	}
	switch v.Kind() {
	case reflect.String:
		w.bytes += rounded(uint64(v.Len()))
	case reflect.Pointer:
		if !v.IsNil() && !w.again(v.Pointer()) {
			w.bytes += rounded(uint64(v.Type().Elem().Size()))
			w.value(v.Elem(), depth+1)
		}
	case reflect.Interface:
		if e := v.Elem(); e.IsValid() {
			if k := e.Kind(); k != reflect.Pointer && k != reflect.Map {
				w.bytes += rounded(uint64(e.Type().Size()))
			}
			w.value(e, depth+1)
		}
	case reflect.Slice:
		w.bytes += rounded(uint64(v.Cap()) * uint64(v.Type().Elem().Size()))
		w.elements(v, depth)
	case reflect.Array:
		w.elements(v, depth)
	case reflect.Map:
		w.entries(v, depth)
	case reflect.Struct:
		for i := range v.NumField() {
			if refers(v.Field(i).Kind()) && v.Type().Field(i).IsExported() {
				w.value(v.Field(i), depth+1)
			}
		}
	}
}

func (w *walk) elements(v reflect.Value, depth int) {
	if !refers(v.Type().Elem().Kind()) {
		return
	}
	for i := range v.Len() {
		if w.steps > maxSteps {
			return
		}
		w.value(v.Index(i), depth+1)
	}
}

func (w *walk) entries(v reflect.Value, depth int) {
	if v.IsNil() || w.again(v.Pointer()) {
		return
	}
	key, elem := v.Type().Key(), v.Type().Elem()
	w.bytes += mapHead + groups(v.Len())*(groupHead+mapGroup*uint64(key.Size()+elem.Size()))
	if !refers(key.Kind()) && !refers(elem.Kind()) {
		return
	}
	for it := v.MapRange(); w.steps <= maxSteps && it.Next(); {
		w.value(it.Key(), depth+1)
		w.value(it.Value(), depth+1)
	}
}

// groups returns the number of groups of a map with n entries: a power of two of which an eighth is
// free.
func groups(n int) uint64 {
	if n <= mapGroup {
		return 1
	}
	return 1 << bits.Len64(uint64(n-1)/(mapGroup-1))
}

// rounded returns the number of bytes that the allocator takes for n bytes, if n is small. Larger
// ones waste an eighth at most.
func rounded(n uint64) uint64 {
	if n > 16 {
		return (n + 15) &^ 15
	}
	return (n + 7) &^ 7
}

// refers reports whether values of a kind may refer to memory that is counted.
func refers(k reflect.Kind) bool {
	switch k {
	case reflect.String, reflect.Pointer, reflect.Interface, reflect.Slice, reflect.Array, reflect.Map, reflect.Struct:
		return true
	}
	return false
}
