package sharing

import (
	stdjson "encoding/json"
	"reflect"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Plan describes the walk over objects of one type. It is immutable and may be used by many
// goroutines.
type Plan struct {
	typ  reflect.Type
	root *node
}

// kind selects the walk over a value.
type kind uint8

const (
	memory     kind = iota // compared byte by byte, and not followed
	text                   // a string
	record                 // a struct or array: its fields
	pointer                // its target is a part, as for all kinds below
	slice                  // of anything
	texts                  // a map of strings by strings
	quantities             // a map of quantities by strings
	tree                   // a map[string]any
	mapping                // any other map
	dynamic                // an any
)

// node describes the walk over values of one Go type.
type node struct {
	kind   kind
	typ    reflect.Type
	size   uintptr
	id     uint64 // of the type
	elem   *node  // of the elements
	own    bool   // reading the target may write to it, so it is not a part
	fields []field
}

// field is a field of a record, or of one within it.
type field struct {
	offset uintptr
	node   *node
}

// Compile returns the plan for objects of type t. It takes microseconds, so keep the plan.
func Compile(t reflect.Type) *Plan {
	c := compiler{}
	return &Plan{typ: t, root: c.node(t, true)}
}

// compiler holds the nodes of the types met so far, complete or not: types may be recursive.
type compiler map[compiled]*node

type compiled struct {
	typ    reflect.Type
	follow bool
}

// node returns the node of a type. follow is false inside types that only their own methods
// understand.
func (c compiler) node(t reflect.Type, follow bool) *node {
	key := compiled{t, follow}
	if n := c[key]; n != nil {
		return n
	}
	n := &node{kind: kindOf(t, follow), typ: t, size: t.Size(), id: uint64(len(c))}
	c[key] = n
	switch n.kind {
	case record:
		n.fields = c.fields(nil, t, 0, follow)
	case pointer, slice, texts, quantities, tree, mapping:
		n.elem = c.node(t.Elem(), true)
		n.own = t.Kind() != reflect.Map && Owned(t.Elem()) // a value in a map has no address
	}
	return n
}

func kindOf(t reflect.Type, follow bool) kind {
	switch t.Kind() {
	case reflect.String:
		return text
	case reflect.Struct, reflect.Array:
		return record
	}
	if !follow {
		return memory
	}
	switch t.Kind() {
	case reflect.Pointer:
		return pointer
	case reflect.Slice:
		return slice
	case reflect.Map:
		return mapKind(t)
	case reflect.Interface:
		if t.NumMethod() == 0 {
			return dynamic
		}
	}
	return memory
}

// Owned reports whether methods of a type that seem to only read a value may write to
// it. They may if the type has unexported fields: String of a resource.Quantity keeps its
// result. Methods of a time and of a metav1.FieldsV1 do not.
func Owned(t reflect.Type) bool {
	if t.Kind() == reflect.Array {
		return Owned(t.Elem())
	}
	if t.Kind() != reflect.Struct || t == reflect.TypeFor[time.Time]() || t == reflect.TypeFor[metav1.FieldsV1]() {
		return false
	}
	for i := range t.NumField() {
		if sf := t.Field(i); !sf.IsExported() || Owned(sf.Type) {
			return true
		}
	}
	return false
}

func mapKind(t reflect.Type) kind {
	switch {
	case t.Key().Kind() != reflect.String:
		return mapping
	case t.Elem().Kind() == reflect.String:
		return texts
	case t.Elem() == reflect.TypeFor[resource.Quantity]():
		return quantities
	case t.Elem() == reflect.TypeFor[any]():
		return tree
	}
	return mapping
}

// fields appends the fields of a struct or array at an offset, with nested structs flattened.
// Adjacent fields that are plain memory become one.
func (c compiler) fields(all []field, t reflect.Type, offset uintptr, follow bool) []field {
	if t.Kind() == reflect.Array {
		for i := range uintptr(t.Len()) {
			all = c.field(all, t.Elem(), offset+i*t.Elem().Size(), follow)
		}
		return all
	}
	own := reflect.PointerTo(t).Implements(reflect.TypeFor[stdjson.Unmarshaler]())
	for i := range t.NumField() {
		sf := t.Field(i)
		bytes := sf.Type.Kind() == reflect.Slice && sf.Type.Elem().Kind() == reflect.Uint8
		// An embedded pointer may point to the kind and apiVersion, which are set later.
		shown := follow && sf.IsExported() && (!own || bytes) && !(sf.Anonymous && sf.Type.Kind() == reflect.Pointer)
		all = c.field(all, sf.Type, offset+sf.Offset, shown)
	}
	return all
}

func (c compiler) field(all []field, t reflect.Type, offset uintptr, follow bool) []field {
	if k := t.Kind(); k == reflect.Struct || k == reflect.Array {
		return c.fields(all, t, offset, follow)
	}
	n := c.node(t, follow)
	if last := len(all) - 1; n.kind == memory && last >= 0 {
		if before := all[last]; before.node.kind == memory && before.offset+before.node.size == offset {
			all[last].node = &node{kind: memory, size: before.node.size + n.size}
			return all
		}
	}
	return append(all, field{offset, n})
}
