package decode

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"

	"github.com/kinform/kinform/internal/keytext"
)

// fieldError is JSON that does not fit the Go type of its field.
type fieldError struct {
	path string       // such as spec.parts.0.name; empty for the whole value
	at   int64        // byte in the value
	got  string       // of JSON, as "number 1.5"
	want reflect.Type // nil if err says it all
	err  error        // the cause; nil if want and got say it all
}

func (e *fieldError) Error() string {
	var b strings.Builder
	if e.path != "" {
		fmt.Fprintf(&b, "field %s ", e.path)
	}
	fmt.Fprintf(&b, "at byte %d: ", e.at)
	switch {
	case e.err != nil:
		b.WriteString(plainText(e.err))
	case e.got == "":
		fmt.Fprintf(&b, "cannot be a %v", e.want)
	default:
		fmt.Fprintf(&b, "JSON %s where %v is expected", e.got, e.want)
	}
	return b.String()
}

func (e *fieldError) Unwrap() error { return e.err }

// plainText returns the text of an error without the name of its library. Methods of
// types such as metav1.Time use a library too.
func plainText(err error) string {
	text := err.Error()
	for _, name := range []string{"jsontext: ", "json: "} {
		text = strings.TrimPrefix(text, name)
	}
	return text
}

// maxShown is the number of bytes of a value that an error shows.
const maxShown = 80

// plainFieldError says in our own words which value does not fit, and where. The outermost error of the library
// knows the place: it may wrap one of a method that decodes by encoding/json.
func plainFieldError(err error) error {
	var known *fieldError
	if errors.As(err, &known) {
		return known
	}
	for inner := err; inner != nil; inner = errors.Unwrap(inner) {
		switch e := inner.(type) {
		case *jsonv1.UnmarshalTypeError:
			return &fieldError{path: plainPath(e.Field), at: e.Offset, got: keytext.Short(e.Value, maxShown), want: e.Type, err: e.Err}
		case *json.SemanticError:
			return &fieldError{path: pointerPath(e.JSONPointer), at: e.ByteOffset, want: e.GoType, err: e.Err}
		}
	}
	return err
}

func pointerPath(p jsontext.Pointer) string {
	return plainPath(strings.ReplaceAll(strings.TrimPrefix(string(p), "/"), "/", "."))
}

// plainPath resolves the escapes of a JSON pointer in a path.
func plainPath(path string) string {
	return strings.NewReplacer("~1", "/", "~0", "~").Replace(path)
}

// Located adds a place to an error, for example of a type's own UnmarshalJSON. The place comes
// from another decoding of the same bytes and is more exact.
func Located(err, elsewhere error) error {
	var has, place *fieldError
	switch {
	case err == nil || !errors.As(elsewhere, &place):
	case !errors.As(err, &has):
		return &fieldError{path: place.path, at: place.at, err: err}
	case has.path == "" || has.path == place.path:
		has.path, has.at = place.path, place.at
	}
	return err
}
