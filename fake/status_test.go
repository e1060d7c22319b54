package fake_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/kind"
)

// statusServer serves pods, and jobs of no Go type, whose status is apart.
func statusServer(t testing.TB, opts fake.Options) *fake.Server {
	t.Helper()
	s := fake.New(opts)
	check(t, fake.Register(s, podKind, fake.Rules{}))
	check(t, fake.Register(s, jobKind, fake.Rules{}))
	check(t, fake.Register(s, kind.Of[*widget](exampleV1, "widgets"), fake.Rules{}))
	return s
}

func TestStatusIsApart(t *testing.T) {
	s := statusServer(t, fake.Options{})
	in := newPod("a", "p")
	in.Spec.Node, in.Status.Phase = "n1", "Running"
	p := must(fake.Create(s, in))(t)
	if p.Status.Phase != "" || p.Generation != 1 {
		t.Fatalf("created with status %q, generation %d", p.Status.Phase, p.Generation)
	}
	p.Status.Phase, p.Spec.Node, p.Labels = "Pending", "n2", map[string]string{"app": "web"}
	p = must(fake.UpdateStatus(s, p))(t)
	if p.Status.Phase != "Pending" || p.Spec.Node != "n1" || p.Labels["app"] != "web" || p.Generation != 1 {
		t.Fatalf("status update wrote %+v", p)
	}
	p.Status.Phase, p.Spec.Node = "Running", "n2"
	p = must(fake.Update(s, p))(t)
	if p.Status.Phase != "Pending" || p.Spec.Node != "n2" || p.Generation != 2 {
		t.Fatalf("update wrote %+v", p)
	}
	before := s.ResourceVersion()
	p.Status.Phase = "Failed"
	must(fake.Update(s, p))(t)
	if s.ResourceVersion() != before {
		t.Error("an update of the status alone was written")
	}
	stale := p
	stale.ResourceVersion = "2"
	wantStatus(t, second(fake.UpdateStatus(s, stale)), 409, metav1.StatusReasonConflict)
	wantStatus(t, second(fake.UpdateStatus(s, newPod("a", "q"))), 404, metav1.StatusReasonNotFound)
	wantStatus(t, second(fake.UpdateStatus(s, &widget{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "w"}})), 404, metav1.StatusReasonNotFound)
	// A status that the caller changes later is not the server's.
	p.Status.Phase = "spoiled"
	if got := must(fake.Get[*pod](s, key("a", "p")))(t); got.Status.Phase != "Pending" {
		t.Errorf("status %q", got.Status.Phase)
	}
}

func TestStatusOfUnstructured(t *testing.T) {
	s := statusServer(t, fake.Options{})
	obj := &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"namespace": "a", "name": "j"},
		"spec":     map[string]any{"n": int64(1)}, "status": map[string]any{"done": true},
	}}
	got := must(fake.Create(s, obj))(t)
	if _, ok := got.Object["status"]; ok {
		t.Errorf("created with %v", got.Object)
	}
	got.Object["status"], got.Object["spec"] = map[string]any{"done": true}, map[string]any{"n": int64(2)}
	got = must(fake.UpdateStatus(s, got))(t)
	if n, _, _ := unstructured.NestedInt64(got.Object, "spec", "n"); n != 1 || got.GetGeneration() != 1 {
		t.Errorf("status update wrote %v", got.Object)
	}
	delete(got.Object, "status")
	got.Object["spec"] = map[string]any{"n": int64(2)}
	got = must(fake.Update(s, got))(t)
	if done, _, _ := unstructured.NestedBool(got.Object, "status", "done"); !done || got.GetGeneration() != 2 {
		t.Errorf("update wrote %v", got.Object)
	}
	delete(got.Object, "status")
	if got = must(fake.UpdateStatus(s, got))(t); got.Object["status"] != nil {
		t.Errorf("status not removed: %v", got.Object)
	}
}

// TestGenerationWithoutStatus: where no status is apart, it is part of what is desired.
func TestGenerationWithoutStatus(t *testing.T) {
	s := fake.New(fake.Options{})
	check(t, fake.Register(s, kind.Of[*unstructured.Unstructured](exampleV1, "jobs").Named("Job"), fake.Rules{}))
	must(fake.Create(s, &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"namespace": "a", "name": "j"}}}))(t)
	got := must(fake.Patch[*unstructured.Unstructured](s, key("a", "j"), []byte(`{"status":{"n":1}}`)))(t)
	if got.GetGeneration() != 2 {
		t.Errorf("generation %d, want 2", got.GetGeneration())
	}
}

func TestStatusNeedsAField(t *testing.T) {
	s := fake.New(fake.Options{})
	if err := fake.Register(s, kind.Of[*widget](v1, "widgets").WithSubresources("status"), fake.Rules{}); !errors.Is(err, fake.ErrResource) {
		t.Errorf("error %v, want ErrResource", err)
	}
}

// request does one HTTP request and returns its code and body.
func request(t testing.TB, s *fake.Server, method, path, contentType, body string) (int, []byte) {
	t.Helper()
	r := must(http.NewRequestWithContext(t.Context(), method, fake.URL+path, bytes.NewReader([]byte(body))))(t)
	if contentType != "" {
		r.Header.Set("Content-Type", contentType)
	}
	resp := must(s.Client().Do(r))(t)
	defer resp.Body.Close()
	return resp.StatusCode, must(io.ReadAll(resp.Body))(t)
}

const mergeType, jsonType = "application/merge-patch+json", "application/json"

func TestStatusOverHTTP(t *testing.T) {
	s := statusServer(t, fake.Options{})
	must(fake.Create(s, newPod("a", "p")))(t)
	const path = "/api/v1/namespaces/a/pods/p"
	for _, c := range []struct {
		method, path, kind, body string
		code                     int
		phase, node              string
	}{
		{"PUT", path + "/status", jsonType, `{"metadata":{"name":"p"},"spec":{"node":"n1"},"status":{"phase":"Running"}}`, 200, "Running", ""},
		{"PUT", path, jsonType, `{"metadata":{"name":"p"},"spec":{"node":"n1"},"status":{"phase":"Failed"}}`, 200, "Running", "n1"},
		{"PATCH", path + "/status", mergeType, `{"spec":{"node":"n2"},"status":{"phase":"Failed"}}`, 200, "Failed", "n1"},
		{"PATCH", path, mergeType, `{"spec":{"node":"n2"},"status":{"phase":"Running"}}`, 200, "Failed", "n2"},
		{"GET", path + "/status", "", "", 200, "Failed", "n2"},
		{"DELETE", path + "/status", "", "", 405, "", ""},
		{"GET", path + "/scale", "", "", 404, "", ""},
		{"POST", path + "/status", jsonType, "{}", 405, "", ""},
		{"GET", "/apis/example.com/v1/namespaces/a/widgets/w/status", "", "", 404, "", ""},
		{"PUT", path + "/status", jsonType, `{"metadata":{"name":"q"}}`, 400, "", ""},
		{"PUT", path + "/status", jsonType, `{"metadata":{}}`, 400, "", ""},
	} {
		t.Run(fmt.Sprint(c.method, c.path), func(t *testing.T) {
			code, body := request(t, s, c.method, c.path, c.kind, c.body)
			if code != c.code {
				t.Fatalf("code %d, want %d: %s", code, c.code, body)
			}
			var got pod
			if code != 200 {
				return
			}
			check(t, json.Unmarshal(body, &got))
			if got.Status.Phase != c.phase || got.Spec.Node != c.node {
				t.Errorf("got %s", body)
			}
		})
	}
}
