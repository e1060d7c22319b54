package client_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/kind"
	"github.com/kinform/kinform/reflector"
)

// A patch of any kind goes out as it is, to the object or a subresource, for any T.
func TestPatchTypes(t *testing.T) {
	key := types.NamespacedName{Namespace: "ns", Name: "a"}
	for _, pt := range []types.PatchType{
		types.JSONPatchType, types.MergePatchType, types.StrategicMergePatchType, types.ApplyYAMLPatchType, types.ApplyCBORPatchType,
	} {
		patchesAs[*widget](t, key, pt)
		patchesAs[*plain](t, key, pt)
		patchesAs[*unstructured.Unstructured](t, key, pt)
		patchesAs[*metav1.PartialObjectMetadata](t, key, pt)
	}
}

func patchesAs[T any](t *testing.T, key types.NamespacedName, pt types.PatchType) {
	t.Helper()
	const body = "anything\x00at all"
	var rec recorder
	r := newResource[T](t, rec.connection("", full(widgetJSON("a", 1, 1))), client.Options{})
	force := true
	for _, sub := range [][]string{nil, {"status"}} {
		patch := r.Patch
		if sub != nil {
			patch = r.Subresource(sub[0]).Patch
		}
		_, err := patch(t.Context(), key, pt, []byte(body), metav1.PatchOptions{FieldManager: "me", Force: &force})
		want := strings.Join(append([]string{"/apis/example.com/v1/namespaces/ns/widgets/a"}, sub...), "/")
		if err != nil || rec.method != http.MethodPatch || rec.path != want || rec.body != body || rec.header.Get("Content-Type") != string(pt) {
			t.Errorf("%T %s: %v %v", *new(T), pt, err, rec)
		}
		if rec.query["fieldManager"][0] != "me" || rec.query["force"][0] != "true" {
			t.Error(rec.query)
		}
	}
}

func TestApply(t *testing.T) {
	var rec recorder
	r := newNamed[*widget](t, rec.connection("", full(widgetJSON("a", 1, 5))), "Widget", client.Options{Namespace: "ns"})
	meta := map[string]any{"name": "a"}
	for _, test := range []struct {
		config any
		body   string
	}{
		{map[string]any{"metadata": meta, "spec": map[string]any{"size": 5}}, `{"metadata":{"name":"a"},"spec":{"size":5},"kind":"Widget","apiVersion":"example.com/v1"}`},
		{&unstructured.Unstructured{Object: map[string]any{"kind": "Widget", "apiVersion": "example.com/v1", "metadata": meta}}, `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"a"}}`},
		{&widget{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Spec: widgetSpec{Size: 5}}, `"spec":{"size":5}`},
	} {
		for _, sub := range [][]string{nil, {"status"}} {
			apply := r.Apply
			if sub != nil {
				apply = r.Subresource(sub[0]).Apply
			}
			w, err := apply(t.Context(), test.config, metav1.ApplyOptions{FieldManager: "me", Force: true})
			if err != nil || w.Spec.Size != 5 {
				t.Fatal(w, err)
			}
			path := strings.Join(append([]string{"/apis/example.com/v1/namespaces/ns/widgets/a"}, sub...), "/")
			if rec.method != http.MethodPatch || rec.path != path || rec.header.Get("Content-Type") != "application/apply-patch+yaml" ||
				rec.query["force"][0] != "true" || rec.query["fieldManager"][0] != "me" || !strings.Contains(rec.body, test.body) {
				t.Error(rec)
			}
		}
	}
	for name, config := range map[string]any{
		"nil":             nil,
		"no name":         map[string]any{},
		"generated name":  map[string]any{"metadata": map[string]any{"generateName": "a-"}},
		"other kind":      map[string]any{"kind": "Pod", "apiVersion": "v1", "metadata": meta},
		"other namespace": map[string]any{"metadata": map[string]any{"name": "a", "namespace": "other"}},
		"no JSON":         func() {},
	} {
		if _, err := r.Apply(t.Context(), config, metav1.ApplyOptions{}); err == nil || !strings.HasPrefix(err.Error(), "apply widgets.example.com") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// scale is the kind of a subresource that is not the resource's own.
type scale struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Replicas int `json:"replicas"`
	} `json:"spec"`
}

const scaleJSON = `{"kind":"Scale","apiVersion":"autoscaling/v1","metadata":{"name":"a","namespace":"ns"},"spec":{"replicas":3}}`

func TestSubresources(t *testing.T) {
	ctx := t.Context()
	key := types.NamespacedName{Namespace: "ns", Name: "a"}
	var rec recorder
	r := newNamed[*scale](t, rec.connection("", scaleJSON), "Widget", client.Options{})
	s, err := r.Subresource("scale").Get(ctx, key, metav1.GetOptions{})
	if err != nil || s.Kind != "Scale" || s.APIVersion != "autoscaling/v1" || s.Spec.Replicas != 3 {
		t.Fatal(s, err)
	}
	const path = "/apis/example.com/v1/namespaces/ns/widgets/a/scale"
	if rec.path != path {
		t.Error(rec)
	}
	if _, err := r.Subresource("scale").Update(ctx, s, metav1.UpdateOptions{}); err != nil || rec.path != path || rec.method != http.MethodPut || !strings.Contains(rec.body, "autoscaling/v1") {
		t.Error(err, rec)
	}
	if _, err := r.Subresource("scale").Create(ctx, s, metav1.CreateOptions{}); err != nil || rec.path != path || rec.method != http.MethodPost {
		t.Error(err, rec)
	}
	u := newResource[*unstructured.Unstructured](t, rec.connection("", scaleJSON), client.Options{})
	if o, err := u.Subresource("scale").Patch(ctx, key, types.MergePatchType, []byte("{}"), metav1.PatchOptions{}); err != nil || o.GetKind() != "Scale" {
		t.Error(o, err)
	}
	if _, err := u.Subresource("proxy", "metrics").Get(ctx, key, metav1.GetOptions{}); err != nil || rec.path != "/apis/example.com/v1/namespaces/ns/widgets/a/proxy/metrics" {
		t.Error(err, rec)
	}

	// The status is of the resource's own kind, as without a subresource.
	if _, err := r.Subresource("status").Get(ctx, key, metav1.GetOptions{}); !errors.Is(err, client.ErrWrongKind) || !strings.HasPrefix(err.Error(), `get widgets.example.com/status "ns/a": `) {
		t.Error(err)
	}
	for _, bad := range [][]string{{""}, {"a/b"}, {".."}, {"scale", ""}} {
		if _, err := r.Subresource(bad[0], bad[1:]...).Get(ctx, key, metav1.GetOptions{}); err == nil {
			t.Errorf("%q is no subresource", bad)
		}
	}
	if _, err := r.Subresource("scale").Create(ctx, &scale{ObjectMeta: metav1.ObjectMeta{GenerateName: "a"}}, metav1.CreateOptions{}); !errors.Is(err, reflector.ErrNoName) {
		t.Error(err)
	}
}

// An eviction is answered with a Status.
func TestCreateAnsweredWithStatus(t *testing.T) {
	eviction := &scale{TypeMeta: metav1.TypeMeta{Kind: "Eviction", APIVersion: "policy/v1"}, ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "a"}}
	var rec recorder
	const success = `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Success","code":201}`
	r, err := client.New(rec.connection("", success), kind.OfResource[*scale](pods), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	got, err := r.Subresource("eviction").Create(t.Context(), eviction, metav1.CreateOptions{})
	if got != nil || err != nil || rec.path != "/api/v1/namespaces/ns/pods/a/eviction" {
		t.Error(got, err, rec)
	}
	// Everywhere else it is not what was asked for.
	if _, err := r.Create(t.Context(), &scale{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "a"}}, metav1.CreateOptions{}); err == nil {
		t.Error("an object was created as a Status")
	}
	if _, err := r.Subresource("eviction").Get(t.Context(), types.NamespacedName{Name: "a"}, metav1.GetOptions{}); err == nil {
		t.Error("a Status is no object")
	}
	r, _ = client.New(bodies(goneJSON), kind.OfResource[*scale](pods), client.Options{})
	if _, err := r.Subresource("eviction").Create(t.Context(), eviction, metav1.CreateOptions{}); !apierrors.IsResourceExpired(err) {
		t.Error(err)
	}
}

func TestDeleteCollection(t *testing.T) {
	const path = "/apis/example.com/v1/namespaces/ns/widgets"
	items := make([]string, 20_000)
	for i := range items {
		items[i] = widgetJSON(strings.Repeat("w", 200), i, i)
	}
	for body, ok := range map[string]bool{
		`{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Success"}`: true,
		listJSON(widgetJSON("a", 1, 1)):                                        true,
		listJSON(items...):                                                     true, // its end is not read
		"<html>Please log in":                                                  false,
		`{"hello":"world"}`:                                                    false,
		"":                                                                     false,
	} {
		var rec recorder
		opts := client.Options{Namespace: "ns", LabelSelector: "app=web", FieldSelector: "metadata.name!=x"}
		r := newResource[*widget](t, rec.connection("", body), opts)
		policy := metav1.DeletePropagationBackground
		err := r.DeleteCollection(t.Context(), metav1.DeleteOptions{PropagationPolicy: &policy}, metav1.ListOptions{LabelSelector: "tier=db"})
		if (err == nil) != ok || !ok && !errors.Is(err, client.ErrNotKubernetes) {
			t.Errorf("%.80s: %v", body, err)
		}
		if rec.method != http.MethodDelete || rec.path != path || rec.body != `{"kind":"DeleteOptions","apiVersion":"v1","propagationPolicy":"Background"}` {
			t.Error(rec)
		}
		if len(rec.query) != 2 || rec.query["labelSelector"][0] != "app=web,tier=db" || rec.query["fieldSelector"][0] != "metadata.name!=x" {
			t.Error(rec.query)
		}
	}
	long := strings.Join(items, ",")
	partial := make([]metav1.PartialObjectMetadata, 20_000)
	for i := range partial {
		partial[i] = *partialWidget(strings.Repeat("w", 250), "1")
	}
	success, failure := &metav1.Status{Status: metav1.StatusSuccess}, &metav1.Status{Status: metav1.StatusFailure, Reason: metav1.StatusReasonExpired, Code: 410}
	for name, test := range map[string]struct {
		contentType, body string
		want              func(error) bool
	}{
		"kind last":            {"application/json", `{"items":[` + long + `],"apiVersion":"example.com/v1","kind":"WidgetList"}`, is(nil)},
		"no kind":              {"application/json", `{"items":[` + long + `]}`, is(client.ErrNotKubernetes)},
		"no text":              {"application/json", `{"kind":7,"items":[` + long + `]}`, is(client.ErrNotKubernetes)},
		"broken off":           {"application/json", `{"items":[` + long + `,`, is(client.ErrNotKubernetes)},
		"long and not JSON":    {"application/json", `{` + long, is(client.ErrNotKubernetes)},
		"long HTML":            {"text/html", strings.Repeat("<html>", 1_000_000), is(client.ErrNotKubernetes)},
		"long Status":          {"application/json", `{"kind":"Status","message":"` + strings.Repeat("x", 5<<20) + `"}`, is(client.ErrNotKubernetes)},
		"long protobuf":        {"application/vnd.kubernetes.protobuf", string(protobufListOf(t, "WidgetList", "1", partial...)), is(nil)},
		"protobuf":             {"application/vnd.kubernetes.protobuf", string(protobufListOf(t, "WidgetList", "1", partial[:2]...)), is(nil)},
		"protobuf Status":      {"application/vnd.kubernetes.protobuf", string(protobufObject(t, "v1", "Status", failure)), apierrors.IsResourceExpired},
		"protobuf success":     {"application/vnd.kubernetes.protobuf", string(protobufObject(t, "v1", "Status", success)), is(nil)},
		"no protobuf":          {"application/vnd.kubernetes.protobuf", "<html>", is(client.ErrNotKubernetes)},
		"long and no protobuf": {"application/vnd.kubernetes.protobuf", strings.Repeat("<html>", 1_000_000), is(client.ErrNotKubernetes)},
	} {
		r := newResource[*widget](t, bodiesOf(test.contentType, []byte(test.body)), client.Options{})
		for _, err := range []error{
			r.DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}),
			r.Delete(t.Context(), aKey, metav1.DeleteOptions{}),
		} {
			if !test.want(err) {
				t.Errorf("%s: %.300v", name, err)
			}
		}
	}
	r := newResource[*widget](t, bodies(goneJSON), client.Options{})
	if err := r.DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}); !apierrors.IsResourceExpired(err) ||
		!strings.HasPrefix(err.Error(), "deletecollection widgets.example.com: ") {
		t.Error(err)
	}
}
