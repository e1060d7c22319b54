package decode

import (
	"reflect"
	"testing"
)

// An object has the same contents in a list, where the server leaves out its kind and apiVersion, and
// in a watch. Everything else is left as it is.
func TestContents(t *testing.T) {
	c := NewJSONCodec(reflect.TypeFor[map[string]any](), Unlimited)
	for raw, want := range map[string]string{
		`{"metadata":{"name":"a"}}`:                                `"metadata":{"name":"a"}}`,
		`{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a"}}`: `"metadata":{"name":"a"}}`,
		`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"}}`: `"metadata":{"name":"a"}}`,
		`{"kind":"P\"d","metadata":{}}`:                            `"kind":"P\"d","metadata":{}}`,
		`{"kind":7,"metadata":{}}`:                                 `"kind":7,"metadata":{}}`,
		`{"kind":"Pod"}`:                                           `"kind":"Pod"}`,
		`{"metadata":{},"kind":"Pod"}`:                             `"metadata":{},"kind":"Pod"}`,
		`{ "kind":"Pod"}`:                                          ` "kind":"Pod"}`,
		`{}`:                                                       `}`,
		`{"kind":"`:                                                `"kind":"`,
		``:                                                         ``,
		`null`:                                                     `null`,
	} {
		if got := string(c.Contents([]byte(raw))); got != want {
			t.Errorf("%s: got %s, want %s", raw, got, want)
		}
	}
}
