package fieldmanager

import (
	"encoding"
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/schema"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

// The names of types of any JSON value. One of anyType is owned as a whole. Maps of formType are
// owned member by member, at any depth.
const (
	anyType  = "any"
	formType = "form"
)

// schemaOf describes how server-side apply merges objects of a Go struct. It goes by the tags
// patchStrategy and patchMergeKey, which strategic merge patches use. The OpenAPI schema of the
// API server knows more, but the tags agree with it about most lists: the items of a list to be
// merged are owned one by one. Other lists are owned as a whole, and so are values of types that
// encode themselves.
func schemaOf(typ reflect.Type) typed.ParseableType {
	b := newSchemaBuilder()
	root := b.root(typ)
	return b.of(root)
}

// untypedSchema describes objects without a Go type: their metadata is known, and the form of the
// object decides about the rest.
func untypedSchema() typed.ParseableType {
	b := newSchemaBuilder()
	free, form, whole := schema.Untyped, schema.TypeRef{NamedType: ptr(formType)}, schema.TypeRef{NamedType: ptr(anyType)}
	b.types = append(b.types, schema.TypeDef{Name: formType, Atom: schema.Atom{
		Scalar: &free,
		List:   &schema.List{ElementType: whole, ElementRelationship: schema.Atomic},
		Map:    &schema.Map{ElementType: form, ElementRelationship: schema.Separable},
	}})
	root := b.root(reflect.TypeFor[struct {
		metav1.ObjectMeta `json:"metadata"`
	}]())
	for _, t := range b.types {
		if t.Name == *root.NamedType {
			t.Map.ElementType, t.Map.ElementRelationship = form, schema.Separable
		}
	}
	return b.of(root)
}

// schemaBuilder collects the named types of a schema.
type schemaBuilder struct {
	types []schema.TypeDef
	names map[reflect.Type]string
}

func newSchemaBuilder() *schemaBuilder {
	b := &schemaBuilder{names: map[reflect.Type]string{}}
	whole, free := schema.Atomic, schema.Untyped
	self := schema.TypeRef{NamedType: ptr(anyType)}
	b.types = append(b.types, schema.TypeDef{Name: anyType, Atom: schema.Atom{
		Scalar: &free,
		List:   &schema.List{ElementType: self, ElementRelationship: whole},
		Map:    &schema.Map{ElementType: self, ElementRelationship: whole},
	}})
	return b
}

// of returns the type root of the schema.
func (b *schemaBuilder) of(root schema.TypeRef) typed.ParseableType {
	return typed.ParseableType{TypeRef: root, Schema: &schema.Schema{Types: b.types}}
}

func ptr[V any](v V) *V { return &v }

func scalar(s schema.Scalar) schema.TypeRef {
	return schema.TypeRef{Inlined: schema.Atom{Scalar: &s}, Nullable: true}
}

// root returns the type of an object. The type has a kind and metadata even if the struct has none.
func (b *schemaBuilder) root(typ reflect.Type) schema.TypeRef {
	root := b.ref(typ, "")
	for i := range b.types {
		if root.NamedType == nil || b.types[i].Name != *root.NamedType || b.types[i].Map == nil {
			continue
		}
		for _, name := range []string{"apiVersion", "kind", "metadata"} {
			m := b.types[i].Map
			if !slices.ContainsFunc(m.Fields, func(f schema.StructField) bool { return f.Name == name }) {
				m.Fields = append(m.Fields, schema.StructField{Name: name, Type: schema.TypeRef{NamedType: ptr(anyType)}})
			}
		}
	}
	return root
}

// ref returns the type of a value. tag belongs to the field that holds the value.
func (b *schemaBuilder) ref(typ reflect.Type, tag reflect.StructTag) schema.TypeRef {
	for typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	if encodesItself(typ) {
		return schema.TypeRef{NamedType: ptr(anyType), Nullable: true}
	}
	switch typ.Kind() {
	case reflect.String:
		return scalar(schema.String)
	case reflect.Bool:
		return scalar(schema.Boolean)
	case reflect.Struct:
		return schema.TypeRef{NamedType: ptr(b.object(typ)), Nullable: true}
	case reflect.Map:
		return schema.TypeRef{Nullable: true, Inlined: schema.Atom{Map: &schema.Map{
			ElementType: b.ref(typ.Elem(), ""), ElementRelationship: schema.Separable,
		}}}
	case reflect.Slice, reflect.Array:
		if typ.Elem().Kind() == reflect.Uint8 {
			return scalar(schema.String)
		}
		return schema.TypeRef{Nullable: true, Inlined: schema.Atom{List: b.list(typ.Elem(), tag)}}
	case reflect.Interface:
		return schema.TypeRef{NamedType: ptr(anyType), Nullable: true}
	}
	return scalar(schema.Numeric)
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

func (b *schemaBuilder) list(item reflect.Type, tag reflect.StructTag) *schema.List {
	l := &schema.List{ElementType: b.ref(item, ""), ElementRelationship: schema.Atomic}
	if !slices.Contains(strings.Split(tag.Get("patchStrategy"), ","), "merge") {
		return l
	}
	for item.Kind() == reflect.Pointer {
		item = item.Elem()
	}
	key := tag.Get("patchMergeKey")
	if (key != "") != (item.Kind() == reflect.Struct) {
		return l // a struct without a key, or a key of no struct
	}
	l.ElementRelationship = schema.Associative
	if key != "" {
		l.Keys = []string{key}
		if isPort(item) {
			l.Keys = append(l.Keys, "protocol")
		}
	}
	return l
}

// isPort reports whether the protocol is a second key of such items. The tag has room for one
// key only.
func isPort(item reflect.Type) bool {
	f, ok := item.FieldByName("Protocol")
	return ok && strings.HasSuffix(item.Name(), "Port") && f.Type.Kind() == reflect.String
}

// object returns the name of a struct's type. The struct may contain itself.
func (b *schemaBuilder) object(typ reflect.Type) string {
	if name, ok := b.names[typ]; ok {
		return name
	}
	name := typ.String() + "#" + strconv.Itoa(len(b.names))
	b.names[typ] = name
	m := &schema.Map{} // without an element type, so unknown fields are refused
	b.fields(m, typ)
	b.types = append(b.types, schema.TypeDef{Name: name, Atom: schema.Atom{Map: m}})
	return name
}

func (b *schemaBuilder) fields(m *schema.Map, typ reflect.Type) {
	port := isPort(typ)
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
			b.fields(m, inner)
		case !f.IsExported():
		default:
			if name == "" {
				name = f.Name
			}
			field := schema.StructField{Name: name, Type: b.ref(f.Type, f.Tag)}
			switch {
			case port && name == "protocol":
				field.Default = "TCP"
			case !strings.Contains(opts, "omit"):
				field.Default = zeroOf(f.Type)
			}
			m.Fields = append(m.Fields, field)
		}
	}
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
