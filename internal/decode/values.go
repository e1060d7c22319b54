package decode

import (
	"bytes"
	"errors"

	"github.com/go-json-experiment/json/jsontext"
)

// Reader reads a body member by member, holding no more of it than one value, in the
// terms of JSON. Its errors name no library; io.ErrUnexpectedEOF is wrapped where a body
// ends too early.
type Reader interface {
	// Peek returns the first byte of what comes next as JSON: one of {}[]"0ntf. When
	// nothing can be read it returns the error, which is io.EOF between two values at the
	// top.
	Peek() (byte, error)

	// Open reads delim, which is { or [. Anything else there is a *ShapeError.
	Open(delim byte) error

	// More reports whether another member or element comes before delim, which it reads
	// if none does.
	More(delim byte) (bool, error)

	// Name reads the name of a member, which comes before its value. It is valid until the
	// next call of any method, and empty if it is over the limit or not a string.
	Name() ([]byte, error)

	// Value reads a whole value and returns it as JSON. The slice is valid until the next
	// call of any method. With the error ErrOverLimit the slice is an object with the
	// members of the value's header, wherever in it they are, and with a *FaultError it
	// has null where something cannot be JSON; the reader is behind the value in both
	// cases. After any other error it is of no use.
	Value() ([]byte, error)

	// skip passes over a value without holding it.
	Skip() error

	// offset is how many bytes were read as values so far.
	Offset() int64
}

// ReadObject reads an object with Reader.Value. An error that concerns only this object is
// returned as its problem, and reading can go on.
func ReadObject(in Reader) (raw []byte, problem, err error) {
	raw, err = in.Value()
	var fault *FaultError
	if err == ErrOverLimit || errors.As(err, &fault) {
		return raw, err, nil
	}
	return raw, nil, err
}

// eachIfObject calls EachMember if the next value is an object, and else skips the value.
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

// ignoreLimit returns nil for the errors that concern only the value that was read, and err
// for the others.
func ignoreLimit(err error) error {
	if err == nil || err == ErrOverLimit || errors.As(err, new(*FaultError)) {
		return nil
	}
	return err
}

// EachMember calls f at each value of an object, with its name, to read it. A name over the
// limit is empty.
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

// Text returns the string that a raw JSON string stands for; ok is false if raw is none.
// It allocates nothing for the short plain strings that it is used for, if the result
// does not escape.
func Text(raw []byte) (text []byte, ok bool) {
	if len(raw) < 2 || raw[0] != '"' {
		return nil, false
	}
	if inner := raw[1 : len(raw)-1]; bytes.IndexByte(inner, '\\') < 0 {
		return inner, true
	}
	text, _ = jsontext.AppendUnquote(nil, raw) // an error only tells of invalid UTF-8
	return text, true
}
