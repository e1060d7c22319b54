package openapi

import (
	"encoding"
	"encoding/json"
	"reflect"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// What types say about themselves.
type (
	named      interface{ OpenAPIModelName() string }
	documented interface{ SwaggerDoc() map[string]string }
	formatted  interface {
		OpenAPISchemaType() []string
		OpenAPISchemaFormat() string
	}
	alternating interface{ OpenAPIV3OneOfTypes() []string }
)

// builder has the schemas of structs and of types that encode themselves, by name.
type builder map[string]any

func indirect(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}

// nameOf returns the name under which a type has its own schema; empty for none.
func nameOf(t reflect.Type) string {
	if own, ok := reflect.Zero(t).Interface().(named); ok {
		return own.OpenAPIModelName()
	}
	if t.Kind() != reflect.Struct || t.Name() == "" {
		return ""
	}
	return strings.ReplaceAll(t.PkgPath(), "/", ".") + "." + t.Name()
}

// ref returns the schema of a value of type t. The schema of a struct is a reference.
func (b builder) ref(t reflect.Type) map[string]any {
	t = indirect(t)
	if name := nameOf(t); name != "" {
		if b[name] == nil {
			b.add(name, t)
		}
		return map[string]any{"$ref": "#/components/schemas/" + name}
	}
	switch t.Kind() {
	case reflect.String:
		return map[string]any{"type": "string"}
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Int32, reflect.Uint32, reflect.Int16, reflect.Uint16, reflect.Int8, reflect.Uint8:
		return map[string]any{"type": "integer", "format": "int32"}
	case reflect.Int64, reflect.Int, reflect.Uint64, reflect.Uint:
		return map[string]any{"type": "integer", "format": "int64"}
	case reflect.Float64, reflect.Float32:
		return map[string]any{"type": "number", "format": "double"}
	case reflect.Slice, reflect.Array:
		if t.Elem().Kind() == reflect.Uint8 {
			return map[string]any{"type": "string", "format": "byte"}
		}
		return map[string]any{"type": "array", "items": b.ref(t.Elem())}
	case reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": b.ref(t.Elem())}
	}
	return map[string]any{"x-kubernetes-preserve-unknown-fields": true}
}

// add adds the schema of a named type. It is there before its fields are, which can lead back to
// it.
func (b builder) add(name string, t reflect.Type) {
	s := map[string]any{}
	b[name] = s
	value := reflect.New(t).Interface()
	docs := docsOf(value)
	if docs[""] != "" {
		s["description"] = docs[""]
	}
	_, encodesItself := value.(json.Marshaler)
	_, text := value.(encoding.TextMarshaler)
	switch own := value.(type) {
	case formatted:
		describe(s, own)
	case documented:
		b.addFields(s, t, docs)
	default:
		if encodesItself || text || t.Kind() != reflect.Struct {
			s["x-kubernetes-preserve-unknown-fields"] = true
			break
		}
		b.addFields(s, t, docs)
	}
	merge(s, known(name))
}

// describe adds the form that a type with its own encoding states.
func describe(s map[string]any, own formatted) {
	if format := own.OpenAPISchemaFormat(); format != "" {
		s["format"] = format
	}
	if all, ok := own.(alternating); ok {
		var of []any
		for _, one := range all.OpenAPIV3OneOfTypes() {
			of = append(of, map[string]any{"type": one})
		}
		s["oneOf"] = of
	} else if types := own.OpenAPISchemaType(); len(types) == 1 {
		s["type"] = types[0]
	}
}

func docsOf(value any) map[string]string {
	if d, ok := value.(documented); ok {
		return d.SwaggerDoc()
	}
	return nil
}

// addFields adds the fields of a struct, and says which of them an object has to have.
func (b builder) addFields(s map[string]any, t reflect.Type, docs map[string]string) {
	s["type"] = "object"
	properties, required := map[string]any{}, []any(nil)
	b.addProperties(properties, &required, t, docs)
	if len(properties) > 0 {
		s["properties"] = properties
	}
	if len(required) > 0 {
		s["required"] = required
	}
}

func (b builder) addProperties(to map[string]any, required *[]any, t reflect.Type, docs map[string]string) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch inline := f.Anonymous && name == ""; {
		case inline && indirect(f.Type).Kind() == reflect.Struct:
			inner := indirect(f.Type)
			b.addProperties(to, required, inner, docsOf(reflect.New(inner).Interface()))
			continue
		case name == "-" || !f.IsExported():
			continue
		case name == "":
			name = f.Name
		}
		p := b.property(f, t)
		if text := docs[name]; text != "" {
			p["description"] = text
		}
		if !strings.Contains(options, "omit") && f.Type.Kind() != reflect.Pointer {
			*required = append(*required, name)
			if zero := zeroOf(f.Type); zero != nil {
				p["default"] = zero
			}
		}
		if all, ok := p["allOf"].([]any); ok && len(p) == 1 {
			p = all[0].(map[string]any)
		}
		to[name] = p
	}
}

// property returns the schema of a field of struct t. Beside a reference nothing may stand, so that
// it is the only one of allOf.
func (b builder) property(f reflect.StructField, t reflect.Type) map[string]any {
	p := b.ref(f.Type)
	if p["$ref"] != nil {
		p = map[string]any{"allOf": []any{p}}
		if _, own := reflect.Zero(f.Type).Interface().(formatted); !own && f.Type.Kind() == reflect.Struct {
			p["default"] = map[string]any{}
		}
	}
	key, strategy := f.Tag.Get("patchMergeKey"), f.Tag.Get("patchStrategy")
	if key != "" {
		p["x-kubernetes-patch-merge-key"] = key
	}
	if strategy != "" {
		p["x-kubernetes-patch-strategy"] = strategy
	}
	switch {
	case p["type"] != "array" || isList(t):
	case key != "":
		p["x-kubernetes-list-type"], p["x-kubernetes-list-map-keys"] = "map", []any{key}
	case strategy == "merge":
		p["x-kubernetes-list-type"] = "set"
	default:
		p["x-kubernetes-list-type"] = "atomic"
	}
	return p
}

// isList reports whether t is a kind of lists.
func isList(t reflect.Type) bool {
	f, ok := t.FieldByName("ListMeta")
	return ok && f.Type == reflect.TypeFor[metav1.ListMeta]()
}

// zeroOf returns the default of a required field; nil for none.
func zeroOf(t reflect.Type) any {
	switch t.Kind() {
	case reflect.String:
		return ""
	case reflect.Bool:
		return false
	case reflect.Int32, reflect.Int64, reflect.Int:
		return 0
	}
	return nil
}
