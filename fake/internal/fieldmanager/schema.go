package fieldmanager

import (
	"cmp"
	"encoding"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// typesOf describes how server-side apply merges objects of a Go struct. It goes by the tags
// patchStrategy and patchMergeKey, which strategic merge patches use. The OpenAPI schema of the
// API server knows more, but the tags agree with it about most lists: the items of a list to be
// merged are owned one by one. Other lists are owned as a whole, and so are values of types that
// encode themselves. If the struct is open, an object may have more members, and their form decides.
func typesOf(kind schema.GroupVersionKind, typ reflect.Type, open bool) (managedfields.TypeConverter, error) {
	b := &builder{schemas: map[string]*spec.Schema{}, names: map[reflect.Type]string{}}
	root := whole()
	if encodesItself(typ) {
		b.schemas["object"] = root
	} else {
		root = b.schemas[b.object(typ)]
	}
	root.AddExtension("x-kubernetes-group-version-kind", []any{
		map[string]any{"group": kind.Group, "version": kind.Version, "kind": kind.Kind},
	})
	for _, name := range []string{"apiVersion", "kind", "metadata"} { // the struct need not have them
		if _, ok := root.Properties[name]; !ok {
			root.SetProperty(name, *whole())
		}
	}
	if open {
		root.AdditionalProperties = &spec.SchemaOrBool{Allows: true}
	}
	return managedfields.NewTypeConverter(b.schemas, false)
}

// builder makes OpenAPI schemas. Schemas of structs have names, because a struct may contain itself.
type builder struct {
	schemas map[string]*spec.Schema
	names   map[reflect.Type]string
}

// whole returns the schema of any value, which is owned as a whole.
func whole() *spec.Schema {
	s := &spec.Schema{}
	s.AddExtension("x-kubernetes-map-type", "atomic")
	return s
}

// value returns the schema of a value. tag belongs to the field that holds the value.
func (b *builder) value(typ reflect.Type, tag reflect.StructTag) *spec.Schema {
	typ = indirect(typ)
	if encodesItself(typ) {
		return whole().AsNullable()
	}
	s := &spec.Schema{}
	switch typ.Kind() {
	case reflect.Interface:
		s = whole()
	case reflect.String:
		s.Typed("string", "")
	case reflect.Bool:
		s.Typed("boolean", "")
	case reflect.Struct:
		s = spec.RefProperty("#/components/schemas/" + b.object(typ))
	case reflect.Map:
		s = spec.MapProperty(b.value(typ.Elem(), ""))
	case reflect.Slice, reflect.Array:
		if typ.Elem().Kind() == reflect.Uint8 {
			s.Typed("string", "byte")
		} else {
			s = b.list(typ.Elem(), tag)
		}
	default:
		s.Typed("number", "")
	}
	return s.AsNullable()
}

func (b *builder) list(item reflect.Type, tag reflect.StructTag) *spec.Schema {
	s := spec.ArrayProperty(b.value(item, ""))
	keys, merged := mergeKeys(item, tag)
	switch {
	case !merged:
		s.AddExtension("x-kubernetes-list-type", "atomic")
	case keys == nil:
		s.AddExtension("x-kubernetes-list-type", "set")
	default:
		s.AddExtension("x-kubernetes-list-type", "map")
		s.AddExtension("x-kubernetes-list-map-keys", keys)
	}
	return s
}

// object returns the name of a struct's schema.
func (b *builder) object(typ reflect.Type) string {
	if name, ok := b.names[typ]; ok {
		return name
	}
	name := strconv.Itoa(len(b.names))
	s := &spec.Schema{}
	b.names[typ], b.schemas[name] = name, s
	s.Typed("object", "")
	s.AdditionalProperties = &spec.SchemaOrBool{} // unknown fields are refused
	for name, m := range membersOf(typ) {
		s.SetProperty(name, *b.value(m.typ, m.tag).WithDefault(m.standard))
	}
	return name
}

// mergeKeys reports whether the items of a list are merged, and returns the keys by which they are found: nil if
// they are scalars.
func mergeKeys(item reflect.Type, tag reflect.StructTag) (keys []string, merged bool) {
	if !slices.Contains(strings.Split(tag.Get("patchStrategy"), ","), "merge") {
		return nil, false
	}
	item = indirect(item)
	key := tag.Get("patchMergeKey")
	switch {
	case (key != "") != (item.Kind() == reflect.Struct):
		return nil, false // a struct without a key, or a key of no struct
	case key == "":
		return nil, true
	case isPort(item):
		return []string{key, "protocol"}, true
	}
	return []string{key}, true
}

// isPort reports whether the protocol is a second key of such items. The tag has room for one
// key only.
func isPort(item reflect.Type) bool {
	f, ok := item.FieldByName("Protocol")
	return ok && strings.HasSuffix(item.Name(), "Port") && f.Type.Kind() == reflect.String
}

// member is one of the members that a struct has in JSON.
type member struct {
	typ      reflect.Type
	tag      reflect.StructTag
	standard any // the default; nil for none
}

// membersOf returns the members of a struct, including the members of embedded structs.
func membersOf(typ reflect.Type) map[string]member {
	out, port := map[string]member{}, isPort(typ)
	for i := range typ.NumField() {
		f := typ.Field(i)
		name, opts, _ := strings.Cut(f.Tag.Get("json"), ",")
		inner := f.Type
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		switch {
		case name == "-" && opts == "":
		case name == "" && (f.Anonymous || strings.Contains(opts, "inline")) && inner.Kind() == reflect.Struct:
			maps.Copy(out, membersOf(inner))
		case f.IsExported():
			m := member{typ: f.Type, tag: f.Tag}
			name = cmp.Or(name, f.Name)
			switch {
			case port && name == "protocol":
				m.standard = "TCP"
			case !strings.Contains(opts, "omit"):
				m.standard = zeroOf(f.Type)
			}
			out[name] = m
		}
	}
	return out
}

func indirect(typ reflect.Type) reflect.Type {
	for typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	return typ
}

// encodesItself reports whether typ has its own methods for JSON or text.
func encodesItself(typ reflect.Type) bool {
	for _, t := range []reflect.Type{typ, reflect.PointerTo(typ)} {
		if t.Implements(reflect.TypeFor[json.Marshaler]()) || t.Implements(reflect.TypeFor[encoding.TextMarshaler]()) {
			return true
		}
	}
	return false
}

// zeroOf returns the default that OpenAPI gives to required scalars, and nil for other types.
func zeroOf(typ reflect.Type) any {
	switch kind := typ.Kind(); {
	case encodesItself(typ):
		return nil
	case kind == reflect.String:
		return ""
	case kind == reflect.Bool:
		return false
	case kind >= reflect.Int && kind <= reflect.Uint64:
		return int64(0)
	}
	return nil
}
