package client

import (
	"bytes"
	"encoding"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/internal/kubeproto"
)

// Everything that knows which JSON library is used is in the files json.go, jsonerrors.go,
// interning.go and cborvalue.go. It is the module that becomes encoding/json/v2; when the
// toolchain ships that, only they change.

// jsonCodec decodes single values with the rules that clients of the API server follow
// (sigs.k8s.io/json): those of encoding/json, but field names match case-sensitively, and
// a number in an untyped value is an int64 where it can be. Duplicate names and invalid
// UTF-8 are accepted, as they are there: the last one wins, and U+FFFD replaces the bytes.
//
// Immutable, so safe for concurrent use; but one that shares strings belongs to one
// goroutine.
type jsonCodec struct {
	fast   json.Options
	exact  json.Options
	untype json.Options

	untyped bool // the type holds an untyped value
	quotes  bool // the strings of the type are decoded in the usual way
	sorted  bool // JSON that a type keeps as it is gets its members sorted
}

// newJSONCodec makes the codec for values of type t.
func newJSONCodec(t reflect.Type) jsonCodec {
	c := jsonCodec{untyped: holdsUntyped(t, map[reflect.Type]bool{}), quotes: quotesStrings(t, map[reflect.Type]bool{})}
	return *c.sharing(nil)
}

// sorting returns the codec for the same type that sorts the members of JSON which a type keeps
// as it is, such as that of metav1.FieldsV1 and runtime.RawExtension: CBOR has them in an
// order of its own. What the type gets is what apimachinery's CBOR serializer makes of it.
func (c *jsonCodec) sorting() *jsonCodec {
	s := *c
	s.sorted = true
	return s.sharing(nil)
}

// sharing returns the codec for the same type that makes equal strings share memory. nil
// allocates each.
func (c *jsonCodec) sharing(strings *kubeproto.Strings) *jsonCodec {
	rules := json.JoinOptions(jsonv1.DefaultOptionsV1(), json.MatchCaseInsensitiveNames(false))
	// Only a type that holds an untyped value pays for telling integers and floats apart.
	anything := json.UnmarshalFromFunc(func(dec *jsontext.Decoder, v *any) (err error) {
		*v, err = readUntyped(dec, strings) // what *v held, from a duplicate name, is replaced
		return err
	})
	own := []*json.Unmarshalers{json.UnmarshalFromFunc(readTime), json.UnmarshalFromFunc(readNumber)}
	if c.sorted {
		own = append(own, json.UnmarshalFromFunc(readSorted))
	}
	if c.untyped {
		own = append(own, anything)
	}
	if strings != nil && !c.quotes {
		own = append(own, stringUnmarshaler(strings))
	}
	exact := json.JoinOptions(rules, json.WithUnmarshalers(json.JoinUnmarshalers(own...)))
	return &jsonCodec{
		// The caller has delimited the value, so its syntax is known to be right, and
		// the legacy way of reporting errors would only parse it twice.
		fast:    json.JoinOptions(exact, jsonv1.ReportErrorsWithLegacySemantics(false)),
		exact:   exact,
		untype:  json.JoinOptions(rules, json.WithUnmarshalers(anything)),
		untyped: c.untyped,
		quotes:  c.quotes,
		sorted:  c.sorted,
	}
}

// unmarshal decodes one complete JSON value into *v.
func (c *jsonCodec) unmarshal(raw []byte, v any) error {
	if err := json.Unmarshal(raw, v, c.fast); err != nil {
		return plainFieldError(err)
	}
	return nil
}

// unmarshalExact is slower than unmarshal. It accepts Go types with questionable struct
// tags that encoding/json accepts, and decodes past a field that does not fit, so that *v
// is filled as far as it can be even if an error is returned.
func (c *jsonCodec) unmarshalExact(raw []byte, v any) error {
	if err := json.Unmarshal(raw, v, c.exact); err != nil {
		return plainFieldError(err)
	}
	return nil
}

// unmarshalObject decodes a JSON object for an unstructured.Unstructured.
func (c *jsonCodec) unmarshalObject(raw []byte) (map[string]any, error) {
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

// marshal encodes v as encoding/json does.
func (c *jsonCodec) marshal(v any) ([]byte, error) {
	return json.Marshal(v, c.exact)
}

// readTime decodes a time as its own method does, which makes a second decoder for each; a
// pod has some eight. That method is asked for whatever is not strictly RFC 3339.
func readTime(dec *jsontext.Decoder, t *metav1.Time) error {
	raw, err := dec.ReadValue()
	if err != nil {
		return err
	}
	if text, ok := jsonText(raw); ok {
		var parsed time.Time // a failure would clear it
		if parsed.UnmarshalText(text) == nil {
			t.Time = parsed.Local()
			return nil
		}
	}
	return t.UnmarshalJSON(raw)
}

// readNumber decodes a json.Number as encoding/json does: a number as it is written, however
// large or small, and a string that holds one.
func readNumber(dec *jsontext.Decoder, n *stdjson.Number) error {
	raw, err := dec.ReadValue()
	if err != nil {
		return err
	}
	text, quoted := jsonText(raw)
	switch kind := jsontext.Value(raw).Kind(); {
	case kind == '0':
		*n = stdjson.Number(raw)
	case quoted && isNumber(text):
		*n = stdjson.Number(text)
	case kind != 'n': // null changes nothing
		got := strings.TrimPrefix(jsonKind(raw[0]), "a JSON ")
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

// readSorted decodes an object or array for a type that decodes itself.
func readSorted(dec *jsontext.Decoder, u stdjson.Unmarshaler) error {
	if k := dec.PeekKind(); k != '{' && k != '[' {
		return errors.ErrUnsupported // has no order
	}
	raw, err := dec.ReadValue()
	if err != nil {
		return err
	}
	sorted, err := appendSorted(make([]byte, 0, len(raw)), raw)
	if err != nil {
		return err
	}
	return u.UnmarshalJSON(sorted)
}

// readUntyped decodes the next value with the types that apimachinery gives untyped
// values: map[string]any, []any, string, bool, int64, float64 and nil. It recurses as deep
// as the value nests, which jsontext limits to 10,000.
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
		if len(text) > maxShown {
			text = text[:maxShown] + "…"
		}
		return nil, fmt.Errorf("number %s does not fit a float64", text)
	}
	return f, nil
}

// holdsUntyped reports whether decoding into t can reach an empty interface. Types that
// decode themselves are not looked into.
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

// syntaxError is text that is no JSON, or that ends too early.
type syntaxError struct {
	at  int64 // byte in the body
	err error // without the name of the library
}

func (e *syntaxError) Error() string {
	return fmt.Sprintf("malformed JSON at byte %d: %v", e.at, e.err)
}
func (e *syntaxError) Unwrap() error { return e.err }

// appendJSON appends the header, as an object that scanStart reads.
func (h *header) appendJSON(b []byte) []byte {
	member := func(before, text string) {
		b = append(b, before...)
		b, _ = jsontext.AppendQuote(b, text) // an error only tells of invalid UTF-8
	}
	member(`{"apiVersion":`, h.APIVersion)
	member(`,"kind":`, h.Kind)
	member(`,"metadata":{"name":`, h.Metadata.Name)
	member(`,"namespace":`, h.Metadata.Namespace)
	member(`,"resourceVersion":`, h.Metadata.ResourceVersion)
	return append(b, "}}"...)
}

// delimit returns the one JSON value in body, without what surrounds it.
func delimit(body []byte) ([]byte, error) {
	raw := bytes.TrimSpace(body)
	if len(raw) == 0 {
		return nil, io.ErrUnexpectedEOF
	}
	return raw, checkSyntax(raw, int64(len(body)-len(bytes.TrimLeft(body, " \t\r\n"))))
}

// jsonText returns the string that a raw JSON string stands for; ok is false if raw is none.
// It allocates nothing for the short plain strings that it is used for, if the result
// does not escape.
func jsonText(raw []byte) (text []byte, ok bool) {
	if len(raw) < 2 || raw[0] != '"' {
		return nil, false
	}
	if inner := raw[1 : len(raw)-1]; bytes.IndexByte(inner, '\\') < 0 {
		return inner, true
	}
	text, _ = jsontext.AppendUnquote(nil, raw) // an error only tells of invalid UTF-8
	return text, true
}

// shapeError is well-formed JSON of another kind than the protocol has at this place.
type shapeError struct{ want, got byte }

func (e *shapeError) Error() string {
	return fmt.Sprintf("%s where %s is expected", jsonKind(e.got), jsonKind(e.want))
}

func jsonKind(k byte) string {
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

// isForeign reports whether err says that what was read is no JSON or CBOR, or other than
// expected, rather than that reading failed or ended too early.
func isForeign(err error) bool {
	var syntax *syntaxError
	var malformed *malformedError
	var shape *shapeError
	return errors.As(err, &shape) || (errors.As(err, &syntax) || errors.As(err, &malformed)) && !errors.Is(err, io.ErrUnexpectedEOF)
}
