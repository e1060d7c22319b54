package fake_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/kind"
)

// kindOf describes a kind by its name, as Unstructured.
func kindOf(group, name string) *kind.Kind[*unstructured.Unstructured] {
	gvk := schema.GroupVersionKind{Group: group, Version: "v1", Kind: name}
	plural, _ := meta.UnsafeGuessKindToResource(gvk)
	return kind.Of[*unstructured.Unstructured](gvk.GroupVersion(), plural.Resource).Named(name)
}

// kindServer serves one resource of a group as Unstructured, with a status apart.
func kindServer(t testing.TB, group, name string) *client.Resource[*unstructured.Unstructured] {
	t.Helper()
	s := fake.New(fake.Options{})
	k := kindOf(group, name).WithSubresources("status")
	check(t, fake.Register(s, k, fake.Rules{}))
	return clientOf(t, s, k, "a")
}

func newKind(group, kind, name string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"n": int64(1)}}}
	u.SetGroupVersionKind(schema.GroupVersionKind{Group: group, Version: "v1", Kind: kind})
	u.SetName(name)
	return u
}

// TestStatusWritesMetadata: the status subresource of Kubernetes' own kinds writes metadata as
// well, with exceptions, and the status subresource of custom resources does not.
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

// TestGenerationsOfKinds creates an object, and then writes annotations, labels and the spec.
func TestGenerationsOfKinds(t *testing.T) {
	for _, c := range []struct {
		group, kind string
		want        [4]int64
	}{
		{"", "Pod", [4]int64{1, 1, 1, 2}},
		{"", "ConfigMap", [4]int64{}},
		{"", "Service", [4]int64{}},
		{"coordination.k8s.io", "Lease", [4]int64{}},
		{"apps", "Deployment", [4]int64{1, 2, 2, 3}},
		{"apps", "StatefulSet", [4]int64{1, 1, 1, 2}},
		{"discovery.k8s.io", "EndpointSlice", [4]int64{1, 1, 2, 3}},
		{"rbac.authorization.k8s.io", "Role", [4]int64{}},
		{"scheduling.k8s.io", "PriorityClass", [4]int64{1, 1, 1, 1}},
		{"storage.k8s.io", "CSIDriver", [4]int64{0, 0, 0, 1}},
		{"example.com", "Service", [4]int64{1, 1, 1, 2}},
	} {
		client := kindServer(t, c.group, c.kind)
		obj := must(client.Create(t.Context(), newKind(c.group, c.kind, "x"), metav1.CreateOptions{}))(t)
		got := [4]int64{obj.GetGeneration()}
		for i, patch := range []string{`{"metadata":{"annotations":{"a":"1"}}}`, `{"metadata":{"labels":{"l":"1"}}}`, `{"spec":{"n":2}}`} {
			obj = must(client.Patch(t.Context(), key("a", "x"), types.MergePatchType, []byte(patch), metav1.PatchOptions{}))(t)
			got[i+1] = obj.GetGeneration()
		}
		if got != c.want {
			t.Errorf("%s %s: generations %v, want %v", c.group, c.kind, got, c.want)
		}
	}
}

// plain is a custom resource without a spec.
type plain struct {
	metav1.ObjectMeta `json:"metadata"`
	Data              int `json:"data"`
	Status            int `json:"status"`
}

// TestGenerationOfCustomResources: all counts but the metadata and a status apart.
func TestGenerationOfCustomResources(t *testing.T) {
	s := fake.New(fake.Options{})
	check(t, fake.Register(s, kind.Of[*plain](exampleV1, "plains").WithSubresources("status"), fake.Rules{}))
	p := must(fake.Create(s, &plain{ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "a"}}))(t)
	got := []int64{p.Generation}
	p.Labels, p.Status = map[string]string{"l": "1"}, 1
	p = must(fake.Update(s, p))(t)
	got = append(got, p.Generation)
	p.Status = 2
	p = must(fake.UpdateStatus(s, p))(t)
	got = append(got, p.Generation)
	p.Data = 3
	p = must(fake.Update(s, p))(t)
	if got = append(got, p.Generation); !slices.Equal(got, []int64{1, 1, 1, 2}) {
		t.Errorf("generations %v", got)
	}
}

// TestGenerationOfClients: a kind without a generation keeps the generation of its creation.
func TestGenerationOfClients(t *testing.T) {
	client := kindServer(t, "", "ConfigMap")
	obj := newKind("", "ConfigMap", "x")
	obj.SetGeneration(7)
	obj = must(client.Create(t.Context(), obj, metav1.CreateOptions{}))(t)
	obj.SetGeneration(9)
	obj.SetLabels(map[string]string{"l": "1"})
	if got := must(client.Update(t.Context(), obj, metav1.UpdateOptions{}))(t); got.GetGeneration() != 7 {
		t.Errorf("generation %d", got.GetGeneration())
	}
}

// TestOrphansByDefault: without a policy, a deletion of a Job leaves its dependents alone, unless
// its finalizers say how.
func TestOrphansByDefault(t *testing.T) {
	for _, c := range []struct {
		kind            string
		finalizer, want string
	}{
		{"Job", "", "orphan"},
		{"Job", "foregroundDeletion", "foregroundDeletion"},
		{"Job", "orphan", "orphan"},
		{"CronJob", "", ""},
	} {
		client := kindServer(t, "batch", c.kind)
		obj := newKind("batch", c.kind, "x")
		if c.finalizer != "" {
			obj.SetFinalizers([]string{c.finalizer})
		}
		must(client.Create(t.Context(), obj, metav1.CreateOptions{}))(t)
		check(t, client.Delete(t.Context(), key("a", "x"), metav1.DeleteOptions{}))
		got, err := client.Get(t.Context(), key("a", "x"), metav1.GetOptions{})
		if c.want == "" {
			wantStatus(t, err, http.StatusNotFound, metav1.StatusReasonNotFound)
			continue
		}
		if check(t, err); !slices.Equal(got.GetFinalizers(), []string{c.want}) {
			t.Errorf("%s with %q: finalizers %v, want %s", c.kind, c.finalizer, got.GetFinalizers(), c.want)
		}
	}
}

// TestUpdateCreates: an update creates an absent object of a few kinds, even one of the status.
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
	services := kindServer(t, "", "Service")
	must(services.UpdateStatus(t.Context(), newKind("", "Service", "put"), metav1.UpdateOptions{}))(t)
	applied := []byte(`{"apiVersion":"v1","kind":"Service","metadata":{"name":"applied"}}`)
	must(services.PatchStatus(t.Context(), key("a", "applied"), types.ApplyYAMLPatchType, applied, metav1.PatchOptions{FieldManager: "m"}))(t)
	wantStatus(t, second(services.PatchStatus(t.Context(), key("a", "merged"), types.MergePatchType, []byte(`{}`), metav1.PatchOptions{})), http.StatusNotFound, metav1.StatusReasonNotFound)
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
