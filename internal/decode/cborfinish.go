package decode

import (
	"encoding"
	stdjson "encoding/json"
	"reflect"

	"github.com/fxamacker/cbor/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinform/kinform/internal/kubeproto"
)

// finisher completes an object that the library has decoded. It turns the CBOR that metav1.FieldsV1
// and runtime.RawExtension keep into JSON, drops managedFields, and shares strings.
type finisher struct {
	needs   map[reflect.Type]need // of each type that has any
	drop    bool                  // of managedFields
	strings *kubeproto.Strings    // nil if none are shared
	json    jsonWriter
}

// need says what a value can hold.
type need byte

const (
	rawCBOR need = 1 << iota
	texts
)

// needsOf returns the needs in objects of type t.
func needsOf(t reflect.Type) map[reflect.Type]need {
	f := finisher{needs: map[reflect.Type]need{}}
	for known := need(0); ; { // until recursive types have the needs of their parts
		before := len(f.needs)
		now := f.visit(t, map[reflect.Type]bool{})
		if now == known && len(f.needs) == before {
			return f.needs
		}
		known = now
	}
}

var (
	fieldsType  = reflect.TypeFor[metav1.FieldsV1]()
	rawType     = reflect.TypeFor[runtime.RawExtension]()
	managedType = reflect.TypeFor[[]metav1.ManagedFieldsEntry]()
)

// visit records the needs of t and of all types in it.
func (f *finisher) visit(t reflect.Type, seen map[reflect.Type]bool) need {
	if seen[t] {
		return f.needs[t]
	}
	seen[t] = true
	var n need
	switch {
	case t == fieldsType || t == rawType:
		n = rawCBOR
	case decodesItself(t):
	case t.Kind() == reflect.String, t.Kind() == reflect.Interface && t.NumMethod() == 0:
		n = texts
	case t.Kind() == reflect.Map:
		n = f.visit(t.Key(), seen) | f.visit(t.Elem(), seen)
	case t.Kind() == reflect.Pointer, t.Kind() == reflect.Slice, t.Kind() == reflect.Array:
		n = f.visit(t.Elem(), seen)
	case t.Kind() == reflect.Struct:
		for field := range t.Fields() {
			if field.IsExported() {
				n |= f.visit(field.Type, seen)
			}
		}
	}
	if n != 0 {
		f.needs[t] |= n
	}
	return n
}

func decodesItself(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return p.Implements(reflect.TypeFor[cbor.Unmarshaler]()) || p.Implements(reflect.TypeFor[stdjson.Unmarshaler]()) ||
		p.Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

// value finishes a value that can be set.
func (f *finisher) value(v reflect.Value) error {
	n := f.needs[v.Type()]
	if f.strings == nil {
		n &= rawCBOR
	}
	if n == 0 {
		return nil
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(f.strings.Intern(v.String()))
	case reflect.Interface:
		if !v.IsNil() {
			v.Set(reflect.ValueOf(f.untyped(v.Interface())))
		}
	case reflect.Pointer:
		if !v.IsNil() {
			return f.value(v.Elem())
		}
	case reflect.Slice, reflect.Array:
		if f.drop && v.Type() == managedType {
			v.SetZero()
			return nil
		}
		for i := range v.Len() {
			if err := f.value(v.Index(i)); err != nil {
				return err
			}
		}
	case reflect.Map:
		return f.mapping(v)
	case reflect.Struct:
		return f.structure(v)
	}
	return nil
}

// structure finishes a struct, which may be one that keeps CBOR.
func (f *finisher) structure(v reflect.Value) (err error) {
	switch kept := v.Addr().Interface().(type) {
	case *metav1.FieldsV1:
		raw, err := f.json.transcode(kept.GetRawBytes())
		if len(raw) > 0 {
			kept.SetRawBytes(raw)
		}
		return err
	case *runtime.RawExtension:
		kept.Raw, err = f.json.transcode(kept.Raw)
		return err
	}
	for i := range v.NumField() {
		if field := v.Field(i); field.CanSet() {
			if err := f.value(field); err != nil {
				return err
			}
		}
	}
	return nil
}

// mapping finishes a map. To set an entry also replaces its key, as Go's maps do for strings.
func (f *finisher) mapping(v reflect.Value) error {
	if m, ok := v.Interface().(map[string]any); ok {
		f.untyped(m)
		return nil
	}
	key, elem := reflect.New(v.Type().Key()).Elem(), v.Type().Elem()
	for entries := v.MapRange(); entries.Next(); {
		to := reflect.New(elem).Elem()
		key.SetIterKey(entries)
		to.SetIterValue(entries)
		if err := f.value(key); err != nil {
			return err
		}
		if err := f.value(to); err != nil {
			return err
		}
		v.SetMapIndex(key, to)
	}
	return nil
}

// untyped shares the strings of an untyped value.
func (f *finisher) untyped(v any) any {
	switch v := v.(type) {
	case string:
		return f.strings.Intern(v)
	case []any:
		for i := range v {
			v[i] = f.untyped(v[i])
		}
	case map[string]any:
		for name, value := range v {
			v[f.strings.Intern(name)] = f.untyped(value)
		}
	}
	return v
}
