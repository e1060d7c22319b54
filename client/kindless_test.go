package client_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/kind"
)

// gadget has no TypeMeta.
type gadget struct {
	metav1.ObjectMeta `json:"metadata,omitempty"`
}

var gadgets = kind.Of[*gadget](schema.GroupVersion{Group: "example.com", Version: "v1"}, "gadgets").WithSubresources("status")

// bodySpy keeps the bodies of requests.
type bodySpy struct {
	next   http.RoundTripper
	bodies []string
}

func (s *bodySpy) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		s.bodies = append(s.bodies, string(body))
		r.Body = io.NopCloser(bytes.NewReader(body))
	}
	return s.next.RoundTrip(r)
}

// TestKindOfWrites: every object that is written has the kind, even before the first list. Servers
// require it in custom resources.
func TestKindOfWrites(t *testing.T) {
	s := fake.New(fake.Options{})
	if err := fake.Register(s, kind.As[*widget](gadgets).WithSubresources("status"), fake.Rules{}); err == nil {
		t.Fatal("a widget has a status")
	}
	if err := fake.Register(s, kind.OfResource[*gadget](gadgets.GroupVersionResource()).Named("Gadget"), fake.Rules{}); err != nil {
		t.Fatal(err)
	}
	spy := &bodySpy{next: s.Client().Transport}
	r, err := client.New(client.Connection{URL: fake.URL, HTTP: &http.Client{Transport: spy}}, gadgets, client.Options{Namespace: "a"})
	if err != nil {
		t.Fatal(err)
	}
	object := &gadget{metav1.ObjectMeta{Name: "g"}}
	config := map[string]any{"metadata": map[string]any{"name": "h"}}
	stored, created := r.Create(t.Context(), object, metav1.CreateOptions{})
	if created != nil {
		t.Fatal(created)
	}
	object.Labels, object.ResourceVersion = map[string]string{"a": "b"}, stored.ResourceVersion
	_, updated := r.Update(t.Context(), object, metav1.UpdateOptions{})
	_, applied := r.Apply(t.Context(), config, metav1.ApplyOptions{FieldManager: "m"})
	if err := errors.Join(updated, applied); err != nil || len(spy.bodies) != 3 {
		t.Fatal(err, spy.bodies)
	}
	_, _ = r.UpdateStatus(t.Context(), object, metav1.UpdateOptions{})
	for _, body := range spy.bodies {
		var got metav1.TypeMeta
		if err := json.Unmarshal([]byte(body), &got); err != nil || got != (metav1.TypeMeta{Kind: "Gadget", APIVersion: "example.com/v1"}) {
			t.Error(err, body)
		}
	}
}

// TestScope: a client checks namespaces before it sends anything, if it knows the scope.
func TestScope(t *testing.T) {
	conn := client.Connection{URL: "http://test.invalid", HTTP: &http.Client{Transport: transport(func(*http.Request) (*http.Response, error) {
		return nil, errSent
	})}}
	if _, err := client.New(conn, gadgets.Cluster(), client.Options{Namespace: "a"}); !errors.Is(err, client.ErrScope) || !strings.Contains(err.Error(), "gadgets.example.com") {
		t.Error(err)
	}
	for _, test := range []struct {
		kind      *kind.Kind[*gadget]
		namespace string
		want      error
	}{
		{gadgets, "", client.ErrScope}, // and the error says how to mend the kind
		{gadgets, "a", errSent},
		{gadgets.Cluster(), "a", client.ErrScope},
		{gadgets.Cluster(), "", errSent},
		{kind.OfResource[*gadget](gadgets.GroupVersionResource()), "a", errSent},
		{kind.OfResource[*gadget](gadgets.GroupVersionResource()), "", errSent},
	} {
		r, err := client.New(conn, test.kind, client.Options{})
		if err != nil {
			t.Fatal(err)
		}
		key := types.NamespacedName{Namespace: test.namespace, Name: "g"}
		object := &gadget{metav1.ObjectMeta{Namespace: test.namespace, Name: "g"}}
		_, got := r.Get(t.Context(), key, metav1.GetOptions{})
		_, created := r.Create(t.Context(), object, metav1.CreateOptions{})
		_, updated := r.Update(t.Context(), object, metav1.UpdateOptions{})
		_, patched := r.Patch(t.Context(), key, types.MergePatchType, []byte("{}"), metav1.PatchOptions{})
		deleted := r.Delete(t.Context(), key, metav1.DeleteOptions{})
		for what, err := range map[string]error{"get": got, "create": created, "update": updated, "patch": patched, "delete": deleted} {
			if !errors.Is(err, test.want) || test.want == client.ErrScope && !strings.Contains(err.Error(), "Cluster()") {
				t.Errorf("%s in %q of scope %q: %v, want %v", what, test.namespace, test.kind.Scope, err, test.want)
			}
		}
	}
}

var errSent = errors.New("a request was sent")

// TestMetadataOnly: an update by metadata would delete the rest of the object, so it is not sent,
// whatever kind the object states.
func TestMetadataOnly(t *testing.T) {
	conn := client.Connection{URL: "http://test.invalid", HTTP: &http.Client{Transport: transport(func(*http.Request) (*http.Response, error) {
		return nil, errSent
	})}}
	r, err := client.New(conn, kind.As[*metav1.PartialObjectMetadata](gadgets), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, meta := range []metav1.TypeMeta{{}, {APIVersion: "example.com/v1", Kind: "Gadget"}, {APIVersion: "meta.k8s.io/v1", Kind: "PartialObjectMetadata"}} {
		object := &metav1.PartialObjectMetadata{TypeMeta: meta, ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "g"}}
		_, created := r.Create(t.Context(), object, metav1.CreateOptions{})
		_, updated := r.Update(t.Context(), object, metav1.UpdateOptions{})
		_, status := r.UpdateStatus(t.Context(), object, metav1.UpdateOptions{})
		for what, err := range map[string]error{"create": created, "update": updated, "status": status} {
			if !errors.Is(err, client.ErrMetadataOnly) || !errors.Is(err, client.ErrNotSent) {
				t.Errorf("%s as %v: %v", what, meta, err)
			}
		}
	}
	_, patched := r.Patch(t.Context(), types.NamespacedName{Namespace: "a", Name: "g"}, types.MergePatchType, []byte("{}"), metav1.PatchOptions{})
	_, applied := r.Apply(t.Context(), map[string]any{"metadata": map[string]any{"namespace": "a", "name": "g"}}, metav1.ApplyOptions{FieldManager: "me"})
	if !errors.Is(patched, errSent) || !errors.Is(applied, errSent) {
		t.Errorf("patch: %v, apply: %v", patched, applied)
	}
}

// TestKindOfListedObjects: built-in types leave the kind out of the items of a list. The kind of
// the list then says that they are others than T's, and nothing of the list can be used.
func TestKindOfListedObjects(t *testing.T) {
	item := `{"metadata":{"name":"a","namespace":"ns"}}`
	for name, want := range map[string]error{"Widget": nil, "": nil, "Gadget": client.ErrWrongKind} {
		got := list(t.Context(), newNamed[*widget](t, bodies(listJSON(item)), name, client.Options{}), metav1.ListOptions{})
		switch {
		case !errors.Is(got.err, want), len(got.errs) > 0:
			t.Errorf("kind %q: %v, %v", name, got.err, got.errs)
		case want == nil && len(got.events) != 1:
			t.Errorf("kind %q: %d objects", name, len(got.events))
		}
	}
}
