package packed

import (
	"encoding"
	stdjson "encoding/json"
	"fmt"
	"reflect"
	"strings"
)

// survey looks for what JSON does not keep in a type.
type survey struct {
	seen  map[reflect.Type]bool
	check bool // a value may encode but not decode: one with methods of users, or in an interface that has methods
}

func (s *survey) look(t reflect.Type, where string) error {
	if s.seen[t] {
		return nil
	}
	s.seen[t] = true
	if ownJSON(t) {
		s.check = s.check || !known(t)
		return nil
	}
	switch t.Kind() {
	case reflect.Func, reflect.Chan, reflect.UnsafePointer, reflect.Complex64, reflect.Complex128:
		return fmt.Errorf("%s is a %v, which JSON does not have", where, t)
	case reflect.Interface:
		s.check = s.check || t.NumMethod() > 0
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		return s.look(t.Elem(), where)
	case reflect.Struct:
		return s.fields(t, where)
	}
	return nil
}

func (s *survey) fields(t reflect.Type, where string) error {
	left := 0
	for i := range t.NumField() {
		f := t.Field(i)
		if !f.IsExported() && !f.Anonymous || f.Tag.Get("json") == "-" {
			left++
		} else if err := s.look(f.Type, where+"."+f.Name); err != nil {
			return err
		}
	}
	if left > 0 && left == t.NumField() {
		return fmt.Errorf("%s has no field that JSON keeps", where)
	}
	return nil
}

// ownJSON reports whether a type has methods for JSON.
func ownJSON(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return p.Implements(reflect.TypeFor[stdjson.Marshaler]()) || p.Implements(reflect.TypeFor[stdjson.Unmarshaler]()) ||
		p.Implements(reflect.TypeFor[encoding.TextMarshaler]()) || p.Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

// known reports whether the methods of a type are known to decode what they encode.
func known(t reflect.Type) bool {
	switch path := t.PkgPath(); path {
	case "time", "encoding/json", "math/big", "net/netip":
		return true
	default:
		return strings.HasPrefix(path, "k8s.io/")
	}
}
