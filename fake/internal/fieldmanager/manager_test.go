package fieldmanager_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinform/kinform/fake/internal/fieldmanager"
)

type app struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Ports []appPort `json:"ports,omitempty" patchStrategy:"merge" patchMergeKey:"port"`
	} `json:"spec"`
	Status map[string]string `json:"status,omitempty"`
}

type appPort struct {
	Port     int    `json:"port"`
	Name     string `json:"name,omitempty"`
	Protocol string `json:"protocol,omitempty"`
}

var appKind = schema.GroupVersionKind{Version: "v1", Kind: "App"}

func object(members map[string]any) map[string]any {
	out := map[string]any{"apiVersion": "v1", "kind": "App", "metadata": map[string]any{"name": "a"}}
	for k, v := range members {
		out[k] = v
	}
	return out
}

func ports(port map[string]any) map[string]any {
	return object(map[string]any{"spec": map[string]any{"ports": []any{port}}})
}

func newManager(t *testing.T, typ reflect.Type) *fieldmanager.Manager {
	t.Helper()
	m, err := fieldmanager.New(appKind, typ, fieldmanager.Resets{
		Object: `{"f:status":{}}`, Status: `{"f:spec":{}}`,
	}, fieldmanager.Versions{})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestApply: two managers own an item each, a third one conflicts, and force wins.
func TestApply(t *testing.T) {
	m := newManager(t, reflect.TypeFor[app]())
	live := &unstructured.Unstructured{Object: object(nil)}
	want := ports(map[string]any{"port": int64(80), "name": "web"})
	one, err := m.Apply(live, want, "one", false, "")
	if err != nil {
		t.Fatal(err)
	}
	if len(want["spec"].(map[string]any)["ports"].([]any)[0].(map[string]any)) != 2 || len(live.GetManagedFields()) != 0 {
		t.Error("Apply changed its input")
	}
	two, err := m.Apply(one, ports(map[string]any{"port": int64(81)}), "two", false, "")
	if err != nil {
		t.Fatal(err)
	}
	items, _, _ := unstructured.NestedSlice(two.Object, "spec", "ports")
	if len(items) != 2 || items[0].(map[string]any)["protocol"] != "TCP" || len(two.GetManagedFields()) != 2 {
		t.Errorf("merged %v", two.Object)
	}
	other := ports(map[string]any{"port": int64(80), "name": "other"})
	if _, err := m.Apply(two, other, "three", false, ""); !apierrors.IsConflict(err) || !strings.Contains(err.Error(), `"one"`) {
		t.Errorf("conflict: %v", err)
	}
	if _, err := m.Apply(two, other, "three", true, ""); err != nil {
		t.Errorf("force: %v", err)
	}
}

func TestApplyWithoutKey(t *testing.T) {
	m := newManager(t, reflect.TypeFor[app]())
	live := &unstructured.Unstructured{Object: object(nil)}
	_, err := m.Apply(live, ports(map[string]any{"name": "web"}), "one", false, "")
	var status *apierrors.StatusError
	if err == nil || errors.As(err, &status) && !apierrors.IsInvalid(err) {
		t.Errorf("an item without its key: %v", err)
	}
	_, err = m.Apply(live, ports(map[string]any{"port": int64(1), "bogus": "x"}), "one", false, "")
	if err == nil || !strings.Contains(err.Error(), "bogus") {
		t.Errorf("an unknown field: %v", err)
	}
}

// TestUntypedMetadata: without a Go type, the lists of the metadata are owned item by item, other
// lists as a whole, and unknown metadata is refused.
func TestUntypedMetadata(t *testing.T) {
	m := newManager(t, nil)
	config := func(finalizer string, list ...any) map[string]any {
		out := object(map[string]any{"spec": map[string]any{"list": list}})
		out["metadata"].(map[string]any)["finalizers"] = []any{finalizer}
		return out
	}
	one, err := m.Apply(&unstructured.Unstructured{Object: object(nil)}, config("x/one", "a"), "one", false, "")
	if err != nil {
		t.Fatal(err)
	}
	two, err := m.Apply(one, config("x/two", "a"), "two", false, "")
	if err != nil || len(two.GetFinalizers()) != 2 {
		t.Fatalf("%v, %v", two, err)
	}
	if _, err := m.Apply(two, config("x/two", "a", "b"), "two", false, ""); !apierrors.IsConflict(err) || !strings.Contains(err.Error(), ".spec.list") {
		t.Errorf("conflict: %v", err)
	}
	unknown := object(nil)
	unknown["metadata"].(map[string]any)["bogus"] = "x"
	if _, err := m.Apply(two, unknown, "two", false, ""); err == nil || !strings.Contains(err.Error(), ".metadata.bogus: field not declared in schema") {
		t.Errorf("unknown metadata: %v", err)
	}
}

// TestUpdate: a write to one half owns nothing of the other, and one without a name is called
// unknown. Another subresource owns as the object does.
func TestUpdate(t *testing.T) {
	for _, typ := range []reflect.Type{reflect.TypeFor[app](), nil} {
		m := newManager(t, typ)
		next := &unstructured.Unstructured{Object: ports(map[string]any{"port": int64(1)})}
		next.Object["status"] = map[string]any{"phase": "x"}
		live := &unstructured.Unstructured{Object: object(nil)}
		for _, subresource := range []string{"", "status", "scale"} {
			out, status := m.Update(live, next.DeepCopy(), "", subresource), subresource == "status"
			if e := out.GetManagedFields(); len(e) != 1 || e[0].Manager != "unknown" || e[0].Subresource != subresource || strings.Contains(string(e[0].FieldsV1.GetRawBytes()), "f:status") != status ||
				strings.Contains(string(e[0].FieldsV1.GetRawBytes()), "f:spec") == status {
				t.Errorf("subresource %q: %+v", subresource, e)
			}
		}
	}
}

func TestStamp(t *testing.T) {
	before, now := metav1.Unix(1, 0), metav1.NewTime(time.Unix(2, 0))
	old := metav1.ManagedFieldsEntry{Manager: "z", Operation: "Update", Time: &before}
	made := metav1.ManagedFieldsEntry{Manager: "a", Operation: "Update", Time: &before}
	apply := metav1.ManagedFieldsEntry{Manager: "x", Operation: "Apply", Time: &before}
	in := []metav1.ManagedFieldsEntry{made, old, apply}
	out := fieldmanager.Stamp(in, []metav1.ManagedFieldsEntry{old}, now)
	if out[0].Manager != "x" || out[1].Manager != "z" || out[2].Manager != "a" || !out[1].Time.Equal(&before) || !out[2].Time.Equal(&now) || !in[0].Time.Equal(&before) {
		t.Errorf("%+v", out)
	}
	if !fieldmanager.SameButTimes(in, []metav1.ManagedFieldsEntry{{Manager: "a", Operation: "Update"}, old, apply}) || fieldmanager.SameButTimes(in, in[:2]) {
		t.Error("SameButTimes compares times, or less than the rest")
	}
}
