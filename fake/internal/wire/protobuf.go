package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinform/kinform/fake/internal/refusal"
)

// protobufMagic begins every protobuf body. A runtime.Unknown with the object follows.
var protobufMagic = []byte{'k', '8', 's', 0}

// message has the methods that Kubernetes' generators give a type with a protobuf form.
type message interface {
	Marshal() ([]byte, error)
	Unmarshal([]byte) error
}

var errNoProtobuf = errors.New("type without protobuf")

// HasProtobuf reports whether T has its own protobuf form. The methods alone do not prove it: a
// type that embeds ObjectMeta inherits them, and they would encode only its metadata. In a
// generated type the metadata is field 1, so HasProtobuf encodes a sample made by fresh.
func HasProtobuf[T metav1.Object](fresh func() T) (ok bool) {
	defer func() {
		if recover() != nil { // user code
			ok = false
		}
	}()
	obj := fresh()
	m, is := any(obj).(message)
	if !is {
		return false
	}
	obj.SetName("sample")
	b, err := m.Marshal()
	if err != nil {
		return false
	}
	sample := metav1.ObjectMeta{Name: "sample"}
	want, err := sample.Marshal()
	return err == nil && bytes.HasPrefix(b, AppendBytes(nil, 1, want))
}

// MarshalProtobuf encodes obj without an envelope. It fails for a type without protobuf, and
// turns a panic of the type's methods into an error.
func MarshalProtobuf(obj any) (b []byte, err error) {
	defer refusal.Recover(&err)
	m, ok := obj.(message)
	if !ok {
		return nil, errNoProtobuf
	}
	return m.Marshal()
}

// Envelope wraps an encoded object as a separate body.
func Envelope(kind metav1.TypeMeta, encode func() ([]byte, error)) ([]byte, error) {
	raw, err := encode()
	if err != nil {
		return nil, err
	}
	return append(EnvelopeHead(kind, len(raw)), raw...), nil
}

// EnvelopeHead returns the part of an envelope before an encoded object of n bytes: the magic,
// the Unknown's kind and the start of its raw field, which comes last.
func EnvelopeHead(kind metav1.TypeMeta, n int) []byte {
	var tm []byte
	tm = AppendBytes(tm, 1, []byte(kind.APIVersion))
	tm = AppendBytes(tm, 2, []byte(kind.Kind))
	b := AppendBytes(bytes.Clone(protobufMagic), 1, tm)
	b = append(b, 2<<3|wireBytes)
	return binary.AppendUvarint(b, uint64(n))
}

// wireBytes is the wire type of strings, bytes and messages.
const wireBytes = 2

// AppendBytes appends one length-delimited field.
func AppendBytes(b []byte, field byte, value []byte) []byte {
	b = binary.AppendUvarint(b, uint64(field)<<3|wireBytes)
	b = binary.AppendUvarint(b, uint64(len(value)))
	return append(b, value...)
}

// OpenEnvelope is the inverse of [Envelope].
func OpenEnvelope(b []byte) (metav1.TypeMeta, []byte, error) {
	rest, ok := bytes.CutPrefix(b, protobufMagic)
	if !ok {
		return metav1.TypeMeta{}, nil, errors.New("provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]")
	}
	var unknown runtime.Unknown
	if err := unknown.Unmarshal(rest); err != nil {
		return metav1.TypeMeta{}, nil, err
	}
	return metav1.TypeMeta{APIVersion: unknown.APIVersion, Kind: unknown.Kind}, unknown.Raw, nil
}

// UnmarshalProtobuf reads an object without an envelope. It fails as [MarshalProtobuf] does.
func UnmarshalProtobuf(b []byte, obj any) (err error) {
	defer refusal.Recover(&err)
	m, ok := obj.(message)
	if !ok {
		return fmt.Errorf("%w: %v", errNoProtobuf, reflect.TypeOf(obj))
	}
	return m.Unmarshal(b)
}
