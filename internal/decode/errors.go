package decode

import (
	"errors"
	"fmt"
	"io"
)

// ErrOverLimit is returned for a value that is larger than allowed. The Reader has skipped the
// value and can continue after it.
var ErrOverLimit = errors.New("value over the limit")

// malformedError reports a body that violates the grammar of JSON, or ends too early.
type malformedError struct {
	at  int64 // byte in the body
	err error // without the name of a library
}

func (e *malformedError) Error() string {
	return fmt.Sprintf("malformed JSON at byte %d: %v", e.at, e.err)
}

func (e *malformedError) Unwrap() error { return e.err }

// ShapeError reports well-formed JSON of another kind than the protocol requires at this
// place.
type ShapeError struct{ Want, Got byte }

func (e *ShapeError) Error() string {
	return fmt.Sprintf("%s where %s is expected", KindName(e.Got), KindName(e.Want))
}

// KindName describes a value for errors, by the first byte of its JSON.
func KindName(k byte) string {
	switch k {
	case '{':
		return "a JSON object"
	case '[':
		return "a JSON array"
	case '"':
		return "a JSON string"
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		return "a JSON number"
	case 'n':
		return "a JSON null"
	case 't', 'f':
		return "a JSON boolean"
	}
	return "something else than a JSON value"
}

// IsForeign reports whether err says that the input is not JSON, or not the expected
// value. It returns false if reading failed or the input ended too early.
func IsForeign(err error) bool {
	var malformed *malformedError
	var shape *ShapeError
	return errors.As(err, &shape) || errors.As(err, &malformed) && !errors.Is(err, io.ErrUnexpectedEOF)
}
