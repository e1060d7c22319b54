package decode

import (
	"errors"
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/kinform/kinform/internal/kubeproto"
)

// stringUnmarshaler decodes shared strings. Values that are not strings go to the usual
// decoder.
func stringUnmarshaler(shared *kubeproto.Strings) *json.Unmarshalers {
	return json.UnmarshalFromFunc(func(dec *jsontext.Decoder, s *string) error {
		if dec.PeekKind() != '"' {
			return errors.ErrUnsupported
		}
		raw, err := dec.ReadValue()
		if err == nil {
			*s = shareText(shared, raw)
		}
		return err
	})
}

// shareText returns the shared string for a raw JSON string.
func shareText(shared *kubeproto.Strings, raw []byte) string {
	text, _ := Text(raw)
	if !utf8.Valid(text) {
		text, _ = jsontext.AppendUnquote(nil, raw)
	}
	return shared.Get(text)
}

// quotesStrings reports whether a string in t has the option ",string" of encoding/json, which
// only the usual decoder handles.
func quotesStrings(t reflect.Type, seen map[reflect.Type]bool) bool {
	return anyField(t, seen, func(f reflect.StructField) bool {
		_, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		var option string
		for options != "" {
			if option, options, _ = strings.Cut(options, ","); option == "string" {
				return true
			}
		}
		return false
	})
}

// anyField reports whether f is true for a field of a struct that t can reach.
func anyField(t reflect.Type, seen map[reflect.Type]bool, f func(reflect.StructField) bool) bool {
	if seen[t] {
		return false
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		return anyField(t.Elem(), seen, f)
	case reflect.Struct:
		for i := range t.NumField() {
			if field := t.Field(i); f(field) || anyField(field.Type, seen, f) {
				return true
			}
		}
	}
	return false
}
