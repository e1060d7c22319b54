package wire_test

import (
	"bytes"
	"errors"
	"net/http"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/fake/internal/wire"
)

func TestNegotiate(t *testing.T) {
	const partial, table = ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1", ";as=Table;g=meta.k8s.io;v=v1"
	for _, c := range []struct {
		accept   string
		protobuf bool
		want     wire.Media
		refused  bool
	}{
		{accept: ""},
		{accept: "*/*"},
		{accept: "application/*;q=0.8", protobuf: true, refused: true},
		{accept: wire.JSON + ";q=0.1, " + wire.YAML + ";q=x," + wire.Protobuf + ";q=0.5", protobuf: true, want: wire.Media{YAML: true}},
		{accept: "text/html, application/json"},
		{accept: wire.Protobuf, refused: true},
		{accept: wire.Protobuf + "," + wire.JSON},
		{accept: wire.Protobuf + "," + wire.JSON, protobuf: true, want: wire.Media{Protobuf: true}},
		{accept: wire.Protobuf + partial, want: wire.Media{Protobuf: true, Form: wire.Partial}},
		{accept: wire.Protobuf + table, protobuf: true, refused: true},
		{accept: wire.JSON + table, want: wire.Media{Form: wire.Table, Include: metav1.IncludeMetadata}},
		{accept: wire.JSON + ";as=Table;g=meta.k8s.io;v=v2," + wire.JSON + partial, want: wire.Media{Form: wire.Partial}},
		{accept: "text/html", refused: true},
		{accept: "text/html, " + wire.YAML, want: wire.Media{YAML: true}},
		{accept: wire.YAML + partial, want: wire.Media{YAML: true, Form: wire.Partial}},
		{accept: wire.YAML + table, want: wire.Media{YAML: true, Form: wire.Table, Include: metav1.IncludeMetadata}},
		{accept: wire.YAML + ";v=2", refused: true},
		{accept: "application/json;;=", refused: true},
	} {
		r := &http.Request{Header: http.Header{"Accept": {c.accept}}}
		r.URL, _ = r.URL.Parse("http://fake.invalid/")
		got, err := wire.Offer{Protobuf: c.protobuf}.Negotiate(r)
		if got != c.want || apierrors.IsNotAcceptable(err) != c.refused || (err != nil) != c.refused {
			t.Errorf("Accept %q, protobuf %t: %+v, %v", c.accept, c.protobuf, got, err)
		}
	}
}

// TestWordsOfRefusals: they depend on how far the API server reads the headers.
func TestWordsOfRefusals(t *testing.T) {
	for _, c := range []struct {
		accept string
		offer  wire.Offer
		want   string
	}{
		{"text/html", wire.Offer{}, "406: Not Acceptable\n\nAvailable representations: application/json, application/yaml, application/vnd.kubernetes.protobuf"},
		{"text/html", wire.Offer{Collection: true}, "406: Not Acceptable\n\nAvailable representations: application/json, application/yaml, " +
			"application/vnd.kubernetes.protobuf, application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch"},
		{"text/html", wire.Offer{Custom: true}, "only the following media types are accepted: application/json, application/yaml, application/vnd.kubernetes.protobuf"},
		{"application/yaml,application/json", wire.Offer{Watch: true}, "only the following media types are accepted: application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch"},
	} {
		r := &http.Request{Header: http.Header{"Accept": {c.accept}}}
		if _, err := c.offer.Negotiate(r); !apierrors.IsNotAcceptable(err) || err.Error() != c.want {
			t.Errorf("Accept %q, %+v: %v", c.accept, c.offer, err)
		}
	}
}

func TestPreferred(t *testing.T) {
	for accept, want := range map[string]string{
		"": wire.JSON, "text/html": "", "text/html,*/*": wire.JSON, "text/html;q=1, application/yaml;a=b": wire.YAML, "application/yaml,application/json": wire.YAML, ";;": "",
	} {
		got, ok := wire.Preferred([]string{accept}, wire.JSON, wire.YAML)
		if !ok {
			got = ""
		}
		if got != want {
			t.Errorf("%q: %q, want %q", accept, got, want)
		}
	}
	for accept, want := range map[string]bool{"": false, wire.YAML: true, wire.YAML + ";v=2": false, "text/html," + wire.YAML: true, wire.Protobuf + "," + wire.YAML: false} {
		if got := wire.PrefersYAML([]string{accept}); got != want {
			t.Errorf("a Status for %q in YAML: %t", accept, got)
		}
	}
}

func TestIncludeObject(t *testing.T) {
	for query, want := range map[string]metav1.IncludeObjectPolicy{"": "Metadata", "None": "None", "Object": "Object", "All": ""} {
		r := &http.Request{Header: http.Header{"Accept": {"application/json;as=Table;g=meta.k8s.io;v=v1"}}}
		r.URL, _ = r.URL.Parse("http://fake.invalid/?includeObject=" + query)
		if m, err := new(wire.Offer).Negotiate(r); m.Include != want || apierrors.IsBadRequest(err) != (want == "") {
			t.Errorf("%q: %+v, %v", query, m, err)
		}
	}
}

func TestEnvelope(t *testing.T) {
	kind := metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"}
	raw := bytes.Repeat([]byte("x"), 300)
	b, err := wire.Envelope(kind, func() ([]byte, error) { return raw, nil })
	if err != nil || !bytes.HasPrefix(b, wire.EnvelopeHead(kind, len(raw))) {
		t.Fatalf("%q, %v", b, err)
	}
	gotKind, got, err := wire.OpenEnvelope(b)
	if gotKind != kind || !bytes.Equal(got, raw) || err != nil {
		t.Errorf("opened %v %q, %v", gotKind, got, err)
	}
	if _, _, err := wire.OpenEnvelope([]byte("{}")); err == nil {
		t.Error("JSON has an envelope")
	}
}

// embeds inherits the protobuf methods of its metadata, as a hand-written type may.
type embeds struct{ metav1.ObjectMeta }

// panics has methods that panic.
type panics struct{ metav1.PartialObjectMetadata }

func (*panics) Marshal() ([]byte, error)   { panic("boom") }
func (*panics) Unmarshal([]byte) error     { panic("boom") }
func (*panics) UnmarshalJSON([]byte) error { panic("boom") }

func TestTypesWithoutProtobuf(t *testing.T) {
	if !wire.HasProtobuf(func() *metav1.PartialObjectMetadata { return &metav1.PartialObjectMetadata{} }) {
		t.Error("PartialObjectMetadata has protobuf")
	}
	if wire.HasProtobuf(func() *embeds { return &embeds{} }) || wire.HasProtobuf(func() *panics { return &panics{} }) {
		t.Error("inherited or broken methods count as protobuf")
	}
	if _, err := wire.MarshalProtobuf("text"); err == nil {
		t.Error("a string was encoded")
	}
	for name, err := range map[string]error{
		"Unmarshal":     wire.UnmarshalProtobuf(nil, &panics{}),
		"UnmarshalJSON": wire.UnmarshalJSON(nil, &panics{}),
	} {
		if err == nil || err.Error() != "panic: boom" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestUnmarshalChecksTheKindFirst(t *testing.T) {
	wrong := errors.New("wrong kind")
	refuse := func(kind metav1.TypeMeta) error {
		if kind.Kind != "Pod" {
			t.Errorf("kind %v", kind)
		}
		return wrong
	}
	enveloped, err := wire.Envelope(metav1.TypeMeta{Kind: "Pod"}, func() ([]byte, error) { return []byte("no object"), nil })
	if err != nil {
		t.Fatal(err)
	}
	for format, body := range map[string]string{wire.JSON: `{"kind":"Pod","metadata":7}`, wire.YAML: "kind: Pod\nmetadata: 7", wire.Protobuf: string(enveloped)} {
		if err := wire.Unmarshal(format, []byte(body), &panics{}, refuse); err != wrong {
			t.Errorf("%s: %v", format, err)
		}
	}
	var none wire.KindError
	if err := wire.Unmarshal(wire.JSON, []byte("[]"), &panics{}, refuse); !errors.As(err, &none) {
		t.Errorf("no object: %v", err)
	}
}

func TestYAMLToJSON(t *testing.T) {
	for text, want := range map[string]string{
		"a: 1152921504606846977": `{"a":1152921504606846977}`,
		`{"a": 1}`:               `{"a": 1}`,
		"{a: 1, b: [x]}":         `{"a":1,"b":["x"]}`,
		"# nothing":              "null",
	} {
		if got, err := wire.YAMLToJSON([]byte(text)); string(got) != want || err != nil {
			t.Errorf("%q: %s, %v", text, got, err)
		}
	}
}
