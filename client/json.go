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

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"
)

// Everything that knows which JSON library is used is in this file. It is the module that
// becomes encoding/json/v2; when the toolchain ships that, only this file changes.

// jsonCodec decodes single values with the rules that clients of the API server follow
// (sigs.k8s.io/json): those of encoding/json, but field names match case-sensitively, and
// a number in an untyped value is an int64 where it can be. Duplicate names and invalid
// UTF-8 are accepted, as they are there: the last one wins, and U+FFFD replaces the bytes.
//
// Immutable, so safe for concurrent use.
type jsonCodec struct {
	fast   json.Options
	exact  json.Options
	untype json.Options
}

// newJSONCodec makes the codec for values of type t. Only a type that holds an untyped
// value pays for telling integers and floats apart in it.
func newJSONCodec(t reflect.Type) jsonCodec {
	rules := json.JoinOptions(jsonv1.DefaultOptionsV1(), json.MatchCaseInsensitiveNames(false))
	untyped := json.JoinOptions(rules, json.WithUnmarshalers(json.UnmarshalFromFunc(decodeUntyped)))
	if holdsUntyped(t, map[reflect.Type]bool{}) {
		rules = untyped
	}
	return jsonCodec{
		// The caller has delimited the value, so its syntax is known to be right, and
		// the legacy way of reporting errors would only parse it twice.
		fast:   json.JoinOptions(rules, jsonv1.ReportErrorsWithLegacySemantics(false)),
		exact:  rules,
		untype: untyped,
	}
}

// unmarshal decodes one complete JSON value into *v.
func (c *jsonCodec) unmarshal(raw []byte, v any) error {
	return json.Unmarshal(raw, v, c.fast)
}

// unmarshalExact is slower than unmarshal. It accepts Go types with questionable struct
// tags that encoding/json accepts, and decodes past a field that does not fit, so that *v
// is filled as far as it can be even if an error is returned.
func (c *jsonCodec) unmarshalExact(raw []byte, v any) error {
	return json.Unmarshal(raw, v, c.exact)
}

// unmarshalObject decodes a JSON object for an unstructured.Unstructured.
func (c *jsonCodec) unmarshalObject(raw []byte) (map[string]any, error) {
	var v any
	if err := json.Unmarshal(raw, &v, c.untype); err != nil {
		return nil, err
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

// decodeUntyped decodes the next value into *v with the types that apimachinery gives
// untyped values: map[string]any, []any, string, bool, int64, float64 and nil. What *v
// held, from a duplicate name, is replaced.
func decodeUntyped(dec *jsontext.Decoder, v *any) error {
	var err error
	*v, err = readUntyped(dec)
	return err
}

// readUntyped recurses as deep as the value nests, which jsontext limits to 10,000.
func readUntyped(dec *jsontext.Decoder) (any, error) {
	tok, err := dec.ReadToken()
	if err != nil {
		return nil, err
	}
	switch tok.Kind() {
	case '{':
		m := map[string]any{}
		for dec.PeekKind() != '}' {
			name, err := dec.ReadToken()
			if err != nil {
				return nil, err
			}
			key := name.String()
			if m[key], err = readUntyped(dec); err != nil {
				return nil, err
			}
		}
		_, err := dec.ReadToken()
		return m, err
	case '[':
		list := []any{}
		for dec.PeekKind() != ']' {
			v, err := readUntyped(dec)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		_, err := dec.ReadToken()
		return list, err
	case '"':
		return tok.String(), nil
	case '0':
		return untypedNumber(tok.String())
	case 't', 'f':
		return tok.Bool(), nil
	}
	return nil, nil
}

func untypedNumber(text string) (any, error) {
	if !strings.Contains(text, ".") {
		if i, err := strconv.ParseInt(text, 10, 64); err == nil {
			return i, nil
		}
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
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

// jsonReader reads a body member by member, holding no more of it than one value.
type jsonReader struct {
	dec *jsontext.Decoder
}

func newJSONReader(r io.Reader) *jsonReader {
	return &jsonReader{dec: jsontext.NewDecoder(r, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))}
}

// peek returns the first byte of what comes next: one of {}[]"0ntf. When nothing can be
// read it returns the error, which is io.EOF between two top-level values.
func (r *jsonReader) peek() (byte, error) {
	k := r.dec.PeekKind()
	if k == jsontext.KindInvalid {
		_, err := r.dec.ReadToken()
		if err == nil {
			err = io.ErrUnexpectedEOF // cannot be: a failed peek makes the read fail
		}
		return 0, err
	}
	return byte(k), nil
}

// open reads delim, which is { or [. Anything else there is a *shapeError.
func (r *jsonReader) open(delim byte) error {
	k, err := r.peek()
	if err != nil {
		return err
	}
	if k != delim {
		return &shapeError{want: delim, got: k}
	}
	_, err = r.dec.ReadToken()
	return err
}

// more reports whether another member or element comes before delim, which it reads if
// none does.
func (r *jsonReader) more(delim byte) (bool, error) {
	k, err := r.peek()
	if err != nil || k != delim {
		return err == nil, err
	}
	_, err = r.dec.ReadToken()
	return false, err
}

// value reads a whole value. The slice is valid until the next call of any method.
func (r *jsonReader) value() ([]byte, error) { return r.dec.ReadValue() }

// skip passes over a value without holding it.
func (r *jsonReader) skip() error { return r.dec.SkipValue() }

// offset is the number of bytes read as tokens so far.
func (r *jsonReader) offset() int64 { return r.dec.InputOffset() }

// delimit returns the one JSON value in body, without what surrounds it.
func delimit(body []byte) ([]byte, error) {
	raw := bytes.TrimSpace(body)
	r := newJSONReader(bytes.NewReader(raw))
	err := r.skip()
	if err == io.EOF {
		return nil, io.ErrUnexpectedEOF
	}
	if err == nil {
		if _, end := r.peek(); end != io.EOF {
			err = errors.New("more than one JSON value")
		}
	}
	return raw, err
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

// isForeign reports whether err says that what was read is no JSON, or other JSON than
// expected, rather than that reading failed or ended too early.
func isForeign(err error) bool {
	var syntax *jsontext.SyntacticError
	var shape *shapeError
	return errors.As(err, &shape) || errors.As(err, &syntax) && !errors.Is(err, io.ErrUnexpectedEOF)
}
