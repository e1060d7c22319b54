package fake_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/kind"
)

// disownings are the patches by which clients make the server forget the owners.
var disownings = map[types.PatchType]string{
	types.MergePatchType: `{"metadata":{"managedFields":[{}]}}`,
	types.JSONPatchType:  `[{"op":"replace","path":"/metadata/managedFields","value":[]}]`,
}

// TestDisown: a list of managedFields that is empty or has one empty entry makes the server forget
// the owners, for good.
func TestDisown(t *testing.T) {
	for pt, patch := range disownings {
		for _, first := range []bool{false, true} { // the object has managedFields since its first write
			disown(t, pt, patch, first)
		}
	}
}

func disown(t *testing.T, pt types.PatchType, text string, first bool) {
	t.Helper()
	s, c := appServer(t, optionsFor(first))
	must(fake.Create(s, &app{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "p"}, Spec: appSpec{On: true}}))(t)
	patch := func(pt types.PatchType, text, manager string) *app {
		t.Helper()
		return must(c.Patch(t.Context(), key("", "p"), pt, []byte(text), metav1.PatchOptions{FieldManager: manager}))(t)
	}
	must(applyApp(t, c, "one", "spec: {replicas: 1}", false))(t)
	got := patch(types.MergePatchType, `{"metadata":{"managedFields":[{"manager":"x"}]}}`, "two")
	if o := owners(got); len(o) != 2 || !strings.HasPrefix(o[0], "one Apply") || got.ResourceVersion != "3" {
		t.Errorf("an entry that is none: %q at %s", o, got.ResourceVersion)
	}
	if got = patch(pt, text, "two"); got.ManagedFields != nil || got.ResourceVersion != "4" {
		t.Errorf("%s: %q at %s", text, owners(got), got.ResourceVersion)
	}
	if pt == types.MergePatchType { // a JSON patch has nothing to replace
		if got = patch(pt, text, "two"); got.ResourceVersion != "4" {
			t.Errorf("once more: written as %s", got.ResourceVersion)
		}
	}
	if got = patch(types.MergePatchType, `{"spec":{"replicas":2}}`, "three"); got.ManagedFields != nil {
		t.Errorf("the next write has %q", owners(got))
	}
	_, err := applyApp(t, c, "one", "spec: {replicas: 3}", false)
	if err == nil || !strings.Contains(err.Error(), `conflict with "before-first-apply"`) {
		t.Errorf("the next apply: %v", err)
	}
	got = must(applyApp(t, c, "one", "spec: {replicas: 2}", false))(t)
	if o := owners(got); len(o) != 2 || !strings.HasPrefix(o[1], "before-first-apply Update") {
		t.Errorf("%q", o)
	}
}

// optionsFor returns options of a server whose objects have managedFields from their first write
// on, or not.
func optionsFor(first bool) fake.Options {
	if !first {
		return fake.Options{}
	}
	return fake.Options{Strategy: func(schema.GroupVersionResource, schema.GroupVersionKind) *fake.Strategy { return nil }}
}

// TestDisownUntyped: objects without a Go type lose an empty list when they are read, as in the API
// server. A write of the status has no part in it.
func TestDisownUntyped(t *testing.T) {
	s := fake.New(fake.Options{})
	check(t, fake.Register(s, kind.Of[*unstructured.Unstructured](schema.GroupVersion{Group: "example.com", Version: "v1"}, "widgets").Named("Widget").WithSubresources("status"), fake.Rules{}))
	const path = "/apis/example.com/v1/namespaces/a/widgets"
	const head = `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w"`
	send := func(method, path, contentType, body, want string, has bool) {
		t.Helper()
		code, answer := request(t, s, method, path, contentType, body)
		if code/100 != 2 || !strings.Contains(string(answer), want) || strings.Contains(string(answer), `"managedFields"`) != has {
			t.Errorf("%s %s: %d %s", method, body, code, answer)
		}
	}
	send("POST", path, "application/json", head+`,"managedFields":[{}]},"spec":{"a":1}}`, `"generation":1`, false)
	apply := func() {
		t.Helper()
		send("PATCH", path+"/w?fieldManager=one", string(types.ApplyYAMLPatchType), head+`},"spec":{"b":1}}`, `"manager":"one"`, true)
	}
	apply()
	send("PATCH", path+"/w/status", "application/merge-patch+json", `{"metadata":{"managedFields":[{}]},"status":{"x":1}}`, `"manager":"one"`, true)
	send("PATCH", path+"/w", "application/json-patch+json", disownings[types.JSONPatchType], `"manager":"one"`, true)
	send("PATCH", path+"/w", "application/merge-patch+json", disownings[types.MergePatchType], `"spec"`, false)
}

// TestManagedFromFirstWrite: with a strategy, objects have managedFields from their first write on,
// hooks see them, and nobody owns what hooks add.
func TestManagedFromFirstWrite(t *testing.T) {
	var seen []string
	opts := optionsFor(true)
	opts.Mutate = func(_ context.Context, a *fake.Admission) error {
		seen = append(seen, strings.Join(owners(a.Object), "; "))
		a.Object.SetLabels(map[string]string{"by": "hook"})
		return nil
	}
	_, c := appServer(t, opts)
	got := must(c.Create(t.Context(), &app{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: appSpec{On: true}}, metav1.CreateOptions{FieldManager: "maker"}))(t)
	const made = `maker Update  {"f:spec":{"f:on":{}}}`
	if d := cmp.Diff([]string{made}, owners(got)); d != "" {
		t.Errorf("owners (-want +got):\n%s", d)
	}
	got = must(c.Patch(t.Context(), key("", "p"), types.MergePatchType, []byte(`{"spec":{"replicas":1}}`), metav1.PatchOptions{FieldManager: "editor"}))(t)
	again := must(c.Patch(t.Context(), key("", "p"), types.MergePatchType, []byte(`{"spec":{"replicas":1}}`), metav1.PatchOptions{FieldManager: "other"}))(t)
	if again.ResourceVersion != got.ResourceVersion || len(owners(again)) != 2 {
		t.Errorf("a patch of nothing: %q at %s", owners(again), again.ResourceVersion)
	}
	if len(seen) != 3 || seen[0] != made || !strings.Contains(seen[1], "editor Update") {
		t.Errorf("the hook saw %q", seen)
	}
}
