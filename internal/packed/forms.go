package packed

import (
	"encoding"
	"encoding/binary"
	"fmt"
	"io"
	"math/bits"
	"reflect"
	"unsafe"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/internal/decode"
	"github.com/kinform/kinform/internal/kubeproto"
)

// formOf returns the form of t, and whether methods of users make its bytes.
func formOf(t reflect.Type) (f form, check bool, err error) {
	if has(reflect.TypeFor[encoding.BinaryMarshaler](), t) && has(reflect.TypeFor[encoding.BinaryUnmarshaler](), t) {
		return own{}, true, nil
	}
	if has(reflect.TypeFor[message](), t) {
		if plan, err := kubeproto.Compile(t); err == nil {
			return &protobuf{plan: plan, meta: typeMeta(t)}, !known(t), nil
		}
	}
	if t == reflect.TypeFor[unstructured.Unstructured]() || t == reflect.TypeFor[map[string]any]() {
		return &tree{}, false, nil
	}
	s := survey{seen: map[reflect.Type]bool{}}
	if err := s.look(t, t.String()); err != nil {
		return nil, false, fmt.Errorf("%w: give %v MarshalBinary and UnmarshalBinary", err, t)
	}
	return json{decode.NewJSONCodec(t, 0)}, s.check, nil
}

// has reports whether *t declares the methods of an interface. Methods of an embedded field encode only that field, so
// they do not count. In doubt has returns false.
func has(methods, t reflect.Type) bool {
	return reflect.PointerTo(t).Implements(methods) && embedded(methods, t) != 1
}

// embedded returns how many embedded fields of t have the methods. From one field *t has them, too; from several it
// has none, unless the methods of one are those of a field that is embedded there, which counts as one field in all.
func embedded(methods, t reflect.Type) (n int) {
	if t.Kind() != reflect.Struct {
		return 0
	}
	for i := range t.NumField() {
		f := t.Field(i)
		if !f.Anonymous || !f.Type.Implements(methods) && !reflect.PointerTo(f.Type).Implements(methods) {
			continue
		}
		if f.Type.Kind() == reflect.Pointer || embedded(methods, f.Type) > 0 {
			return 1
		}
		n++
	}
	return n
}

// joined returns first and data in a slice of their own.
func joined(first byte, data []byte) []byte {
	return append(append(make([]byte, 0, 1+len(data)), first), data...)
}

// own is the form of a type with its own encoding.
type own struct{}

func (own) pack(first byte, obj any) ([]byte, error) {
	data, err := obj.(encoding.BinaryMarshaler).MarshalBinary()
	return joined(first, data), err
}

func (own) unpack(bytes string, obj any) error {
	return obj.(encoding.BinaryUnmarshaler).UnmarshalBinary([]byte(bytes[1:])) // a copy, which the method may change
}

// json is the form of a type that has no other.
type json struct{ codec *decode.JSONCodec }

func (j json) pack(first byte, obj any) ([]byte, error) {
	data, err := j.codec.Marshal(obj)
	return joined(first, data), err
}

func (j json) unpack(bytes string, obj any) error {
	data := []byte(bytes[1:]) // a copy, which methods may change
	if j.codec.Unmarshal(data, obj) == nil {
		return nil
	}
	return j.codec.UnmarshalExact(data, obj)
}

// message has the methods that go-to-protobuf generates.
type message interface {
	Size() int
	MarshalToSizedBuffer([]byte) (int, error)
}

// protobuf is the form of a message: its apiVersion, its kind, each behind its length, and its own bytes.
type protobuf struct {
	plan *kubeproto.Plan
	meta int // number of the field that is the TypeMeta, which the message's own bytes leave out; -1 without one
}

// mostBytes bounds what a method Size can claim.
const mostBytes = 1 << 30

func (p *protobuf) pack(first byte, obj any) ([]byte, error) {
	m, of := obj.(message), p.typeMeta(obj)
	size := m.Size()
	if size < 0 || size > mostBytes {
		return nil, fmt.Errorf("method Size returns %d", size)
	}
	head := 1 + room(of.APIVersion) + room(of.Kind)
	data := append(make([]byte, 0, head+size), first)
	data = appendText(appendText(data, of.APIVersion), of.Kind)[:head+size]
	n, err := m.MarshalToSizedBuffer(data[head:])
	if err == nil && n != size {
		err = fmt.Errorf("method Size returns %d, but there are %d bytes", size, n)
	}
	return data, err
}

func (p *protobuf) unpack(bytes string, obj any) error {
	r := reader{rest: bytes[1:]}
	*p.typeMeta(obj) = metav1.TypeMeta{APIVersion: r.text(), Kind: r.text()}
	if r.failed {
		return io.ErrUnexpectedEOF
	}
	err := p.plan.Decode(unsafe.Slice(unsafe.StringData(r.rest), len(r.rest)), obj, kubeproto.Options{Alias: true})
	if m, ok := obj.(metav1.Object); ok {
		ownKey(m)
	}
	return err
}

// ownKey gives the strings that programs keep memory of their own: see the package's comment.
func ownKey(m metav1.Object) {
	namespace, name, uid := m.GetNamespace(), m.GetName(), m.GetUID()
	text := string(append(append(append(make([]byte, 0, 128), namespace...), name...), uid...))
	m.SetNamespace(text[:len(namespace)])
	m.SetName(text[len(namespace):][:len(name)])
	m.SetUID(types.UID(text[len(namespace)+len(name):]))
}

// typeMeta returns the place of obj's kind, a new one if it has none.
func (p *protobuf) typeMeta(obj any) *metav1.TypeMeta {
	if p.meta < 0 {
		return new(metav1.TypeMeta)
	}
	return reflect.ValueOf(obj).Elem().Field(p.meta).Addr().Interface().(*metav1.TypeMeta)
}

// typeMeta returns the number of the field that is the TypeMeta, -1 if there is none.
func typeMeta(t reflect.Type) int {
	for i := range t.NumField() {
		if f := t.Field(i); f.IsExported() && f.Type == reflect.TypeFor[metav1.TypeMeta]() {
			return i
		}
	}
	return -1
}

// room returns the length of text with its own length in front.
func room(text string) int { return (bits.Len(uint(len(text))|1)+6)/7 + len(text) }

func appendText(data []byte, text string) []byte {
	return append(binary.AppendUvarint(data, uint64(len(text))), text...)
}
