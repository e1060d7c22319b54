package decode

import (
	"bytes"
	"io"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/go-json-experiment/json/jsontext"
)

// stated is what the decoder makes of the members that a walk notes.
type stated struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Namespace       string `json:"namespace"`
		Name            string `json:"name"`
		UID             string `json:"uid"`
		ResourceVersion string `json:"resourceVersion"`
	} `json:"metadata"`
}

func (s State) stated() (out stated) {
	out.APIVersion, out.Kind = string(s.APIVersion), string(s.Kind)
	m := &out.Metadata
	m.Namespace, m.Name, m.UID, m.ResourceVersion = string(s.Namespace), string(s.Name), string(s.UID), string(s.ResourceVersion)
	return out
}

// stateSamples are objects, and whether a walk tells their state.
var stateSamples = map[string]bool{
	`{"metadata":{"name":"a","uid":"u","resourceVersion":"1"}}`:                                                                    true,
	` {"kind" : "Pod", "apiVersion":"v1","metadata" :{"uid":"u" ,"resourceVersion":"1","name":"a","namespace":"n"},"spec":{}}`:     true, // begins with a space
	`{"kind" : "Pod", "apiVersion":"v1","metadata" :{"uid":"u" ,"resourceVersion":"1","name":"a","namespace":"n"},"spec":{}}`:      true,
	`{"spec":{"metadata":{"uid":"x"},"a":[{"kind":"\"}"}]},"status":null,"metadata":{"name":"a","uid":"u","resourceVersion":"1"}}`: true, // last
	`{"metadata":{"labels":{"uid":"x"},"name":"a","uid":"u","managedFields":[{"f:uid":{}}],"resourceVersion":"1"},"n":-1.5e3}`:     true,
	`{"metadata":{"name":"a","uid":"u","resourceVersion":"1"},"metadata":{"uid":"v"}}`:                                             false, // twice
	`{"metadata":{"name":"a","uid":"u","resourceVersion":"1"},"metadata":null}`:                                                    false,
	`{"metadata":null,"metadata":{"name":"a","uid":"u","resourceVersion":"1"}}`:                                                    false,
	`{"metadata":{"name":"a","uid":"u","uid":"v","resourceVersion":"1"}}`:                                                          false,
	`{"metadata":{"name":"a","uid":"u","resourceVersion":"1","uid":null}}`:                                                         false,
	`{"kind":"A","metadata":{"name":"a","uid":"u","resourceVersion":"1"},"kind":"B"}`:                                              false,
	`{"kind":1,"metadata":{"name":"a","uid":"u","resourceVersion":"1"}}`:                                                           false,
	`{"metadata":{"name":"a","uid":"u","resourceVersion":"1"},"metad\u0061ta":{"uid":"v"}}`:                                        false, // an escape
	`{"metadata":{"name":"a","uid":"u","resourceVersion":"1","u\u0069d":"v"}}`:                                                     false,
	`{"metadata":{"name":"a","uid":"\u0075","resourceVersion":"1"}}`:                                                               false,
	`{"metadata":{"name":"é","uid":"u","resourceVersion":"1"}}`:                                                                    false,
	"{\"metadata\":{\"name\":\"\xff\",\"uid\":\"u\",\"resourceVersion\":\"1\"}}":                                                   false,
	`{"metadata":{"name":"a","uid":"u","resourceVersion":"1"},"Metadata":{"uid":"v"},"METADATA":1}`:                                true, // other members
	`{"metadata":{"name":"a","uid":"u","resourceVersion":"1","UID":"v"}}`:                                                          true,
	`{"metadata":{"name":"a","uid":"u","resourceVersion":1}}`:                                                                      false,
	`{"metadata":{"name":"a","uid":"u"}}`:                                                                                          false,
	`{"metadata":{"name":"a","resourceVersion":"1"}}`:                                                                              false,
	`{"metadata":{"name":"","uid":"u","resourceVersion":"1"}}`:                                                                     false,
	`{"metadata":{"uid":"u","resourceVersion":"1"}}`:                                                                               false,
	`{"metadata":[]}`: false,
	`{}`:              false,
	`[]`:              false,
	`"metadata"`:      false,
	`null`:            false,
	``:                false,
}

func TestState(t *testing.T) {
	for raw, want := range stateSamples {
		if s, _, err := readObject(strings.NewReader(raw), Unlimited); (s.UID != nil) != want {
			t.Errorf("the state of %s: %+v, %v", raw, s.stated(), err)
		}
		checkState(t, []byte(raw))
	}
	deep := strings.Repeat(`{"metadata":[`, 2000) + strings.Repeat(`]}`, 2000)
	checkState(t, []byte(`{"spec":`+deep+`,"metadata":{"name":"a","uid":"u","resourceVersion":"1"}}`))
}

// readObject reads the state of the first value in raw, and the value.
func readObject(in io.Reader, limit int64) (s State, raw []byte, err error) {
	raw, err = NewJSON(in, limit).Object(&s)
	return s, raw, err
}

// checkState compares the values and states that a walk finds with the decoders, typed and untyped,
// however reads are cut.
func checkState(t *testing.T, body []byte) {
	t.Helper()
	whole, wholeErr := jsontext.NewDecoder(bytes.NewReader(body), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)).ReadValue()
	s, raw, err := readObject(bytes.NewReader(body), Unlimited)
	if len(body) > 0 && bytes.IndexByte([]byte(`{["`), body[0]) >= 0 && (err != nil) != (wholeErr != nil) || err == nil && !bytes.Equal(raw, whole) {
		t.Errorf("the value in %q is %q, %v, want %q, %v", body, raw, err, whole, wholeErr)
		return
	}
	for _, in := range []io.Reader{iotest.OneByteReader(bytes.NewReader(body)), iotest.DataErrReader(bytes.NewReader(body))} {
		s2, raw2, err2 := readObject(in, Unlimited)
		if s2.stated() != s.stated() || !bytes.Equal(raw2, raw) || (err2 != nil) != (err != nil) {
			t.Errorf("%q in pieces: %+v, %q, %v, want %+v, %q, %v", body, s2.stated(), raw2, err2, s.stated(), raw, err)
		}
	}
	if err == nil {
		if _, _, err := readObject(bytes.NewReader(body), int64(len(raw))-1); err != ErrOverLimit {
			t.Errorf("%q over the limit: %v", raw, err)
		}
	}
	if err != nil || s.UID == nil {
		return
	}
	got := s.stated()
	typed := NewJSONCodec(reflect.TypeFor[stated](), Unlimited)
	var want stated
	if err := typed.Unmarshal(raw, &want); err != nil || got != want {
		t.Errorf("the state of %s = %+v, want %+v, %v", raw, got, want, err)
	}
	object, err := typed.UnmarshalObject(raw)
	if err != nil {
		return // a number that nobody can hold
	}
	meta, _ := object["metadata"].(map[string]any)
	for name, text := range map[string]string{
		"namespace": got.Metadata.Namespace, "name": got.Metadata.Name, "uid": got.Metadata.UID, "resourceVersion": got.Metadata.ResourceVersion,
	} {
		if s, _ := meta[name].(string); s != text {
			t.Errorf("%s of %s is %q, want %q", name, raw, text, s)
		}
	}
}

func FuzzState(f *testing.F) {
	for raw := range stateSamples {
		f.Add([]byte(raw))
	}
	f.Fuzz(func(t *testing.T, raw []byte) { checkState(t, raw) })
}
