package sharing

import (
	"math"
	"reflect"
	"unsafe"

	"k8s.io/apimachinery/pkg/api/resource"
)

// equal reports whether two parts of a type are equal. Inner parts are shared already, so they
// are equal only if they are identical.
func (n *node) equal(a, b unsafe.Pointer, length int) bool {
	switch n.kind {
	case pointer:
		return n.elem.same(a, b)
	case slice:
		if n == anyList {
			return equalLists(*(*[]any)(a), *(*[]any)(b))
		}
		for i := range uintptr(length) {
			if !n.elem.same(unsafe.Add(a, i*n.elem.size), unsafe.Add(b, i*n.elem.size)) {
				return false
			}
		}
		return true
	case text: // in an any
		return *(*string)(a) == *(*string)(b)
	case texts:
		return equalMaps(n.elem, *(*map[string]string)(unsafe.Pointer(&a)), *(*map[string]string)(unsafe.Pointer(&b)))
	case quantities:
		return equalMaps(n.elem, *(*map[string]resource.Quantity)(unsafe.Pointer(&a)), *(*map[string]resource.Quantity)(unsafe.Pointer(&b)))
	case tree:
		return equalTrees(*(*map[string]any)(unsafe.Pointer(&a)), *(*map[string]any)(unsafe.Pointer(&b)))
	}
	return n.equalMapping(reflect.NewAt(n.typ, unsafe.Pointer(&a)).Elem(), reflect.NewAt(n.typ, unsafe.Pointer(&b)).Elem())
}

// same compares two values that may hold parts.
func (n *node) same(a, b unsafe.Pointer) bool {
	switch n.kind {
	case memory:
		return unsafe.String((*byte)(a), n.size) == unsafe.String((*byte)(b), n.size)
	case text:
		return *(*string)(a) == *(*string)(b)
	case record:
		for i := range n.fields {
			f := &n.fields[i]
			if !f.node.same(unsafe.Add(a, f.offset), unsafe.Add(b, f.offset)) {
				return false
			}
		}
		return true
	case slice:
		x, y := (*sliceHeader)(a), (*sliceHeader)(b)
		return x.data == y.data && x.len == y.len
	case dynamic:
		return sameDynamic((*any)(a), (*any)(b))
	}
	return *(*unsafe.Pointer)(a) == *(*unsafe.Pointer)(b)
}

func equalMaps[V any](elem *node, a, b map[string]V) bool {
	if len(a) != len(b) {
		return false
	}
	x, y := new(V), new(V)
	for k, v := range a {
		w, ok := b[k]
		if *x, *y = v, w; !ok || !elem.same(unsafe.Pointer(x), unsafe.Pointer(y)) {
			return false
		}
	}
	return true
}

func (n *node) equalMapping(a, b reflect.Value) bool {
	if a.Len() != b.Len() {
		return false
	}
	x, y := reflect.New(n.typ.Elem()), reflect.New(n.typ.Elem())
	for it := a.MapRange(); it.Next(); {
		other := b.MapIndex(it.Key())
		if !other.IsValid() {
			return false
		}
		x.Elem().Set(it.Value())
		y.Elem().Set(other)
		if !n.elem.same(x.UnsafePointer(), y.UnsafePointer()) {
			return false
		}
	}
	return true
}

func equalTrees(a, b map[string]any) bool {
	if len(a) != len(b) {
		return false
	}
	for k, v := range a {
		if w, ok := b[k]; !ok || !sameDynamic(&v, &w) {
			return false
		}
	}
	return true
}

func equalLists(a, b []any) bool {
	if len(a) != len(b) || (a == nil) != (b == nil) {
		return false
	}
	for i := range a {
		if !sameDynamic(&a[i], &b[i]) {
			return false
		}
	}
	return true
}

func sameDynamic(a, b *any) bool {
	x, y := (*eface)(unsafe.Pointer(a)), (*eface)(unsafe.Pointer(b))
	if x.typ != y.typ {
		return false
	}
	switch v := (*a).(type) {
	case bool:
		return v == (*b).(bool)
	case int64:
		return v == (*b).(int64)
	case float64:
		return math.Float64bits(v) == math.Float64bits((*b).(float64))
	case string:
		return v == (*b).(string)
	}
	return x.data == y.data
}
