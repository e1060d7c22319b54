package fake_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/fake"
)

// kindServer serves one resource of a group as Unstructured, with a status apart.
func kindServer(t testing.TB, group, kind string) *fake.Client[*unstructured.Unstructured] {
	t.Helper()
	s := fake.New(fake.Options{})
	check(t, fake.Register[*unstructured.Unstructured](s, fake.Resource{Group: group, Kind: kind, Status: true}))
	return must(fake.NewClient[*unstructured.Unstructured](s, fake.Selection{Namespace: "a"}))(t)
}

func newKind(group, kind, name string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"n": int64(1)}}}
	u.SetGroupVersionKind(schema.GroupVersionKind{Group: group, Version: "v1", Kind: kind})
	u.SetName(name)
	return u
}

// TestStatusWritesMetadata: the status subresource of Kubernetes' own kinds writes metadata as
// well, with exceptions, and that of custom resources does not.
func TestStatusWritesMetadata(t *testing.T) {
	owner := metav1.OwnerReference{APIVersion: "v1", Kind: "Pod", Name: "o", UID: "u"}
	for _, c := range []struct{ group, kind, want string }{
		{"", "Pod", "labels annotations finalizers"},
		{"", "Node", "labels annotations finalizers owners"},
		{"apps", "Deployment", "annotations finalizers owners"},
		{"storage.k8s.io", "VolumeAttachment", ""},
		{"example.com", "Widget", ""},
	} {
		client := kindServer(t, c.group, c.kind)
		obj := must(client.Create(t.Context(), newKind(c.group, c.kind, "x"), metav1.CreateOptions{}))(t)
		generation := obj.GetGeneration()
		obj.SetLabels(map[string]string{"l": "1"})
		obj.SetAnnotations(map[string]string{"a": "1"})
		obj.SetFinalizers([]string{"example.com/f"})
		obj.SetOwnerReferences([]metav1.OwnerReference{owner})
		obj.Object["spec"] = map[string]any{"n": int64(2)}
		obj.Object["status"] = map[string]any{"n": int64(3)}
		got := must(client.UpdateStatus(t.Context(), obj, metav1.UpdateOptions{}))(t)
		var wrote []string
		for name, is := range map[string]bool{
			"labels": len(got.GetLabels()) > 0, "annotations": len(got.GetAnnotations()) > 0,
			"finalizers": len(got.GetFinalizers()) > 0, "owners": len(got.GetOwnerReferences()) > 0,
		} {
			if is != strings.Contains(c.want, name) {
				wrote = append(wrote, name)
			}
		}
		if len(wrote) > 0 {
			t.Errorf("%s: wrong: %v, want %q", c.kind, wrote, c.want)
		}
		if d := cmp.Diff([]any{map[string]any{"n": int64(1)}, map[string]any{"n": int64(3)}}, []any{got.Object["spec"], got.Object["status"]}); d != "" {
			t.Errorf("%s: spec and status: (-want +got):\n%s", c.kind, d)
		}
		if got.GetGeneration() != generation {
			t.Errorf("%s: generation %d, before the write of the status %d", c.kind, got.GetGeneration(), generation)
		}
	}
}

// TestGenerationsOfKinds writes annotations, and then the spec.
func TestGenerationsOfKinds(t *testing.T) {
	for _, c := range []struct {
		group, kind string
		want        [3]int64
	}{
		{"", "Pod", [3]int64{1, 1, 2}},
		{"", "Service", [3]int64{}},
		{"coordination.k8s.io", "Lease", [3]int64{}},
		{"apps", "Deployment", [3]int64{1, 2, 3}},
		{"apps", "StatefulSet", [3]int64{1, 1, 2}},
		{"example.com", "Service", [3]int64{1, 1, 2}},
	} {
		client := kindServer(t, c.group, c.kind)
		obj := must(client.Create(t.Context(), newKind(c.group, c.kind, "x"), metav1.CreateOptions{}))(t)
		got := [3]int64{obj.GetGeneration()}
		for i, patch := range []string{`{"metadata":{"annotations":{"a":"1"}}}`, `{"spec":{"n":2}}`} {
			obj = must(client.Patch(t.Context(), key("a", "x"), types.MergePatchType, []byte(patch), metav1.PatchOptions{}))(t)
			got[i+1] = obj.GetGeneration()
		}
		if got != c.want {
			t.Errorf("%s %s: generations %v, want %v", c.group, c.kind, got, c.want)
		}
	}
}

// TestUpdateCreates: an update creates an absent object of a few kinds.
func TestUpdateCreates(t *testing.T) {
	leases, pods := kindServer(t, "coordination.k8s.io", "Lease"), kindServer(t, "", "Pod")
	stale := newKind("coordination.k8s.io", "Lease", "new")
	stale.SetResourceVersion("77")
	if got := must(leases.Update(t.Context(), stale, metav1.UpdateOptions{}))(t); got.GetResourceVersion() != "2" || got.GetUID() == "" {
		t.Errorf("created %v", got)
	}
	other := newKind("coordination.k8s.io", "Lease", "other")
	other.SetUID("u")
	wantStatus(t, second(leases.Update(t.Context(), other, metav1.UpdateOptions{})), http.StatusConflict, metav1.StatusReasonConflict)
	wantStatus(t, second(leases.UpdateStatus(t.Context(), newKind("coordination.k8s.io", "Lease", "none"), metav1.UpdateOptions{})), http.StatusNotFound, metav1.StatusReasonNotFound)
	wantStatus(t, second(pods.Update(t.Context(), newKind("", "Pod", "none"), metav1.UpdateOptions{})), http.StatusNotFound, metav1.StatusReasonNotFound)
}

// TestDeletionIsNoField: a client cannot mark an object as being deleted by a write.
func TestDeletionIsNoField(t *testing.T) {
	s := newServer(t, fake.Options{})
	p := must(fake.Create(s, newPod("a", "p")))(t)
	now := metav1.Now()
	p.DeletionTimestamp = &now
	st := wantStatus(t, second(fake.Update(s, p)), http.StatusUnprocessableEntity, metav1.StatusReasonInvalid)
	if !strings.Contains(st.Message, "metadata.deletionTimestamp") || !strings.Contains(st.Message, "field is immutable") {
		t.Errorf("message %q", st.Message)
	}
	p.DeletionTimestamp, p.Finalizers = nil, []string{"a/b"}
	must(fake.Update(s, p))(t)
	must(fake.Delete[*pod](s, key("a", "p")))(t)
	st = wantStatus(t, second(fake.Create(s, newPod("a", "p"))), http.StatusConflict, metav1.StatusReasonAlreadyExists)
	if st.Message != `object is being deleted: pods "p" already exists` {
		t.Errorf("message %q", st.Message)
	}
}
