package fake

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// protobufMagic begins every protobuf body; a runtime.Unknown with the object follows.
var protobufMagic = []byte{'k', '8', 's', 0}

// message is what Kubernetes' generators give a type that has a protobuf form.
type message interface {
	Marshal() ([]byte, error)
	Unmarshal([]byte) error
}

var errNoProtobuf = errors.New("fake: type without protobuf")

// hasProtobuf reports whether T has a protobuf form of its own. To have the methods is
// not enough: a type that embeds ObjectMeta alone inherits them, and would be encoded as
// its metadata. In a generated type the metadata is field 1, so a sample tells.
func hasProtobuf[T metav1.Object](fresh func() T) (ok bool) {
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
	return err == nil && bytes.HasPrefix(b, appendBytes(nil, 1, want))
}

// protobufOf encodes without the envelope.
func protobufOf(obj any) (b []byte, err error) {
	defer recoverTo(&err)
	m, ok := obj.(message)
	if !ok {
		return nil, errNoProtobuf
	}
	return m.Marshal()
}

// envelope wraps an encoded object as a body of its own.
func envelope(kind metav1.TypeMeta, encode func() ([]byte, error)) ([]byte, error) {
	raw, err := encode()
	if err != nil {
		return nil, err
	}
	return append(envelopeHead(kind, len(raw)), raw...), nil
}

// envelopeHead returns what stands before an encoded object of n bytes: the magic, the
// Unknown's kind and the start of its raw field, which is the last one written.
func envelopeHead(kind metav1.TypeMeta, n int) []byte {
	var tm []byte
	tm = appendBytes(tm, 1, []byte(kind.APIVersion))
	tm = appendBytes(tm, 2, []byte(kind.Kind))
	b := appendBytes(bytes.Clone(protobufMagic), 1, tm)
	b = append(b, 2<<3|wireBytes)
	return binary.AppendUvarint(b, uint64(n))
}

// wireBytes is the wire type of strings, bytes and messages.
const wireBytes = 2

// appendBytes appends one length-delimited field. field is below 16: one byte of tag.
func appendBytes(b []byte, field byte, value []byte) []byte {
	b = append(b, field<<3|wireBytes)
	b = binary.AppendUvarint(b, uint64(len(value)))
	return append(b, value...)
}

// openEnvelope is the inverse of envelope.
func openEnvelope(b []byte) (metav1.TypeMeta, []byte, error) {
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

// decodeProtobuf reads an object without its envelope.
func decodeProtobuf(b []byte, obj any) (err error) {
	defer recoverTo(&err)
	m, ok := obj.(message)
	if !ok {
		return fmt.Errorf("%w: %v", errNoProtobuf, reflect.TypeOf(obj))
	}
	return m.Unmarshal(b)
}

// protobufFrame is one event of a watch: its length and a WatchEvent whose object has an
// envelope.
func protobufFrame(typ string, object []byte) ([]byte, error) {
	ev := metav1.WatchEvent{Type: typ, Object: runtime.RawExtension{Raw: object}}
	b, err := ev.Marshal()
	if err != nil {
		return nil, err
	}
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(b))), b...), nil
}
