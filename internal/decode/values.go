package decode

import (
	"bytes"
	"errors"

	"github.com/go-json-experiment/json/jsontext"
)

// Reader reads a body member by member and presents it as JSON, except for raw objects. It holds
// at most one value.
// Its errors do not name a library. They wrap io.ErrUnexpectedEOF if a body ends too early.
type Reader interface {
	// Peek returns the first byte of the next item as JSON: one of {}[]"0ntf. If nothing can
	// be read it returns the error, which is io.EOF between two values at the top level.
	Peek() (byte, error)

	// Open reads delim, which is { or [. Anything else there is a *ShapeError.
	Open(delim byte) error

	// More reports whether another member or element comes before delim. If none does, it
	// reads delim.
	More(delim byte) (bool, error)

	// Name reads the name of a member, which comes before its value. It is valid until the
	// next call of any method, and empty if it is over the limit or not a string.
	Name() ([]byte, error)

	// Value reads a whole value and returns it as JSON. The slice is valid until the next call
	// of any method. With ErrOverLimit the slice is an object with the members of the value's
	// header, wherever they are in the value, or nil if only the memory for the value would be too
	// large. A *FaultError means that JSON cannot express the value. In these cases the reader is
	// after the value. After any other error it is of no use.
	Value() ([]byte, error)

	// Object is Value, but returns the value in the encoding of the body; after ErrOverLimit it is
	// JSON. If s is not nil, it sets *s to the state of an object. That is valid as long as the
	// slice.
	Object(s *State) ([]byte, error)

	// Skip skips a value without holding it.
	Skip() error

	// Ready reports whether another value at the top level was most likely read ahead, between
	// two of them.
	Ready() bool

	// Offset returns the number of bytes read as values so far.
	Offset() int64
}

// ReadObject is r.Object, but returns ErrOverLimit as problem: reading can then continue.
func ReadObject(r Reader, s *State) (raw []byte, problem, err error) {
	raw, err = r.Object(s)
	if err == ErrOverLimit {
		return raw, err, nil
	}
	return raw, nil, err
}

// eachIfObject calls EachMember if the next value is an object, and otherwise skips the value.
func eachIfObject(r Reader, f func(name string) error) error {
	k, err := r.Peek()
	switch {
	case err != nil:
		return err
	case k != '{':
		return r.Skip()
	}
	return EachMember(r, f)
}

// ReadIfText reads a value. It sets *s if s is not nil and the value is a string.
func ReadIfText(r Reader, s *string) error {
	if s == nil {
		return r.Skip()
	}
	raw, err := r.Value()
	if text, ok := Text(raw); ok && err == nil {
		*s = string(text)
	}
	return ignoreLimit(err)
}

// ignoreLimit returns nil for errors that concern only the value just read, and err for all
// others.
func ignoreLimit(err error) error {
	if err == nil || err == ErrOverLimit || errors.As(err, new(*FaultError)) {
		return nil
	}
	return err
}

// EachMember calls f for each member of an object with its name. f must read the value. A name
// over the limit is empty.
func EachMember(r Reader, f func(name string) error) error {
	if err := r.Open('{'); err != nil {
		return err
	}
	for {
		more, err := r.More('}')
		if err != nil || !more {
			return err
		}
		name, err := r.Name()
		if err != nil {
			return err
		}
		if err := f(string(name)); err != nil {
			return err
		}
	}
}

// ReadText reads a string into *s. Anything else there is a *ShapeError.
func ReadText(r Reader, s *string) error {
	raw, err := r.Value()
	if err != nil {
		return err
	}
	text, ok := Text(raw)
	if !ok {
		return &ShapeError{Want: '"', Got: raw[0]}
	}
	*s = string(text)
	return nil
}

// Text returns the string for a raw JSON string; ok is false if raw is not a string. For short
// plain strings, its usual input, it allocates nothing if the result does not escape.
func Text(raw []byte) (text []byte, ok bool) {
	if len(raw) < 2 || raw[0] != '"' {
		return nil, false
	}
	if inner := raw[1 : len(raw)-1]; bytes.IndexByte(inner, '\\') < 0 {
		return inner, true
	}
	text, _ = jsontext.AppendUnquote(nil, raw) // the only possible error is about invalid UTF-8
	return text, true
}
