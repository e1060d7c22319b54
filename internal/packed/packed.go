// Package packed turns objects into bytes and back, for stores that keep the bytes.
//
// # Forms
//
// A type has the first form that fits:
//
//   - its own, if it declares encoding.BinaryMarshaler and encoding.BinaryUnmarshaler: so users give a codec
//   - protobuf, if it declares the generated methods and protobuf loses nothing of it: the types of Kubernetes
//   - a tree for Unstructured and map[string]any, which takes a third of the time of JSON
//   - JSON by the rules of package internal/decode: custom resources, other maps, plain values
//
// Methods that a type has from an embedded field do not count: they encode that field alone. What methods of users
// made is decoded once before it is kept.
//
// # What changes
//
// An object that was decoded from what its form is comes back equal, and so do trees. Of another one this changes:
//
//   - Times are local, without what is below a second, or a microsecond in a MicroTime.
//   - Unexported fields, and those that JSON or protobuf leaves out, are zero.
//   - Protobuf turns empty slices and maps into nil. RawExtension loses its Object, and an object within the object
//     its kind and apiVersion.
//   - JSON turns empty slices and maps into nil if their tag says omitempty, what is not UTF-8 into U+FFFD, and values
//     of empty interfaces into map[string]any, []any, string, bool, int64, float64 or nil.
//
// # What objects have in common
//
// A cache learns what its objects have in common, and keeps it once: see common. 1,670 bytes of a pod become 360, a
// Secret's 1,490 become 50, a Node's 5,000 become 400 (random names, UIDs, owners and checksums). Packing takes 3.5 µs
// more for a pod, and unpacking one or two. That is package s2 of klauspost/compress with 64 KB of objects as its
// dictionary. Its zstd makes 275 bytes of the pod, but takes 19 and 4 µs; a dictionary that it trains, 390.
//
// # Memory
//
// In protobuf and trees, the strings of an unpacked object refer to its bytes: a pod takes 40 allocations, where the
// generated code takes 143, and a fifth less processor time (BenchmarkPacked in bench/decode). So a string that a
// program keeps also keeps the bytes. The namespace, the name and the UID, which programs do keep, have memory of their
// own.
package packed

import (
	"fmt"
	"io"
	"reflect"
	"unsafe"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinform/kinform/internal/mistake"
	"github.com/kinform/kinform/internal/usercode"
)

// Codec packs the objects of one type T. It is safe for concurrent use. It is an interface so that packages which name
// a store do not compile what it is made of.
type Codec interface {
	// Pack returns the bytes of obj, a T: never "" without an error. Those of equal objects are the Same, unless the
	// type's own methods do otherwise. Nobody else may use obj meanwhile: methods such as that of resource.Quantity
	// fill in what they compute.
	Pack(obj any) (bytes string, err error)

	// Same reports whether the bytes of two objects are those of equal objects; "" is none. Pack makes other bytes of
	// an object once it has learned anew what objects have in common, so == says less.
	Same(a, b string) bool

	// Unpack makes the object of bytes, which shares nothing that can change with any other. to is a *T. After an
	// error *to has what could be decoded; a pointer is never nil.
	Unpack(bytes string, to any) error
}

// cache is the Codec of one cache: the codec of its type, and what its objects have in common.
type cache struct {
	*codec
	common common
}

// codec packs and unpacks the objects of a type.
type codec struct {
	of    reflect.Type // T
	elem  reflect.Type // T, or what it points to
	form  form         // of an elem; nil if T is an interface
	check bool         // methods of users make the bytes
	table *table       // of the types of objects; nil unless T is an interface
	err   error        // why T has no form
}

// form is an encoding of one type. The first byte belongs to the Codec.
type form interface {
	// pack returns the bytes of *obj, with first in front, in a slice of their own and of their size.
	pack(first byte, obj any) ([]byte, error)

	// unpack decodes the bytes behind the first one into *obj, which is zero.
	unpack(bytes string, obj any) error
}

// Of returns the codec for objects of type t. If t is an interface, they may have any types that have a codec, up to
// 128 of them. The error says why no object can be packed. It matches mistake.Err.
func Of(t reflect.Type) (Codec, error) {
	c, err := codecOf(t)
	return &cache{codec: c}, err
}

// codecOf returns the codec of a type, which has the error, too.
func codecOf(t reflect.Type) (*codec, error) {
	c := &codec{of: t, elem: t}
	switch t.Kind() {
	case reflect.Interface:
		c.table = new(table)
		return c, nil
	case reflect.Pointer:
		c.elem = t.Elem()
	}
	if c.form, c.check, c.err = formOf(c.elem); c.err != nil {
		c.err = mistake.Text(fmt.Sprintf("%v cannot be packed: %v", t, c.err))
	}
	return c, c.err
}

// Pack implements Codec.
func (c *cache) Pack(obj any) (string, error) {
	plain, err := c.codec.pack(obj)
	if err != nil {
		return "", err
	}
	return c.common.without(plain), nil
}

// Same implements Codec.
func (c *cache) Same(a, b string) bool { return c.common.same(a, b) }

// Unpack implements Codec.
func (c *cache) Unpack(bytes string, to any) error {
	plain, failed := c.common.with(bytes)
	if err := c.codec.unpack(plain, to); failed == nil {
		return err
	}
	return fmt.Errorf("packed %v: %w", c.of, failed)
}

// pack returns the bytes of an object as its form has them.
func (c *codec) pack(obj any) (bytes string, err error) {
	of := reflect.TypeOf(obj)
	defer func() {
		if r := recover(); r != nil {
			err = usercode.Panicked("encoding", r)
		}
		if err != nil {
			bytes, err = "", fmt.Errorf("%v: %w", of, err)
		}
	}()
	v, first := reflect.ValueOf(obj), byte(0)
	if !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		return "", mistake.NoObject
	}
	if c.table != nil {
		if first, c, err = c.table.of(of); err != nil {
			return "", err
		}
	}
	if c.of == c.elem { // forms need a pointer
		p := reflect.New(of)
		p.Elem().Set(v)
		obj = p.Interface()
	}
	data, err := c.form.pack(first, obj)
	bytes = unsafe.String(unsafe.SliceData(data), len(data))
	if err == nil && c.check {
		if err = c.form.unpack(bytes, reflect.New(c.elem).Interface()); err != nil {
			err = fmt.Errorf("its bytes do not decode: %w", err)
		}
	}
	return bytes, err
}

// unpack is Unpack of such bytes.
func (c *codec) unpack(bytes string, to any) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = usercode.Panicked("decoding", r)
		}
		if err != nil {
			err = fmt.Errorf("packed %v: %w", reflect.TypeOf(to).Elem(), err)
		}
	}()
	v := reflect.ValueOf(to).Elem()
	if c.table != nil {
		if c, err = c.table.at(bytes); err != nil {
			return err
		}
	}
	p := reflect.New(c.elem)
	if c.of != c.elem {
		v.Set(p)
	} else {
		defer func() { v.Set(p.Elem()) }()
	}
	if bytes == "" {
		return io.ErrUnexpectedEOF
	}
	return c.form.unpack(bytes, p.Interface())
}

// Copy replaces an object that could not be packed by a copy, if its DeepCopyObject makes one of its type. object is a *T.
func Copy(object any) {
	defer func() { _ = recover() }() // of the method: then there is no copy
	v := reflect.ValueOf(object).Elem()
	if obj, ok := v.Interface().(runtime.Object); ok {
		if made := obj.DeepCopyObject(); reflect.TypeOf(made) == reflect.TypeOf(obj) {
			v.Set(reflect.ValueOf(made))
		}
	}
}

// Open is Unpack for a caller that has no use for the error, because the bytes are those of a Pack.
//
//go:noinline
func Open[T any](c Codec, bytes string) (obj T) {
	_ = c.Unpack(bytes, &obj)
	return obj
}
