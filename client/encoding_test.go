package client_test

import (
	"bytes"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/reflector"
)

// configMap is one as in k8s.io/api, with the protobuf tags.
type configMap struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	Data       map[string]string `json:"data,omitempty" protobuf:"bytes,2,rep,name=data"`
	BinaryData map[string][]byte `json:"binaryData,omitempty" protobuf:"bytes,3,rep,name=binaryData"`
	Immutable  *bool             `json:"immutable,omitempty" protobuf:"varint,4,opt,name=immutable"`
}

// inEncodings returns the recordings of one answer by encoding, and that in JSON.
func inEncodings(t testing.TB, file string) (asJSON recording, others []recording) {
	t.Helper()
	base := strings.TrimSuffix(file, ".json")
	for _, rec := range recordings(t, func(recording) bool { return true }, ".json", ".pb") {
		switch strings.TrimSuffix(rec.File, filepath.Ext(rec.File)) {
		case base:
			if rec.File == file {
				asJSON = rec
			} else {
				others = append(others, rec)
			}
		}
	}
	return asJSON, others
}

// read lists or watches what was recorded.
func read[T any](t testing.TB, rec recording) collected[T] {
	t.Helper()
	r := recordedResource[T](t, rec, rec.body)
	if rec.isWatch() {
		return watch(t.Context(), r, metav1.ListOptions{})
	}
	return list(t.Context(), r, metav1.ListOptions{})
}

// What was recorded in several encodings is the same in each, but for what changed between
// the requests: the versions of lists and bookmarks.
func TestRecordedEncodings(t *testing.T) {
	for _, rec := range recordings(t, func(rec recording) bool { return rec.isList() || rec.isWatch() }) {
		asJSON, others := inEncodings(t, rec.File)
		for _, rec := range others {
			t.Run(rec.File, func(t *testing.T) {
				sameAs(t, read[*metav1.PartialObjectMetadata](t, asJSON), read[*metav1.PartialObjectMetadata](t, rec))
				if strings.Contains(rec.File, "configmaps") {
					sameAs(t, read[*configMap](t, asJSON), read[*configMap](t, rec))
				}
			})
		}
	}
}

func sameAs[T any](t *testing.T, want, got collected[T]) {
	t.Helper()
	if (want.err == nil) != (got.err == nil) || got.errs != nil {
		t.Fatal(want.err, got.err, got.errs)
	}
	if apierrors.IsResourceExpired(want.err) != apierrors.IsResourceExpired(got.err) {
		t.Error(got.err)
	}
	if (want.meta.Continue == "") != (got.meta.Continue == "") || want.err == nil && len(want.meta.ResourceVersion) != len(got.meta.ResourceVersion) {
		t.Error(want.meta, got.meta)
	}
	if n, m := want.meta.RemainingItemCount, got.meta.RemainingItemCount; !cmp.Equal(n, m) {
		t.Error(n, m)
	}
	drop := func(events []reflector.Event[T]) (kept []reflector.Event[T]) {
		for _, ev := range events {
			if ev.Type != reflector.Bookmark || ev.InitialEventsEnd {
				kept = append(kept, ev)
			}
		}
		return kept
	}
	if d := cmp.Diff(drop(want.events), drop(got.events), sameFields); d != "" {
		t.Error(d)
	}
}

// sameFields compares raw JSON by its bytes: the order of its members is part of the object.
var sameFields = cmp.Comparer(func(a, b metav1.FieldsV1) bool { return bytes.Equal(a.GetRawBytes(), b.GetRawBytes()) })

// A refusal of the encoding leads to JSON, at once and from then on.
func TestEncodingRefused(t *testing.T) {
	refused := recordings(t, func(rec recording) bool { return strings.HasPrefix(rec.File, "error-406-widgets") }, ".pb")
	var accepts []string
	conn := transport(func(req *http.Request) (*http.Response, error) {
		accept := req.Header.Get("Accept")
		accepts = append(accepts, accept)
		if strings.Contains(accept, "protobuf") {
			resp := response(bytes.NewReader(refused[0].body))
			resp.StatusCode, resp.Header = refused[0].Status, refused[0].Header
			return resp, nil
		}
		if req.URL.Query().Get("watch") != "" {
			return response(strings.NewReader("")), nil
		}
		return response(strings.NewReader(listJSON(widgetJSON("a", 1, 1)))), nil
	}).connection()
	r := newResource[*metav1.PartialObjectMetadata](t, conn, client.Options{})
	for range 2 {
		if got := list(t.Context(), r, metav1.ListOptions{}); got.err != nil || len(got.events) != 1 {
			t.Fatal(got)
		}
		if got := watch(t.Context(), r, metav1.ListOptions{}); got.err != nil {
			t.Fatal(got)
		}
	}
	if len(accepts) != 5 || !strings.HasPrefix(accepts[0], "application/vnd.kubernetes.protobuf") {
		t.Error(accepts)
	}

	// A client that asks for JSON is refused like by any other error.
	rec := refused[0]
	r = recordedResource[*metav1.PartialObjectMetadata](t, rec, rec.body)
	got := list(t.Context(), r, metav1.ListOptions{})
	if !apierrors.IsNotAcceptable(got.err) || !strings.Contains(got.err.Error(), "only the following media types") {
		t.Error(got.err)
	}
}

// What T supports decides what is asked for first.
func TestAccept(t *testing.T) {
	const both = "application/vnd.kubernetes.protobuf,application/json;q=0.9"
	for _, test := range []struct {
		asked func(client.Options) string
		opts  client.Options
		want  string
	}{
		{acceptOf[*widget](t), client.Options{}, "application/json"},
		{acceptOf[*configMap](t), client.Options{}, both},
		{acceptOf[configMap](t), client.Options{}, both}, // a struct that is no pointer
	} {
		if got := test.asked(test.opts); got != test.want {
			t.Errorf("%+v: %s, want %s", test.opts, got, test.want)
		}
	}
}

// acceptOf returns what a client of T accepts.
func acceptOf[T any](t *testing.T) func(client.Options) string {
	return func(opts client.Options) string {
		var rec recorder
		list(t.Context(), newResource[T](t, rec.connection("", listJSON()), opts), metav1.ListOptions{})
		return rec.header.Get("Accept")
	}
}
