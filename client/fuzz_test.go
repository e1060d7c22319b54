package client_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/kind"
	"github.com/kinform/kinform/reflector"
)

// seed adds the smaller recordings that match, and bodies of the other tests. Go's fuzzer
// spends its time minimizing large ones.
func seed(f *testing.F, match func(recording) bool, more ...string) {
	for _, rec := range recordings(f, match) {
		if len(rec.body) > 2500 {
			continue
		}
		// Of the resource that the fuzz targets read, so that they are not just refused.
		body := strings.NewReplacer(`"apiVersion":"v1"`, `"apiVersion":"example.com/v1"`, `"kind":"Pod`, `"kind":"Widget`,
			`"kind":"ConfigMap`, `"kind":"Widget`).Replace(string(rec.body))
		f.Add([]byte(body))
	}
	for _, body := range more {
		f.Add([]byte(body))
	}
}

// inPieces serves the body in reads of one byte.
func inPieces(body []byte) client.Connection {
	return transport(func(*http.Request) (*http.Response, error) {
		return response(&chunks{text: string(body), size: 1}), nil
	}).connection()
}

// sound checks what holds for any stream.
func sound[T any](t *testing.T, got, pieces collected[T]) {
	t.Helper()
	opts := []cmp.Option{cmpopts.EquateNaNs(), cmpopts.EquateEmpty()}
	if (got.err == nil) != (pieces.err == nil) || len(got.errs) != len(pieces.errs) || !cmp.Equal(got.events, pieces.events, opts...) {
		t.Fatalf("the result depends on how reads are cut:\n%v\n%v", got, pieces)
	}
	for _, ev := range got.events {
		if ev.Type == 0 || ev.Type > reflector.Bookmark || ev.Type != reflector.Bookmark && ev.InitialEventsEnd {
			t.Fatalf("%+v", ev)
		}
		if m, ok := any(ev.Object).(metav1.Object); ok && ev.Type != reflector.Bookmark {
			if m.GetName() == "" || m.GetResourceVersion() != ev.ResourceVersion {
				t.Fatalf("%+v", ev)
			}
		}
	}
	for _, e := range got.errs {
		if e.Err == nil || e.Resource == "" {
			t.Fatalf("%+v", e)
		}
	}
}

func FuzzList(f *testing.F) {
	seed(f, recording.isList, listJSON(), listJSON(objectTexts...), `{"kind":"Status","apiVersion":"v1","status":"Failure"}`,
		`{"items":[{"metadata":{"name":"a"}}],"apiVersion":"v1","kind":"List"}`)
	f.Fuzz(func(t *testing.T, body []byte) {
		opts := metav1.ListOptions{}
		limited := list(t.Context(), newResource[*widget](t, inPieces(body), client.Options{MaxObjectBytes: 60}), opts)
		sound(t, limited, limited)
		typed := list(t.Context(), newResource[*widget](t, bodies(string(body)), client.Options{}), opts)
		sound(t, typed, list(t.Context(), forCache(newResource[*widget](t, inPieces(body), client.Options{ShareJSON: true})), opts))
		got := list(t.Context(), newResource[*unstructured.Unstructured](t, bodies(string(body)), client.Options{}), opts)
		if (got.err == nil) != (typed.err == nil) || got.err == nil && len(got.events)+len(got.errs) != len(typed.events)+len(typed.errs) {
			t.Fatalf("the result depends on T:\n%v\n%v", typed, got)
		}
		if got.err != nil {
			return
		}
		// What is accepted is a list to apimachinery too, of as many items.
		var want struct {
			Kind  string            `json:"kind"`
			Items []json.RawMessage `json:"items"`
		}
		if err := utiljson.Unmarshal(body, &want); err != nil || want.Kind == "" {
			t.Fatal(want.Kind, err)
		}
		if bytes.Count(body, []byte("items")) == 1 && !bytes.Contains(body, []byte(`\`)) && len(want.Items) != len(got.events)+len(got.errs) {
			t.Fatalf("%d items, got %d and %v", len(want.Items), len(got.events), got.errs)
		}
	})
}

func FuzzWatch(f *testing.F) {
	var events strings.Builder
	for _, text := range objectTexts {
		events.WriteString(eventJSON("MODIFIED", strings.TrimSpace(text)))
	}
	seed(f, recording.isWatch, events.String(), eventJSON("ERROR", goneJSON), `{"object":`+initialJSON+`,"type":"BOOKMARK"}`,
		`{"kind":"Status"}`, "null")
	f.Fuzz(func(t *testing.T, body []byte) {
		opts := metav1.ListOptions{}
		limited := watch(t.Context(), newResource[*widget](t, inPieces(body), client.Options{MaxObjectBytes: 60}), opts)
		sound(t, limited, limited)
		typed := watch(t.Context(), newResource[*widget](t, bodies(string(body)), client.Options{}), opts)
		sound(t, typed, watch(t.Context(), forCache(newResource[*widget](t, inPieces(body), client.Options{ShareJSON: true})), opts))
		got := watch(t.Context(), newResource[*unstructured.Unstructured](t, bodies(string(body)), client.Options{}), opts)
		sound(t, got, watch(t.Context(), forCache(newResource[*unstructured.Unstructured](t, bodies(string(body)), client.Options{ShareJSON: true})), opts))
		if typed.err != nil {
			return
		}
		// A stream that ends in order is one of whole JSON values, one for each event.
		n := 0
		for dec := json.NewDecoder(bytes.NewReader(body)); ; n++ {
			var event json.RawMessage
			if err := dec.Decode(&event); err == io.EOF {
				break
			} else if err != nil {
				t.Fatal(err)
			}
		}
		if n != len(typed.events)+len(typed.errs) {
			t.Fatalf("%d events, got %d and %v", n, len(typed.events), typed.errs)
		}
	})
}

// FuzzObject compares what is made of single objects with what apimachinery makes.
func FuzzObject(f *testing.F) {
	for _, text := range objectTexts {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if len(text) == 0 || !json.Valid(text) {
			return
		}
		agree(t, string(text))
	})
}

// fuzzEncodings adds the smaller recordings of an encoding and checks what holds for any
// body of it.
func fuzzEncodings(f *testing.F, ext, contentType string, watching bool) {
	for _, rec := range recordings(f, func(rec recording) bool { return rec.isWatch() == watching && rec.Status == http.StatusOK }, ext) {
		if len(rec.body) <= 2500 {
			f.Add(rec.body)
		}
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, opts := range []client.Options{{}, {MaxObjectBytes: 100, DropManagedFields: true}} {
			r, err := client.New(bodiesOf(contentType, body), kind.OfResource[*metav1.PartialObjectMetadata](pods), opts)
			if err != nil {
				t.Fatal(err)
			}
			sharing := forCache(r)
			read := list[*metav1.PartialObjectMetadata]
			if watching {
				read = watch[*metav1.PartialObjectMetadata]
			}
			sound(t, read(t.Context(), r, metav1.ListOptions{}), read(t.Context(), sharing, metav1.ListOptions{}))
		}
	})
}

func FuzzProtobufList(f *testing.F) {
	fuzzEncodings(f, ".pb", "application/vnd.kubernetes.protobuf", false)
}

func FuzzProtobufWatch(f *testing.F) {
	fuzzEncodings(f, ".pb", "application/vnd.kubernetes.protobuf;stream=watch", true)
}
