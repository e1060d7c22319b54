package kubeproto

import (
	"reflect"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// unmarshaler is implemented by all types that go-to-protobuf generated code for.
type unmarshaler interface{ Unmarshal([]byte) error }

// maxField is the highest field number that is supported. Kubernetes' highest is below 50.
const maxField = 4095

// Compile returns the plan for t, a struct or a pointer to one. It fails if protobuf does not
// have all that JSON has of t: a field with a JSON name, at any depth, has no protobuf tag or
// a type that no tag can describe, and no Unmarshal method of an enclosing type helps. So a
// nil error says also that T loses nothing in protobuf; else use JSON. The kind and
// apiVersion of metav1.TypeMeta do not count, because the [Envelope] has them.
//
// It takes about as long as decoding a hundred objects, so keep the plan. The error is an
// *[UnsupportedError].
func Compile(t reflect.Type) (*Plan, error) {
	if t == nil {
		return nil, &UnsupportedError{Reason: "nil is no type"}
	}
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return nil, &UnsupportedError{Type: t, Reason: "not a struct"}
	}
	c := compiler{foreign: map[reflect.Type]bool{}}
	for {
		known := len(c.foreign)
		c.layouts = map[reflect.Type]*layout{}
		root, err := c.element(t)
		if err != nil {
			return nil, err
		}
		if len(c.foreign) == known {
			return &Plan{typ: t, root: root}, nil
		}
	}
}

// compiler holds the layouts of the structs met so far. They may be incomplete, because types
// can be recursive. A struct may turn out to be foreign, so that only its own method can read
// it, when other layouts hold it already; then everything is compiled again.
type compiler struct {
	layouts map[reflect.Type]*layout
	foreign map[reflect.Type]bool
}

// element compiles a type that is neither a pointer, nor a list or map of others.
func (c *compiler) element(t reflect.Type) (element, error) {
	e := element{typ: t, size: t.Size(), wire: wireBytes}
	switch t {
	case reflect.TypeFor[metav1.Time]():
		e.shape = shapeTime
		return e, nil
	case reflect.TypeFor[metav1.MicroTime]():
		e.shape = shapeMicroTime
		return e, nil
	case reflect.TypeFor[resource.Quantity]():
		e.shape = shapeQuantity
		return e, nil
	}
	var err error
	switch {
	case t.Kind() == reflect.Struct:
		return c.message(e)
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.String && declares(t):
		e.shape = shapeStrings
	case declares(t):
		e.shape = shapeForeign
	default:
		err = e.basic()
	}
	return e, err
}

// message compiles a struct by its fields, or leaves it to its own method.
func (c *compiler) message(e element) (element, error) {
	if c.foreign[e.typ] {
		e.shape = shapeForeign
		return e, nil
	}
	e.shape = shapeMessage
	if l := c.layouts[e.typ]; l != nil {
		e.layout = l
		return e, nil
	}
	l := &layout{}
	c.layouts[e.typ] = l
	err := c.fields(l, e.typ)
	if err == nil {
		e.layout = l
		return e, nil
	}
	if declares(e.typ) {
		c.foreign[e.typ] = true
		e.shape = shapeForeign
		return e, nil
	}
	return e, err
}

// basic completes the element of a type that is no message.
func (e *element) basic() error {
	switch e.typ.Kind() {
	case reflect.String:
		e.shape = shapeString
		return nil
	case reflect.Slice:
		if e.typ.Elem().Kind() == reflect.Uint8 {
			e.shape = shapeBytes
			return nil
		}
	case reflect.Bool:
		e.shape, e.wire = shapeBool, wireVarint
		return nil
	case reflect.Int8, reflect.Uint8:
		e.shape, e.wire = shape8, wireVarint
		return nil
	case reflect.Int16, reflect.Uint16:
		e.shape, e.wire = shape16, wireVarint
		return nil
	case reflect.Int32, reflect.Uint32, reflect.Int64, reflect.Uint64, reflect.Int, reflect.Uint:
		e.shape, e.wire = shape32, wireVarint
		if e.size == 8 {
			e.shape = shape64
		}
		return nil
	case reflect.Float32:
		e.shape, e.wire = shape32, wireFixed32
		return nil
	case reflect.Float64:
		e.shape, e.wire = shape64, wireFixed64
		return nil
	}
	return &UnsupportedError{Type: e.typ, Reason: "a " + e.typ.Kind().String() + " has no encoding here"}
}

// fields fills the layout of a struct.
func (c *compiler) fields(l *layout, t reflect.Type) error {
	for i := range t.NumField() {
		sf := t.Field(i)
		num, name, err := tagOf(t, sf)
		if err != nil {
			return err
		}
		if num == 0 {
			continue
		}
		f := field{offset: sf.Offset, naming: &naming{whole: sf.Type, name: name}}
		if err := c.field(&f); err != nil {
			if u, ok := err.(*UnsupportedError); ok && u.Field == "" {
				return &UnsupportedError{Type: t, Field: sf.Name, Reason: u.Reason}
			}
			return err
		}
		special(t, &f)
		for len(l.fields) <= num {
			l.fields = append(l.fields, field{element: element{wire: noWire}})
		}
		if l.field(int32(num)) != nil {
			return &UnsupportedError{Type: t, Field: sf.Name, Reason: "its field number is taken"}
		}
		l.fields[num] = f
	}
	return nil
}

// special marks fields that are worth it: those that hardly repeat, which would only push
// others out of the cache of strings, and managedFields.
func special(t reflect.Type, f *field) {
	meta := t == reflect.TypeFor[metav1.ObjectMeta]()
	switch f.name {
	case "name", "uid", "resourceVersion":
		if meta {
			f.holder = holdUnique
		}
	case "managedFields":
		if meta {
			f.holder = holdManagedFields
		}
	case "podIP", "containerID": // of a pod
		if f.holder == holdValue && f.shape == shapeString {
			f.holder = holdUnique
		}
	}
}

// field compiles what holds the values, and the values.
func (c *compiler) field(f *field) error {
	t, err := f.whole, error(nil)
	switch {
	case t.Kind() == reflect.Pointer:
		f.holder, t = holdPointer, t.Elem()
	case t.Kind() == reflect.Map && !declares(t):
		return c.mapField(f)
	case t.Kind() == reflect.Slice && t.Elem().Kind() != reflect.Uint8 && !declares(t):
		f.holder, t = holdSlice, t.Elem()
		if t.Kind() == reflect.Pointer {
			f.holder, t = holdPointers, t.Elem()
		}
	}
	if f.element, err = c.element(t); err != nil {
		return err
	}
	if f.holder == holdValue && f.wire == wireBytes && f.shape != shapeString && f.shape != shapeMessage {
		f.holder = holdOther
	}
	if f.holder == holdPointers && f.wire != wireBytes {
		return &UnsupportedError{Type: f.whole, Reason: "a list of pointers to scalars has no encoding"}
	}
	return nil
}

func (c *compiler) mapField(f *field) (err error) {
	if f.whole.Key().Kind() != reflect.String {
		return &UnsupportedError{Type: f.whole, Reason: "only strings can be map keys"}
	}
	if f.element, err = c.element(f.whole.Elem()); err != nil {
		return err
	}
	switch {
	case f.wire != wireBytes:
		return &UnsupportedError{Type: f.whole, Reason: "a map of scalars has no encoding here"}
	case f.shape == shapeString:
		f.holder = holdStringMap
	case f.shape == shapeQuantity:
		f.holder = holdQuantityMap
	default:
		f.holder = holdMap
	}
	return nil
}

// tagOf returns number and name of a field by its tag. The number 0 says that the field is
// not on the wire.
func tagOf(t reflect.Type, sf reflect.StructField) (num int, name string, err error) {
	tag := sf.Tag.Get("protobuf")
	if tag == "" || tag == "-" {
		hidden := sf.Tag.Get("json") == "-" || !sf.IsExported() && !sf.Anonymous && !declares(t)
		if hidden || sf.Type == reflect.TypeFor[metav1.TypeMeta]() {
			return 0, "", nil
		}
		return 0, "", &UnsupportedError{Type: t, Field: sf.Name, Reason: "it has no protobuf tag"}
	}
	parts := strings.Split(tag, ",")
	if len(parts) >= 2 {
		num, _ = strconv.Atoi(parts[1])
	}
	if num < 1 || num > maxField || !sf.IsExported() {
		return 0, "", &UnsupportedError{Type: t, Field: sf.Name, Reason: "it has an unusable protobuf tag " + strconv.Quote(tag)}
	}
	name = sf.Name
	for _, part := range parts[2:] {
		if n, ok := strings.CutPrefix(part, "name="); ok {
			name = n
		}
	}
	return num, name, nil
}

// declares says whether *t has an Unmarshal method of its own. One that is promoted from an
// embedded field decodes that field only, so it does not count; when in doubt, no.
func declares(t reflect.Type) bool {
	if !reflect.PointerTo(t).Implements(reflect.TypeFor[unmarshaler]()) {
		return false
	}
	if t.Kind() != reflect.Struct {
		return true
	}
	for i := range t.NumField() {
		if sf := t.Field(i); sf.Anonymous {
			if _, promoted := reflect.PointerTo(sf.Type).MethodByName("Unmarshal"); promoted {
				return false
			}
			if _, promoted := sf.Type.MethodByName("Unmarshal"); promoted {
				return false
			}
		}
	}
	return true
}
