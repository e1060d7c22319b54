package fieldmanager

import (
	"maps"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// fillKeys walks v, a value of a Go type, at any depth. tag belongs to the field that holds the value. It gives
// the items of merged lists their keys' defaults, and returns an error for each key that is missing and required:
// those with a zero default. A field manager would accept an item with some of its keys; the stored item has all
// of them, so the next apply would not recognize it. In the API server, defaulting and validation of the kinds do this.
func fillKeys(typ reflect.Type, tag reflect.StructTag, v any, at *field.Path) (errs field.ErrorList) {
	typ = indirect(typ)
	if encodesItself(typ) {
		return nil
	}
	switch v := v.(type) {
	case map[string]any:
		known := map[string]member{}
		if typ.Kind() == reflect.Struct {
			known = membersOf(typ)
		}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if m, ok := known[name]; ok {
				errs = append(errs, fillKeys(m.typ, m.tag, v[name], at.Child(name))...)
			} else if typ.Kind() == reflect.Map {
				errs = append(errs, fillKeys(typ.Elem(), "", v[name], at.Child(name))...)
			}
		}
	case []any:
		if typ.Kind() != reflect.Slice && typ.Kind() != reflect.Array {
			return nil
		}
		keys, _ := mergeKeys(typ.Elem(), tag)
		for i, item := range v {
			errs = append(errs, itemKeys(indirect(typ.Elem()), keys, item, at.Index(i))...)
			errs = append(errs, fillKeys(typ.Elem(), "", item, at.Index(i))...)
		}
	}
	return errs
}

// itemKeys completes and checks one item of a list. typ is its type.
func itemKeys(typ reflect.Type, keys []string, item any, at *field.Path) (errs field.ErrorList) {
	members, _ := item.(map[string]any)
	for _, key := range keys {
		if members[key] != nil {
			continue
		}
		switch standard := membersOf(typ)[key].standard; {
		case members == nil || standard != nil && reflect.ValueOf(standard).IsZero():
			errs = append(errs, field.Required(at.Child(key), ""))
		case standard != nil:
			members[key] = standard
		}
	}
	return errs
}
