package client_test

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/kind"
	"github.com/kinform/kinform/reflector"
)

func TestWrites(t *testing.T) {
	var rec recorder
	stored := full(widgetJSON("a", 9, 5))
	r := newResource[*widget](t, rec.connection("", stored), client.Options{})
	w := newWidget("a", 8, 5)
	key := types.NamespacedName{Namespace: "ns", Name: "a"}
	ctx := t.Context()
	const collection = "/apis/example.com/v1/namespaces/ns/widgets"

	for _, test := range []struct {
		do                 func() (*widget, error)
		method, path, ct   string
		query, value, body string
	}{
		{
			do:     func() (*widget, error) { return r.Get(ctx, key, metav1.GetOptions{ResourceVersion: "0"}) },
			method: "GET", path: collection + "/a", query: "resourceVersion", value: "0",
		},
		{
			do:     func() (*widget, error) { return r.Create(ctx, w, metav1.CreateOptions{FieldManager: "me"}) },
			method: "POST", path: collection, ct: "application/json", query: "fieldManager", value: "me", body: `"size":5`,
		},
		{
			do:     func() (*widget, error) { return r.Update(ctx, w, metav1.UpdateOptions{DryRun: []string{"All"}}) },
			method: "PUT", path: collection + "/a", ct: "application/json", query: "dryRun", value: "All", body: `"resourceVersion":"8"`,
		},
		{
			do:     func() (*widget, error) { return r.UpdateStatus(ctx, w, metav1.UpdateOptions{}) },
			method: "PUT", path: collection + "/a/status", ct: "application/json", body: `"kind":"Widget"`,
		},
		{
			do: func() (*widget, error) {
				return r.Patch(ctx, key, types.MergePatchType, []byte(`{"spec":{}}`), metav1.PatchOptions{})
			},
			method: "PATCH", path: collection + "/a", ct: "application/merge-patch+json", body: `{"spec":{}}`,
		},
	} {
		got, err := test.do()
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(newWidget("a", 9, 5), got); d != "" {
			t.Error(d)
		}
		if rec.method != test.method || rec.path != test.path || rec.header.Get("Content-Type") != test.ct {
			t.Error(rec)
		}
		if test.query != "" && (len(rec.query) != 1 || rec.query[test.query][0] != test.value) {
			t.Error(rec.query)
		}
		if !strings.Contains(rec.body, test.body) || test.body == "" && rec.body != "" {
			t.Error(rec.body)
		}
	}

	two := int64(2)
	err := r.Delete(ctx, key, metav1.DeleteOptions{GracePeriodSeconds: &two})
	if err != nil || rec.method != "DELETE" || rec.path != collection+"/a" ||
		rec.body != `{"kind":"DeleteOptions","apiVersion":"v1","gracePeriodSeconds":2}` {
		t.Error(err, rec)
	}
}

// Writing fills in what the server needs, and leaves the caller's object alone.
func TestWriteCompletes(t *testing.T) {
	var rec recorder
	ctx := t.Context()
	r := newNamed[*widget](t, rec.connection("", full(widgetJSON("a", 1, 1))), "Widget", client.Options{Namespace: "ns"})
	w := &widget{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
	if _, err := r.Create(ctx, w, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(rec.body, `,"kind":"Widget","apiVersion":"example.com/v1"}`) || rec.path != "/apis/example.com/v1/namespaces/ns/widgets" {
		t.Error(rec)
	}
	if w.Kind != "" || w.Namespace != "" {
		t.Error("the caller's object was changed:", w)
	}
	w = &widget{ObjectMeta: metav1.ObjectMeta{GenerateName: "a-"}}
	if _, err := r.Create(ctx, w, metav1.CreateOptions{}); err != nil {
		t.Error(err)
	}
	w.Namespace = "other"
	if _, err := r.Create(ctx, w, metav1.CreateOptions{}); err == nil || !strings.Contains(err.Error(), "other") {
		t.Error("another namespace than the client's:", err)
	}

	p := newResource[*plain](t, rec.connection("", full(widgetJSON("a", 1, 1))), client.Options{})
	if _, err := p.Update(ctx, &plain{}, metav1.UpdateOptions{}); !errors.Is(err, reflector.ErrNoName) {
		t.Error("an object without metadata:", err)
	}
	u := newResource[*unstructured.Unstructured](t, rec.connection("", full(widgetJSON("a", 1, 1))), client.Options{})
	in := &unstructured.Unstructured{Object: map[string]any{"kind": "", "metadata": map[string]any{"name": "a", "namespace": "n"}, "n": int64(1), "f": 1.5}}
	out, err := u.Update(ctx, in, metav1.UpdateOptions{})
	if err != nil || out.GetName() != "a" || rec.path != "/apis/example.com/v1/namespaces/n/widgets/a" || !strings.Contains(rec.body, `"f":1.5`) {
		t.Error(out, err, rec)
	}
}

func TestWriteMisuse(t *testing.T) {
	ctx := t.Context()
	r := newResource[*widget](t, bodies(full(widgetJSON("a", 1, 1))), client.Options{})
	for name, do := range map[string]func() error{
		"get":      func() error { _, err := r.Get(ctx, types.NamespacedName{}, metav1.GetOptions{}); return err },
		"get path": func() error { _, err := r.Get(ctx, types.NamespacedName{Name: "a/b"}, metav1.GetOptions{}); return err },
		"get dots": func() error {
			_, err := r.Get(ctx, types.NamespacedName{Namespace: "..", Name: "a"}, metav1.GetOptions{})
			return err
		},
		"create nil": func() error { _, err := r.Create(ctx, nil, metav1.CreateOptions{}); return err },
		"create":     func() error { _, err := r.Create(ctx, &widget{}, metav1.CreateOptions{}); return err },
		"update": func() error {
			_, err := r.Update(ctx, &widget{ObjectMeta: metav1.ObjectMeta{GenerateName: "x"}}, metav1.UpdateOptions{})
			return err
		},
		"update status": func() error { _, err := r.UpdateStatus(ctx, &widget{}, metav1.UpdateOptions{}); return err },
		"patch name": func() error {
			_, err := r.Patch(ctx, types.NamespacedName{}, types.MergePatchType, []byte("{}"), metav1.PatchOptions{})
			return err
		},
		"patch type": func() error {
			_, err := r.Patch(ctx, types.NamespacedName{Name: "a"}, "", []byte("{}"), metav1.PatchOptions{})
			return err
		},
		"patch": func() error {
			_, err := r.Patch(ctx, types.NamespacedName{Name: "a"}, types.MergePatchType, nil, metav1.PatchOptions{})
			return err
		},
		"delete": func() error { return r.Delete(ctx, types.NamespacedName{}, metav1.DeleteOptions{}) },
		"create other": func() error {
			_, err := r.Create(ctx, &widget{TypeMeta: metav1.TypeMeta{Kind: "Pod", APIVersion: "v1"}, ObjectMeta: metav1.ObjectMeta{Name: "x"}}, metav1.CreateOptions{})
			return err
		},
	} {
		if err := do(); err == nil || !strings.Contains(err.Error(), "widgets.example.com") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// An answer that is not the object asked for is an error that says what it is.
func TestGetBadBodies(t *testing.T) {
	for _, test := range []struct {
		name, body string
		is         error
		text       string
	}{
		{"empty", "", client.ErrNotKubernetes, "empty body"},
		{"HTML", "<html>Please log in", client.ErrNotKubernetes, "Please log in"},
		{"truncated", `{"metadata":{"name`, io.ErrUnexpectedEOF, "unexpected EOF"},
		{"two", full(widgetJSON("a", 1, 1)) + "{}", client.ErrNotKubernetes, "more than one"},
		{"null", "null", client.ErrNotAnObject, "null"},
		{"no name", "{}", reflector.ErrNoName, "name"},
		{"list", listJSON(), client.ErrWrongKind, "WidgetList"},
		{"table", `{"kind":"Table","apiVersion":"meta.k8s.io/v1"}`, client.ErrTable, "Table"},
		{"other kind", `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a"}}`, client.ErrWrongKind, "Pod"},
		{"other JSON", `{"metadata":{"name":7}}`, nil, "name"},
	} {
		r := newNamed[*widget](t, bodies(test.body), "Widget", client.Options{})
		_, err := r.Get(t.Context(), types.NamespacedName{Namespace: "ns", Name: "a"}, metav1.GetOptions{})
		if err == nil || test.is != nil && !errors.Is(err, test.is) || !strings.Contains(err.Error(), test.text) ||
			!strings.HasPrefix(err.Error(), `get widgets.example.com "ns/a": `) {
			t.Errorf("%s: %v", test.name, err)
		}
	}
}

// A Status in a 2xx answer decides the result, and a page of HTML has deleted nothing.
func TestUnexpectedSuccess(t *testing.T) {
	key := types.NamespacedName{Namespace: "ns", Name: "a"}
	for _, gvr := range []schema.GroupVersionResource{widgets, pods} {
		r, err := client.New(bodies(goneJSON), kind.OfResource[*widget](gvr), client.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.Get(t.Context(), key, metav1.GetOptions{}); !apierrors.IsResourceExpired(err) {
			t.Error(err)
		}
		if err := r.Delete(t.Context(), key, metav1.DeleteOptions{}); !apierrors.IsResourceExpired(err) {
			t.Error(err)
		}
	}
	for body, ok := range map[string]bool{
		`{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Success"}`: true,
		full(widgetJSON("a", 1, 1)): true,
		"<html>Please log in":       false,
		`{"hello":"world"}`:         false,
		"":                          false,
	} {
		err := newResource[*widget](t, bodies(body), client.Options{}).Delete(t.Context(), key, metav1.DeleteOptions{})
		if (err == nil) != ok || !ok && !errors.Is(err, client.ErrNotKubernetes) {
			t.Errorf("%s: %v", body, err)
		}
	}
}
