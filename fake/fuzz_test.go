package fake_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/kind"
)

// FuzzHTTP sends anything to the handler. It must answer with JSON, or a plain text
// where the real server does, never panic, and keep its lists well formed.
func FuzzHTTP(f *testing.F) {
	pods, widgets, jobs := "/api/v1/namespaces/a/pods", "/apis/example.com/v1/namespaces/a/widgets", "/apis/batch/v1/namespaces/a/jobs"
	for _, c := range [][5]string{
		{"GET", pods, "", "", ""},
		{"GET", pods, "watch=1&resourceVersion=0&allowWatchBookmarks=1&labelSelector=a,!b&fieldSelector=metadata.name!=p", "*/*", ""},
		{"GET", pods, "limit=1&continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6Miwic3RhcnQiOiJhL3BcdTAwMDAifQ", "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1", ""},
		{"GET", pods, "resourceVersion=2&resourceVersionMatch=Exact&sendInitialEvents=true&timeoutSeconds=-1", "", ""},
		{"POST", pods, "", "application/json", `{"metadata":{"generateName":"x-","labels":{"a":"b"},"finalizers":["a/b"]},"spec":{"ports":[1]}}`},
		{"POST", widgets, "", "", `{"kind":"Widget","metadata":{"name":"w"},"size":1,"extra":{"a":[1,2.5,null]}}`},
		{"POST", jobs, "", "", `{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"j","ownerReferences":[7]},"spec":[]}`},
		{"POST", jobs, "", "", `{"apiVersion":"batch/v1","kind":"Job","metadata":7}`},
		{"PUT", jobs + "/j0", "", "", `{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"j0","uid":7,"generation":"x"},"items":[]}`},
		{"PATCH", pods + "/p0", "", "application/merge-patch+json", `{"metadata":{"labels":{"x":null},"finalizers":null},"spec":{"args":["a"]}}`},
		{"PATCH", jobs + "/j0", "", "application/merge-patch+json", `{"metadata":null,"kind":null,"spec":{"a":{"b":{}}}}`},
		{"DELETE", pods + "/p0", "dryRun=", "", `{"preconditions":{"uid":"x"}}`},
		{"GET", "/apis/batch/v1/", "", "", ""},
		{"GET", "/api/v1/namespaces/a/pods/p0/status", "", ",;q", ""},
	} {
		f.Add(c[0], c[1], c[2], c[3], c[4])
	}
	f.Fuzz(func(t *testing.T, method, path, query, media, body string) {
		s := newServer(t, fake.Options{History: 3})
		check(t, fake.Register(s, kind.Of[*unstructured.Unstructured](schema.GroupVersion{Group: "batch", Version: "v1"}, "jobs").Named("Job"), fake.Rules{}))
		must(fake.Create(s, newPod("a", "p0")))(t)
		must(fake.Create(s, newPod("a", "p1")))(t)
		job := &unstructured.Unstructured{Object: map[string]any{"kind": "Job", "apiVersion": "batch/v1", "metadata": map[string]any{"namespace": "a", "name": "j0"}}}
		must(fake.Create(s, job))(t)

		// The client of a watch has gone already: it is sent what is there and ends.
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		r := &http.Request{Method: method, URL: &url.URL{Path: path, RawQuery: query}, Header: http.Header{"Accept": {media}, "Content-Type": {media}}, Body: httptest.NewRequest("POST", "/", strings.NewReader(body)).Body}
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r.WithContext(ctx))
		if w.Code < 200 || w.Code > 599 {
			t.Fatalf("code %d", w.Code)
		}
		checkAnswer(t, w)
		for _, path := range []string{"/api/v1/pods", "/apis/batch/v1/jobs", "/apis/example.com/v1/widgets"} {
			w := httptest.NewRecorder()
			s.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
			var list struct {
				Items []metav1.PartialObjectMetadata
			}
			if err := json.Unmarshal(w.Body.Bytes(), &list); err != nil || w.Code != 200 {
				t.Fatalf("afterwards %s: %d %s: %v", path, w.Code, w.Body, err)
			}
			for _, item := range list.Items {
				if item.Name == "" || item.Namespace == "" || item.ResourceVersion == "" || item.UID == "" {
					t.Fatalf("stored without name, namespace, RV or UID: %s", w.Body)
				}
			}
		}
	})
}

func checkAnswer(t *testing.T, w *httptest.ResponseRecorder) {
	if !strings.HasPrefix(w.Header().Get("Content-Type"), "application/json") {
		return
	}
	d := json.NewDecoder(w.Body)
	for d.More() {
		var v map[string]any
		if err := d.Decode(&v); err != nil {
			t.Fatalf("answer is no JSON: %v", err)
		}
	}
}

// FuzzPatch compares the merge of objects with the rules of RFC 7386: the result has no
// null that the patch brought, and the same patch again changes nothing.
func FuzzPatch(f *testing.F) {
	f.Add([]byte(`{"metadata":{"labels":{"a":"b"}},"spec":{"ports":[1,2],"node":null}}`))
	f.Add([]byte(`{"spec":{"args":{"a":[{"x":null}]},"ports":{"p":{"q":null,"r":[null,{"s":null,"t":1.50}]}},"node":[{"x":null}],"none":{"y":{"z":null}}}}`))
	f.Add([]byte(`{"spec":{"args":[]},"status":{"phase":"x"},"unknown":{"a":{"b":null}}}`))
	f.Fuzz(func(t *testing.T, patch []byte) {
		s := newServer(t, fake.Options{})
		must(fake.Create(s, newPod("a", "p")))(t)
		once, err := fake.Patch[*pod](s, key("a", "p"), patch)
		if err != nil {
			if s.ResourceVersion() != "2" {
				t.Fatalf("refused with %v, but wrote", err)
			}
			return
		}
		mergesAsLibrary(t, patch)
		twice, err := fake.Patch[*pod](s, key("a", "p"), patch)
		if err == nil && twice.ResourceVersion != once.ResourceVersion && once.DeletionTimestamp == nil {
			t.Fatalf("a second time changed %+v to %+v", once, twice)
		}
	})
}

// mergesAsLibrary compares what a merge makes of a spec of any form with what the library
// of the API server does.
func mergesAsLibrary(t *testing.T, patch []byte) {
	s := fake.New(fake.Options{})
	check(t, fake.Register(s, kind.Of[*unstructured.Unstructured](exampleV1, "things").Named("Thing"), fake.Rules{}))
	u := &unstructured.Unstructured{}
	check(t, json.Unmarshal([]byte(`{"apiVersion":"example.com/v1","kind":"Thing","metadata":{"namespace":"a","name":"p"},
		"spec":{"args":{"a":{"b":null,"c":[1,null,{"d":null}]}},"ports":[1],"node":"n","none":null}}`), u))
	was := must(json.Marshal(must(fake.Create(s, u))(t)))(t)
	want, err := jsonpatch.MergePatch(was, patch)
	if err != nil {
		return // of the Go types that the library reads into
	}
	got, err := fake.Patch[*unstructured.Unstructured](s, key("a", "p"), patch)
	if err != nil {
		return // metadata, say
	}
	var whole unstructured.Unstructured
	check(t, json.Unmarshal(want, &whole))
	if d := cmp.Diff(whole.Object["spec"], got.Object["spec"]); d != "" {
		t.Fatalf("-library +fake:\n%s", d)
	}
}

// FuzzPatchTypes: for any patch, either it is refused and writes nothing, or the stored object is
// the same object and a second apply of it by the same manager writes nothing.
func FuzzPatchTypes(f *testing.F) {
	kinds := []types.PatchType{types.JSONPatchType, types.MergePatchType, types.StrategicMergePatchType, types.ApplyYAMLPatchType}
	f.Add(uint8(0), []byte(`[{"op":"add","path":"/spec/args","value":["x"]}]`))
	f.Add(uint8(2), []byte(`{"spec":{"containers":[{"name":"a","$patch":"delete"}]}}`))
	f.Add(uint8(3), []byte(appHead+"spec: {containers: [{name: b, ports: [{containerPort: 1}]}], groups: [g]}"))
	f.Add(uint8(3), []byte(appHead+"spec: {containers: [{name: b, ports: [{containerPwrt: 1}]}], groups: [g]}"))
	f.Fuzz(func(t *testing.T, kind uint8, data []byte) {
		s, c := appServer(t, fake.Options{})
		was := must(fake.Create(s, &app{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "p"}, Spec: appSpec{Containers: []appContainer{{Name: "a"}}}}))(t)
		opts := metav1.PatchOptions{}
		if kinds[kind%4] == types.ApplyYAMLPatchType {
			opts.FieldManager = "fuzz"
		}
		got, err := c.Patch(t.Context(), key("", "p"), kinds[kind%4], data, opts)
		if err != nil {
			if s.ResourceVersion() != "2" {
				t.Fatalf("refused with %v, but wrote", err)
			}
			return
		}
		if got.UID != was.UID || got.Name != "p" || got.Namespace != "a" {
			t.Fatalf("another object: %+v", got)
		}
		if opts.FieldManager == "" {
			return
		}
		again, err := c.Patch(t.Context(), key("", "p"), kinds[kind%4], data, opts)
		if err == nil && again.ResourceVersion != got.ResourceVersion {
			t.Fatalf("a second time changed %+v to %+v", got, again)
		}
	})
}
