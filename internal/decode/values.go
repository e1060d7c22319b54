package decode

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"
)

// ReadObject is r.Object, but returns ErrOverLimit as problem: reading can then continue.
func ReadObject(r *Reader, s *State) (raw []byte, problem, err error) {
	raw, err = r.Object(s)
	if err == ErrOverLimit {
		return raw, err, nil
	}
	return raw, nil, err
}

// eachIfObject calls EachMember if the next value is an object, and otherwise skips the value.
func eachIfObject(r *Reader, f func(name string) error) error {
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
func ReadIfText(r *Reader, s *string) error {
	if s == nil {
		return r.Skip()
	}
	raw, err := r.Value()
	if text, ok := Text(raw); ok && err == nil {
		*s = string(text)
	}
	return ignoreLimit(err)
}

// ignoreLimit returns nil for ErrOverLimit, after which the reader can go on, and err for all
// others.
func ignoreLimit(err error) error {
	if err == ErrOverLimit {
		return nil
	}
	return err
}

// EachMember calls f for each member of an object with its name. f must read the value. A name
// over the limit is empty.
func EachMember(r *Reader, f func(name string) error) error {
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
func ReadText(r *Reader, s *string) error {
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
