package fake

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/structured-merge-diff/v6/schema"
)

// missingKeys finds the items of merged lists in v that lack one of their keys, at whatever
// depth. A field manager takes an item that states some of its keys for one of its own,
// but what is stored has them all, so that the next apply would not find it again. In the
// API server the validation of the kinds refuses such items.
func missingKeys(types *schema.Schema, of schema.TypeRef, v any, at *field.Path) (errs field.ErrorList) {
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
			errs = append(errs, missingKeys(types, inner, v[name], at.Child(name))...)
		}
	case []any:
		if atom.List == nil {
			return nil
		}
		for i, item := range v {
			errs = append(errs, itemKeys(types, atom.List, item, at.Index(i))...)
			errs = append(errs, missingKeys(types, atom.List.ElementType, item, at.Index(i))...)
		}
	}
	return errs
}

// itemKeys checks one item of a list.
func itemKeys(types *schema.Schema, l *schema.List, item any, at *field.Path) (errs field.ErrorList) {
	members, _ := item.(map[string]any)
	for _, key := range l.Keys {
		value, there := members[key]
		if value == nil && (there || !hasDefault(types, l.ElementType, key)) {
			errs = append(errs, field.Required(at.Child(key), ""))
		}
	}
	return errs
}

func hasDefault(types *schema.Schema, of schema.TypeRef, name string) bool {
	atom, _ := types.Resolve(of)
	if atom.Map == nil {
		return false
	}
	f, _ := atom.Map.FindField(name)
	return f.Default != nil
}
