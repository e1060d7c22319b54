package client

import (
	"bytes"
	"errors"
	"io"
)

// valueReader reads a body member by member, holding no more of it than one value, in the
// terms of JSON. Its errors name no library; io.ErrUnexpectedEOF is wrapped where a body
// ends too early.
type valueReader interface {
	// peek returns the first byte of what comes next as JSON: one of {}[]"0ntf. When
	// nothing can be read it returns the error, which is io.EOF between two values at the
	// top.
	peek() (byte, error)

	// open reads delim, which is { or [. Anything else there is a *shapeError.
	open(delim byte) error

	// more reports whether another member or element comes before delim, which it reads
	// if none does.
	more(delim byte) (bool, error)

	// name reads the name of a member, which comes before its value. It is valid until the
	// next call of any method, and empty if it is over the limit or not a string.
	name() ([]byte, error)

	// value reads a whole value and returns it as JSON. The slice is valid until the next
	// call of any method. With the error errOverLimit the slice is an object with the
	// members of the value's header, wherever in it they are, and with a *faultError it
	// has null where something cannot be JSON; the reader is behind the value in both
	// cases. After any other error it is of no use.
	value() ([]byte, error)

	// skip passes over a value without holding it.
	skip() error

	// offset is how many bytes were read as values so far.
	offset() int64
}

// newValueReader makes the reader of a body that is not Protobuf.
func newValueReader(e Encoding, in io.Reader, limit int64) valueReader {
	if e == CBOR {
		return newCBORReader(in, limit)
	}
	return newJSONReader(in, limit)
}

// faultError is about a value that is whole but cannot be used.
type faultError struct{ err error }

func (e *faultError) Error() string { return e.err.Error() }
func (e *faultError) Unwrap() error { return e.err }

// readObject is value for one that is an object: what is wrong only with that is its
// problem, not an error.
func readObject(in valueReader) (raw []byte, problem, err error) {
	raw, err = in.value()
	var fault *faultError
	if err == errOverLimit || errors.As(err, &fault) {
		return raw, err, nil
	}
	return raw, nil, err
}

// headerLimit is how much of a member of an object over the limit is held, in bytes.
const headerLimit = 4 << 10

// scanStart reads the header from the beginning of an object's JSON, as far as it goes.
func scanStart(start []byte) header {
	var h header
	_ = h.read(newJSONReader(bytes.NewReader(start), headerLimit))
	return h
}

// oversized is value for a value over the limit, which comes next: it is read member by member.
func oversized(r valueReader) ([]byte, error) {
	var h header
	if err := h.read(r); err != nil {
		return nil, err
	}
	return h.appendJSON(nil), errOverLimit
}

// read reads a whole value and takes from it, if it is an object, what identifies that.
// Members that are no strings, or larger than the limit, stay empty.
func (h *header) read(r valueReader) error {
	return eachIfObject(r, func(name string) error {
		if name != "metadata" {
			return readIfText(r, h.member(name))
		}
		return eachIfObject(r, func(name string) error { return readIfText(r, h.metaMember(name)) })
	})
}

// member is where a member of the object is kept, nil for those that are not.
func (h *header) member(name string) *string {
	switch name {
	case "apiVersion":
		return &h.APIVersion
	case "kind":
		return &h.Kind
	}
	return nil
}

// metaMember is that for the members of its metadata.
func (h *header) metaMember(name string) *string {
	switch name {
	case "name":
		return &h.Metadata.Name
	case "namespace":
		return &h.Metadata.Namespace
	case "resourceVersion":
		return &h.Metadata.ResourceVersion
	}
	return nil
}

// eachIfObject is eachMember for a value that may be something else, which is skipped.
func eachIfObject(r valueReader, f func(name string) error) error {
	k, err := r.peek()
	switch {
	case err != nil:
		return err
	case k != '{':
		return r.skip()
	}
	return eachMember(r, f)
}

// readIfText reads a value, into *s if that is not nil and the value is a string.
func readIfText(r valueReader, s *string) error {
	if s == nil {
		return r.skip()
	}
	raw, err := r.value()
	if text, ok := jsonText(raw); ok && err == nil {
		*s = string(text)
	}
	return ignoreLimit(err)
}

// ignoreLimit is for a value that nobody misses.
func ignoreLimit(err error) error {
	if err == nil || err == errOverLimit || errors.As(err, new(*faultError)) {
		return nil
	}
	return err
}

// eachMember calls f at each value of an object, with its name, to read it. A name over the
// limit is empty.
func eachMember(r valueReader, f func(name string) error) error {
	if err := r.open('{'); err != nil {
		return err
	}
	for {
		more, err := r.more('}')
		if err != nil || !more {
			return err
		}
		name, err := r.name()
		if err != nil {
			return err
		}
		if err := f(string(name)); err != nil {
			return err
		}
	}
}

// readText reads a string into *s. Anything else there is a *shapeError.
func readText(r valueReader, s *string) error {
	raw, err := r.value()
	if err != nil {
		return err
	}
	text, ok := jsonText(raw)
	if !ok {
		return &shapeError{want: '"', got: raw[0]}
	}
	*s = string(text)
	return nil
}
