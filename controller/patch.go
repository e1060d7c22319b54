package controller

import (
	"encoding"
	"encoding/json"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/types"
)

// patch is the body of a PATCH request.
type patch struct {
	form types.PatchType
	data []byte
	// guesses are the structs that the server may have or not, contrary to what the patch assumes.
	// Then the patch does not fit, and the server refuses it.
	guesses []jsonPointer
}

// merged returns a merge patch (RFC 7386) with steps that are not unmergeable.
func merged(steps []step, version string) tree {
	all := tree{"metadata": tree{"resourceVersion": version}}
	for _, s := range steps {
		inner, last := all, len(s.Path)-1
		for _, name := range s.Path[:last] {
			next, ok := inner[name].(tree)
			if !ok {
				next = tree{}
				inner[name] = next
			}
			inner = next
		}
		inner[s.Path[last]] = s.Value
	}
	return all
}

// step is an operation of a JSON patch (RFC 6902).
type step struct {
	Op    string      `json:"op"`
	From  jsonPointer `json:"from,omitempty"`
	Path  jsonPointer `json:"path"`
	Value any         `json:"value,omitempty"` // never nil if the operation has one: see null
}

// null is the value null.
var null = json.RawMessage("null")

// orNull returns a value of JSON as the value of a step.
func orNull(value any) any {
	if value == nil {
		return null
	}
	return value
}

// testVersion is the step that fails if the object has another version.
func testVersion(version string) step {
	return step{Op: "test", Path: jsonPointer{"metadata", "resourceVersion"}, Value: version}
}

// jsonPointer is a JSON pointer (RFC 6901).
type jsonPointer []string

// to returns the pointer to a member or an element of what p points to.
func (p jsonPointer) to(name string) jsonPointer {
	return append(p[:len(p):len(p)], name)
}

var escapes = strings.NewReplacer("~", "~0", "/", "~1")

func (p jsonPointer) String() string {
	var text strings.Builder
	for _, name := range p {
		text.WriteByte('/')
		text.WriteString(escapes.Replace(name))
	}
	return text.String()
}

// MarshalText implements encoding.TextMarshaler.
func (p jsonPointer) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// typeAt returns the Go type that holds what is at a pointer in the JSON of a t, nil if that is not
// known.
func typeAt(t reflect.Type, at jsonPointer) reflect.Type {
	for _, name := range at {
		if t == nil {
			return nil
		}
		for t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		switch {
		case encodesItself(t):
			return nil
		case t.Kind() == reflect.Struct:
			t = fieldType(t, name)
		case t.Kind() == reflect.Map || t.Kind() == reflect.Slice || t.Kind() == reflect.Array:
			t = t.Elem()
		default:
			return nil
		}
	}
	return t
}

// fieldType returns the type of the field of struct t that has a name in JSON.
func fieldType(t reflect.Type, name string) (found reflect.Type) {
	for i := range t.NumField() {
		if f := t.Field(i); isNamed(&f, name) {
			return f.Type
		}
	}
	depth := 0
	for _, f := range reflect.VisibleFields(t) { // those of embedded structs, too
		if isNamed(&f, name) && (found == nil || len(f.Index) < depth) {
			found, depth = f.Type, len(f.Index)
		}
	}
	return found
}

// isNamed reports whether a field has a name in JSON.
func isNamed(f *reflect.StructField, name string) bool {
	tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return tag == name || tag == "" && !f.Anonymous && f.Name == name
}

// isOmittable reports whether a member of type t of an object of type in is a struct in a struct: it may
// be left out because it is zero, and not because it is not there.
func isOmittable(in, t reflect.Type) bool {
	for in != nil && in.Kind() == reflect.Pointer {
		in = in.Elem()
	}
	return isPlainStruct(in) && isPlainStruct(t)
}

// isPlainStruct reports whether t is a struct, and not a pointer to one, whose fields are in JSON.
func isPlainStruct(t reflect.Type) bool {
	return t != nil && t.Kind() == reflect.Struct && !encodesItself(t)
}

// isVerbatim reports whether a list of type t has the elements that the server has, in their order. A
// type with methods for JSON may sort them, or leave some out, and an array shows zeros for elements
// that the server lacks. Unknown types show all there is.
func isVerbatim(t reflect.Type) bool {
	return t == nil || t.Kind() != reflect.Array && !encodesItself(t) && !reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]())
}

// encodesItself reports whether the JSON of a t does not follow from its fields.
func encodesItself(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return p.Implements(reflect.TypeFor[json.Marshaler]()) || p.Implements(reflect.TypeFor[encoding.TextMarshaler]())
}
