package client_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/kind"
	"github.com/kinform/kinform/reflector"
)

// recording is an entry of testdata/index.json: what a real API server answered.
type recording struct {
	File, About  string
	Method, Path string
	Status       int
	Header       http.Header

	body []byte
}

// recordings returns those that match, of files with the given extensions; with none, what
// a client of JSON meets.
func recordings(t testing.TB, match func(recording) bool, extensions ...string) []recording {
	t.Helper()
	if extensions == nil {
		extensions = []string{".json", ".txt"}
	}
	index, err := os.ReadFile(filepath.Join("testdata", "index.json"))
	if err != nil {
		t.Fatal(err)
	}
	var all, some []recording
	if err := json.Unmarshal(index, &all); err != nil {
		t.Fatal(err)
	}
	for _, rec := range all {
		if !slices.Contains(extensions, filepath.Ext(rec.File)) || !match(rec) {
			continue
		}
		if rec.body, err = os.ReadFile(filepath.Join("testdata", rec.File)); err != nil {
			t.Fatal(err)
		}
		some = append(some, rec)
	}
	if len(some) == 0 {
		t.Fatal("no recordings")
	}
	return some
}

func (rec recording) query() url.Values {
	u, _ := url.Parse(rec.Path)
	return u.Query()
}

func (rec recording) isWatch() bool { return rec.query().Get("watch") == "true" }

func (rec recording) isList() bool {
	return rec.Status == http.StatusOK && strings.HasPrefix(rec.File, "list-") && !strings.Contains(rec.File, "table")
}

// resource is a client of the resource that was asked, if the path names one.
func recordedResource[T any](t testing.TB, rec recording, body []byte) *client.Resource[T] {
	t.Helper()
	u, _ := url.Parse(rec.Path)
	parts := strings.Split(strings.Trim(u.Path, "/"), "/")
	gvr := schema.GroupVersionResource{Version: "v1", Resource: "things"}
	if parts[0] == "apis" && len(parts) > 2 {
		gvr.Group, gvr.Version, parts = parts[1], parts[2], parts[1:]
	}
	if parts = parts[min(2, len(parts)):]; len(parts) > 2 && parts[0] == "namespaces" {
		parts = parts[2:]
	}
	if len(parts) > 0 {
		gvr.Resource = parts[0]
	}
	conn := transport(func(*http.Request) (*http.Response, error) {
		resp := response(bytes.NewReader(body))
		resp.StatusCode, resp.Header = rec.Status, rec.Header
		return resp, nil
	}).connection()
	r, err := client.New(conn, kind.OfResource[T](gvr), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestRecordedLists(t *testing.T) {
	for _, rec := range recordings(t, recording.isList) {
		t.Run(rec.File, func(t *testing.T) {
			object, _, err := unstructured.UnstructuredJSONScheme.Decode(rec.body, nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			want := object.(*unstructured.UnstructuredList)
			p := list(t.Context(), recordedResource[*metav1.PartialObjectMetadata](t, rec, rec.body), metav1.ListOptions{})
			if p.err != nil || p.errs != nil || len(p.events) != len(want.Items) {
				t.Fatal(p.err, p.errs)
			}
			if p.meta.ResourceVersion != want.GetResourceVersion() || p.meta.Continue != want.GetContinue() || p.meta.ResourceVersion == "" {
				t.Errorf("%+v", p.meta)
			}
			for i, ev := range p.events {
				var meta metav1.PartialObjectMetadata
				text, _ := want.Items[i].MarshalJSON()
				if err := utiljson.Unmarshal(text, &meta); err != nil {
					t.Fatal(err)
				}
				meta.Kind, meta.APIVersion = "PartialObjectMetadata", "meta.k8s.io/v1"
				if d := cmp.Diff(&meta, ev.Object); d != "" || ev.ResourceVersion != meta.ResourceVersion {
					t.Error(d)
				}
			}
			if want.GetKind() == "PartialObjectMetadataList" {
				return // was not asked for by an Unstructured
			}
			u := list(t.Context(), recordedResource[*unstructured.Unstructured](t, rec, rec.body), metav1.ListOptions{})
			if u.err != nil || u.errs != nil || len(u.events) != len(want.Items) {
				t.Fatal(u.err, u.errs)
			}
			for i, ev := range u.events {
				if d := cmp.Diff(want.Items[i].Object, ev.Object.Object); d != "" {
					t.Error(d)
				}
			}
		})
	}
}

// wireEvent is a watch event as apimachinery decodes it.
type wireEvent struct {
	Type   string         `json:"type"`
	Object map[string]any `json:"object"`
}

func TestRecordedWatches(t *testing.T) {
	for _, rec := range recordings(t, recording.isWatch) {
		t.Run(rec.File, func(t *testing.T) {
			partial := strings.Contains(rec.File, "metadata")
			var got collected[*unstructured.Unstructured]
			if !partial {
				got = watch(t.Context(), recordedResource[*unstructured.Unstructured](t, rec, rec.body), metav1.ListOptions{})
			}
			p := watch(t.Context(), recordedResource[*metav1.PartialObjectMetadata](t, rec, rec.body), metav1.ListOptions{})
			if p.errs != nil || got.errs != nil {
				t.Error(p.errs, got.errs)
			}
			n, ends := 0, 0
			for line := range bytes.Lines(rec.body) {
				var want wireEvent
				if err := utiljson.Unmarshal(line, &want); err != nil {
					t.Fatal(err)
				}
				if want.Type == "ERROR" {
					if !apierrors.IsResourceExpired(p.err) || !apierrors.IsResourceExpired(got.err) {
						t.Error(p.err, got.err)
					}
					continue
				}
				if n >= len(p.events) || !partial && n >= len(got.events) {
					t.Fatalf("only %d and %d events", len(p.events), len(got.events))
				}
				u := unstructured.Unstructured{Object: want.Object}
				checkRecorded(t, p.events[n], want.Type, u)
				if p.events[n].InitialEventsEnd {
					ends++
				}
				if !partial {
					checkRecorded(t, got.events[n], want.Type, u)
					if ev := got.events[n]; ev.Type != reflector.Bookmark && !cmp.Equal(want.Object, ev.Object.Object) {
						t.Error(cmp.Diff(want.Object, ev.Object.Object))
					}
				}
				n++
			}
			if n != len(p.events) || !partial && n != len(got.events) {
				t.Errorf("%d events, want %d", len(p.events), n)
			}
			if rec.query().Get("sendInitialEvents") == "true" && ends != 1 {
				t.Errorf("%d bookmarks end the initial events", ends)
			}
			if expired := strings.Contains(rec.File, "expired"); !expired && p.err != nil || expired && p.err == nil {
				t.Error(p.err)
			}
		})
	}
}

func checkRecorded[T metav1.Object](t *testing.T, ev reflector.Event[T], typ string, want unstructured.Unstructured) {
	t.Helper()
	if ev.Type.String() != typ || ev.ResourceVersion != want.GetResourceVersion() ||
		ev.InitialEventsEnd != (want.GetAnnotations()[metav1.InitialEventsAnnotationKey] == "true") ||
		ev.Type != reflector.Bookmark && ev.Object.GetName() != want.GetName() {
		t.Errorf("got %+v, want %s of %v", ev, typ, want)
	}
}

func TestRecordedRefusals(t *testing.T) {
	for _, rec := range recordings(t, func(rec recording) bool { return rec.Status >= 300 }, ".json", ".txt", ".pb") {
		t.Run(rec.File, func(t *testing.T) {
			got := list(t.Context(), recordedResource[*widget](t, rec, rec.body), metav1.ListOptions{})
			var st *apierrors.StatusError
			if !errors.As(got.err, &st) || int(st.ErrStatus.Code) != rec.Status || st.ErrStatus.Reason == "" {
				t.Fatal(got.err)
			}
			if filepath.Ext(rec.File) == ".txt" {
				if !strings.Contains(got.err.Error(), strings.TrimSpace(string(rec.body))) {
					t.Error(got.err)
				}
			} else {
				want := recordedStatus(t, rec)
				if want.Details == nil || want.Details.RetryAfterSeconds == 0 {
					st.ErrStatus.Details, want.Details = nil, nil // the header adds to it
				}
				if d := cmp.Diff(want, st.ErrStatus); d != "" {
					t.Error(d)
				}
			}
			if rec.Header.Get("Retry-After") != "" && st.ErrStatus.Details != nil && st.ErrStatus.Details.RetryAfterSeconds == 0 {
				t.Error("the delay is lost")
			}
		})
	}
}

// Every other answer of a real server is an error of a list and of a watch, and says so.
func TestRecordedOtherAnswers(t *testing.T) {
	for _, rec := range recordings(t, func(rec recording) bool {
		return rec.Status == http.StatusOK && !rec.isList() && !rec.isWatch()
	}) {
		t.Run(rec.File, func(t *testing.T) {
			r := recordedResource[*widget](t, rec, rec.body)
			for _, got := range []collected[*widget]{list(t.Context(), r, metav1.ListOptions{}), watch(t.Context(), r, metav1.ListOptions{})} {
				known := errors.Is(got.err, client.ErrNotKubernetes) || errors.Is(got.err, client.ErrTable) || errors.Is(got.err, client.ErrWrongKind)
				if !known || len(got.events)+len(got.errs) > 0 {
					t.Error(got)
				}
				if strings.Contains(rec.File, "table") && !errors.Is(got.err, client.ErrTable) {
					t.Error(got.err)
				}
			}
			_, err := r.Get(t.Context(), types.NamespacedName{Name: "x"}, metav1.GetOptions{})
			if err == nil && !strings.HasPrefix(rec.File, "get-") && rec.File != "delete-pod.json" {
				t.Error("Get takes it for an object")
			}
			err = r.Delete(t.Context(), types.NamespacedName{Name: "x"}, metav1.DeleteOptions{})
			if kubernetes := bytes.Contains(rec.body, []byte(`"kind":`)); (err == nil) != kubernetes {
				t.Error(err)
			}
		})
	}
}

// recordedStatus is the body as apimachinery decodes it.
func recordedStatus(t *testing.T, rec recording) (st metav1.Status) {
	t.Helper()
	var err error
	switch filepath.Ext(rec.File) {
	case ".pb":
		var envelope runtime.Unknown
		if err = envelope.Unmarshal(rec.body[4:]); err == nil {
			err = st.Unmarshal(envelope.Raw)
		}
		st.Kind, st.APIVersion = envelope.Kind, envelope.APIVersion
	default:
		err = utiljson.Unmarshal(rec.body, &st)
	}
	if err != nil {
		t.Fatal(err)
	}
	return st
}
