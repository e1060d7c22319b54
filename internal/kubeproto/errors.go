package kubeproto

import (
	"errors"
	"fmt"
	"io"
	"reflect"
	"strconv"
)

// These are causes of a [DecodeError]. Another one is io.ErrUnexpectedEOF, for bytes that end
// too early and for lengths beyond the end of their message.
var (
	// ErrOverflow is a varint of more than ten bytes.
	ErrOverflow = errors.New("varint of more than 64 bits")
	// ErrLength is a negative length.
	ErrLength = errors.New("negative length")
	// ErrTag is a field number or wire type that protobuf does not have, or the end of a group
	// that did not begin.
	ErrTag = errors.New("illegal field number or wire type")
	// ErrWireType is a known field with the wrong wire type.
	ErrWireType = errors.New("wrong wire type")
	// ErrTooDeep is a message nested deeper than [MaxDepth].
	ErrTooDeep = errors.New("messages nested too deeply")
)

var (
	// ErrNoEnvelope is returned for bytes without the prefix of Kubernetes' protobuf.
	ErrNoEnvelope = errors.New("not Kubernetes protobuf: no \"k8s\\x00\" prefix")
	// ErrTooLarge is returned by the readers for an object larger than their limit, and by
	// Decode for an object that would take more memory than Options.MaxMemory.
	ErrTooLarge = errors.New("larger than the limit")
)

// DecodeError says where bytes could not be decoded. It unwraps to the cause.
type DecodeError struct {
	// Offset is the start of the field or value that could not be read, in bytes.
	Offset int
	// Path leads to the field by the names of the wire, as in "spec.containers[1].image".
	// It is empty if the object itself has no readable fields.
	Path string
	// Err is the cause.
	Err error
}

func (e *DecodeError) Error() string {
	if e.Path == "" {
		return fmt.Sprintf("protobuf at byte %d: %v", e.Offset, e.Err)
	}
	return fmt.Sprintf("protobuf at byte %d, %s: %v", e.Offset, e.Path, e.Err)
}

// Unwrap returns the cause.
func (e *DecodeError) Unwrap() error { return e.Err }

// under adds a field in front of the path. An index of -1 means no index.
func (e *DecodeError) under(name string, index int) *DecodeError {
	if index >= 0 {
		name += "[" + strconv.Itoa(index) + "]"
	}
	if e.Path != "" {
		name += "." + e.Path
	}
	e.Path = name
	return e
}

// UnsupportedError says why a type cannot be decoded from protobuf.
type UnsupportedError struct {
	// Type is the type that has the field, or that is itself not supported.
	Type reflect.Type
	// Field is the name of the Go field. It may be empty.
	Field string
	// Reason is a short sentence.
	Reason string
}

func (e *UnsupportedError) Error() string {
	name := fmt.Sprint(e.Type)
	if e.Field != "" {
		name += "." + e.Field
	}
	return "no protobuf for " + name + ": " + e.Reason
}

// failure returns the error for a negative position, which stands for a cause.
func failure(offset, code int) *DecodeError {
	cause := io.ErrUnexpectedEOF
	switch code {
	case codeOverflow:
		cause = ErrOverflow
	case codeLength:
		cause = ErrLength
	case codeTag:
		cause = ErrTag
	}
	return &DecodeError{Offset: offset, Err: cause}
}
