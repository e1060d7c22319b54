package fieldmanager

import (
	"maps"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/structured-merge-diff/v6/schema"
)

// fillKeys walks v at any depth. It gives the items of merged lists their keys' defaults, and
// returns an error for each key that is missing and required: those with a zero default. A field
// manager would accept an item with some of its keys; the stored item has all of them, so the next
// apply would not recognize it. In the API server, defaulting and validation of the kinds do this.
func fillKeys(types *schema.Schema, of schema.TypeRef, v any, at *field.Path) (errs field.ErrorList) {
	atom, _ := types.Resolve(of)
	switch v := v.(type) {
	case map[string]any:
		if atom.Map == nil {
			return nil
		}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			inner := atom.Map.ElementType
			if f, ok := atom.Map.FindField(name); ok {
				inner = f.Type
			}
			errs = append(errs, fillKeys(types, inner, v[name], at.Child(name))...)
		}
	case []any:
		if atom.List == nil {
			return nil
		}
		for i, item := range v {
			errs = append(errs, itemKeys(types, atom.List, item, at.Index(i))...)
			errs = append(errs, fillKeys(types, atom.List.ElementType, item, at.Index(i))...)
		}
	}
	return errs
}

// itemKeys completes and checks one item of a list.
func itemKeys(types *schema.Schema, l *schema.List, item any, at *field.Path) (errs field.ErrorList) {
	members, _ := item.(map[string]any)
	for _, key := range l.Keys {
		if members[key] != nil {
			continue
		}
		switch def := defaultOf(types, l.ElementType, key); {
		case members == nil || def != nil && reflect.ValueOf(def).IsZero():
			errs = append(errs, field.Required(at.Child(key), ""))
		case def != nil:
			members[key] = def
		}
	}
	return errs
}

// defaultOf returns the default of a member, or nil if it has none.
func defaultOf(types *schema.Schema, of schema.TypeRef, name string) any {
	atom, _ := types.Resolve(of)
	if atom.Map == nil {
		return nil
	}
	f, _ := atom.Map.FindField(name)
	return f.Default
}
