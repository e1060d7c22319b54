package decode

import (
	"bytes"
	"encoding"
	stdjson "encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/internal/keytext"
	"github.com/kinform/kinform/internal/kubeproto"
)

// Codec decodes single objects of one type and encoding. It is immutable and safe for concurrent
// use, unless it shares strings: then it belongs to one goroutine. All values are complete and
// well-formed.
type Codec interface {
	// Kind returns the first byte of a value's JSON.
	Kind(raw []byte) byte

	// Weigh returns ErrOverLimit if an object may take too much memory.
	Weigh(raw []byte) error

	// Unmarshal decodes a value into *v.
	Unmarshal(raw []byte, v any) error

	// UnmarshalExact is slower than Unmarshal, and may accept values that Unmarshal does not. After
	// an error, *v is filled as far as possible.
	UnmarshalExact(raw []byte, v any) error

	// UnmarshalObject decodes an object for an unstructured.Unstructured.
	UnmarshalObject(raw []byte) (map[string]any, error)

	// Contents returns the part of an object that is equal in a list and in a watch: without the
	// kind and the apiVersion, if the encoding allows that.
	Contents(raw []byte) []byte

	// Header reads the header of an object. Members of another type stay empty.
	Header(raw []byte) Header

	// WithoutManagedFields returns an object without metadata.managedFields. raw is not changed.
	// The result is either raw or in *room.
	WithoutManagedFields(raw []byte, room *[]byte) []byte

	// Sharing returns a codec for the same type that makes equal strings in untyped values share memory.
	// Elsewhere, sharing would take a quarter more time for a sixth fewer allocations. With nil the codec
	// allocates each string.
	Sharing(strings *kubeproto.Strings) Codec
}

// JSONCodec decodes JSON by the rules for clients of the API server (sigs.k8s.io/json).
// These are the rules of encoding/json, except that field names match case-sensitively, and
// that a number in an untyped value is an int64 if possible. Duplicate names and invalid UTF-8
// are accepted as there: the last duplicate wins, and U+FFFD replaces invalid bytes.
type JSONCodec struct {
	fast   json.Options
	exact  json.Options
	untype json.Options

	weights weights
	untyped bool // the type holds an untyped value
}

// NewJSONCodec makes the codec for objects of type t in JSON, which may take most bytes. It walks over
// all types in t, so make it when there is JSON.
func NewJSONCodec(t reflect.Type, most int64) *JSONCodec {
	c := JSONCodec{weights: weightsOf(t, most), untyped: holdsUntyped(t, map[reflect.Type]bool{})}
	return c.sharing(nil)
}

// Sharing implements Codec.
func (c *JSONCodec) Sharing(strings *kubeproto.Strings) Codec { return c.sharing(strings) }

func (c *JSONCodec) sharing(strings *kubeproto.Strings) *JSONCodec {
	rules := json.JoinOptions(jsonv1.DefaultOptionsV1(), json.MatchCaseInsensitiveNames(false))
	// Only a type with an untyped value pays for telling integers and floats apart.
	anything := json.UnmarshalFromFunc(func(dec *jsontext.Decoder, v *any) (err error) {
		*v, err = readUntyped(dec, strings) // replaces a value in *v from a duplicate name
		return err
	})
	own := []*json.Unmarshalers{json.UnmarshalFromFunc(readTime), json.UnmarshalFromFunc(readNumber)}
	if c.untyped {
		own = append(own, anything)
	}
	exact := json.JoinOptions(rules, json.WithUnmarshalers(json.JoinUnmarshalers(own...)))
	return &JSONCodec{
		// The caller has delimited the value, so its syntax is valid. The legacy way of
		// reporting errors would only parse it twice.
		fast:    json.JoinOptions(exact, jsonv1.ReportErrorsWithLegacySemantics(false)),
		exact:   exact,
		untype:  json.JoinOptions(rules, json.WithUnmarshalers(anything)),
		weights: c.weights,
		untyped: c.untyped,
	}
}

// Kind implements Codec.
func (c *JSONCodec) Kind(raw []byte) byte {
	if len(raw) == 0 {
		return 0
	}
	return raw[0]
}

// Weigh implements Codec.
func (c *JSONCodec) Weigh(raw []byte) error { return c.weights.checkJSON(raw) }

// Header implements Codec.
func (c *JSONCodec) Header(raw []byte) (h Header) {
	if c.Unmarshal(raw, &h) != nil {
		h = Header{}
		_ = c.UnmarshalExact(raw, &h)
	}
	return h
}

// Unmarshal implements Codec.
func (c *JSONCodec) Unmarshal(raw []byte, v any) error {
	if err := json.Unmarshal(raw, v, c.fast); err != nil {
		return plainFieldError(err)
	}
	return nil
}

// UnmarshalExact implements Codec. Like encoding/json, it accepts Go types with questionable struct
// tags, and continues after a field that does not fit.
func (c *JSONCodec) UnmarshalExact(raw []byte, v any) error {
	if err := json.Unmarshal(raw, v, c.exact); err != nil {
		return plainFieldError(err)
	}
	return nil
}

// UnmarshalObject implements Codec.
func (c *JSONCodec) UnmarshalObject(raw []byte) (map[string]any, error) {
	var v any
	if err := json.Unmarshal(raw, &v, c.untype); err != nil {
		return nil, plainFieldError(err)
	}
	m, ok := v.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("is not a JSON object")
	}
	return m, nil
}

// Marshal encodes v as encoding/json does, but escapes nothing for HTML: raw JSON within v stays as it is, without its
// white space.
func (c *JSONCodec) Marshal(v any) ([]byte, error) {
	plain := json.JoinOptions(jsontext.EscapeForHTML(false), jsontext.EscapeForJS(false))
	data, err := json.Marshal(v, c.exact, plain)
	if err != nil {
		if _, located := json.Marshal(v, c.fast, plain); located != nil { // it says where
			err = located
		}
	}
	return data, err
}

// readTime decodes a time. The time's own method would make a second decoder for each; a pod
// has some eight times. Only texts that are not strictly RFC 3339 go to that method.
func readTime(dec *jsontext.Decoder, t *metav1.Time) error {
	raw, err := dec.ReadValue()
	if err != nil {
		return err
	}
	if text, ok := Text(raw); ok {
		var parsed time.Time // a failure would clear it
		if parsed.UnmarshalText(text) == nil {
			t.Time = parsed.Local()
			return nil
		}
	}
	return t.UnmarshalJSON(raw)
}

// readNumber decodes a json.Number like encoding/json: a number as written, however large or
// small, or a string that holds one.
func readNumber(dec *jsontext.Decoder, n *stdjson.Number) error {
	raw, err := dec.ReadValue()
	if err != nil {
		return err
	}
	text, quoted := Text(raw)
	switch kind := jsontext.Value(raw).Kind(); {
	case kind == '0':
		*n = stdjson.Number(raw)
	case quoted && isNumber(text):
		*n = stdjson.Number(text)
	case kind != 'n': // null changes nothing
		got := strings.TrimPrefix(KindName(raw[0]), "a JSON ")
		return &fieldError{
			path: pointerPath(dec.StackPointer()), at: dec.InputOffset() - int64(len(raw)), got: got, want: reflect.TypeFor[stdjson.Number](),
		}
	}
	return nil
}

// isNumber reports whether text is a JSON number and nothing else.
func isNumber(text []byte) bool {
	v := jsontext.Value(text)
	return v.Kind() == '0' && v.IsValid() && !bytes.ContainsAny(text, " \t\r\n")
}

// readUntyped decodes the next value with apimachinery's types for untyped values:
// map[string]any, []any, string, bool, int64, float64 and nil. Its recursion is as deep as the
// value's nesting, which jsontext limits to 10,000.
func readUntyped(dec *jsontext.Decoder, strings *kubeproto.Strings) (any, error) {
	switch dec.PeekKind() {
	case '{':
		return readUntypedObject(dec, strings)
	case '[':
		return readUntypedArray(dec, strings)
	case '"':
		raw, err := dec.ReadValue()
		if err != nil {
			return nil, err
		}
		return shareText(strings, raw), nil
	}
	tok, err := dec.ReadToken()
	if err != nil {
		return nil, err
	}
	switch tok.Kind() {
	case '0':
		text := tok.String()
		v, err := untypedNumber(text)
		if err != nil {
			err = &fieldError{path: pointerPath(dec.StackPointer()), at: dec.InputOffset() - int64(len(text)), err: err}
		}
		return v, err
	case 't', 'f':
		return tok.Bool(), nil
	}
	return nil, nil
}

func readUntypedObject(dec *jsontext.Decoder, strings *kubeproto.Strings) (any, error) {
	if _, err := dec.ReadToken(); err != nil {
		return nil, err
	}
	m := map[string]any{}
	for dec.PeekKind() != '}' {
		name, err := dec.ReadValue()
		if err != nil {
			return nil, err
		}
		key := shareText(strings, name)
		if m[key], err = readUntyped(dec, strings); err != nil {
			return nil, err
		}
	}
	_, err := dec.ReadToken()
	return m, err
}

func readUntypedArray(dec *jsontext.Decoder, strings *kubeproto.Strings) (any, error) {
	if _, err := dec.ReadToken(); err != nil {
		return nil, err
	}
	list := []any{}
	for dec.PeekKind() != ']' {
		v, err := readUntyped(dec, strings)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	_, err := dec.ReadToken()
	return list, err
}

func untypedNumber(text string) (any, error) {
	if !strings.Contains(text, ".") {
		if i, err := strconv.ParseInt(text, 10, 64); err == nil {
			return i, nil
		}
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return nil, fmt.Errorf("number %s does not fit a float64", keytext.Short(text, maxShown))
	}
	return f, nil
}

// holdsUntyped reports whether decoding into t can reach an empty interface. It does not look
// into types with their own decoding methods.
func holdsUntyped(t reflect.Type, seen map[reflect.Type]bool) bool {
	if seen[t] {
		return false
	}
	seen[t] = true
	if p := reflect.PointerTo(t); p.Implements(reflect.TypeFor[stdjson.Unmarshaler]()) ||
		p.Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) {
		return false
	}
	switch t.Kind() {
	case reflect.Interface:
		return t.NumMethod() == 0
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		return holdsUntyped(t.Elem(), seen)
	case reflect.Struct:
		for i := range t.NumField() {
			if holdsUntyped(t.Field(i).Type, seen) {
				return true
			}
		}
	}
	return false
}
