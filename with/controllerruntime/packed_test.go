package controllerruntime_test

import (
	"encoding/json"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinform/kinform/with/controllerruntime"
)

// TestPackedKept: an object that cannot be packed is kept as it is, and readers get copies.
func TestPackedKept(t *testing.T) {
	_, rc := newPods(t, 3)
	transform := func(obj any) (any, error) {
		if u, ok := obj.(*unstructured.Unstructured); ok {
			u.Object["seen"] = json.Number("1") // no value that Unstructured has
		}
		return obj, nil
	}
	c, err := controllerruntime.CacheOptions{Packed: true}.New(rc, cache.Options{DefaultTransform: transform})
	check(t, err)
	running(t, c)
	for range 2 {
		u := &unstructured.Unstructured{}
		u.SetGroupVersionKind(podKind)
		check(t, c.Get(t.Context(), client.ObjectKey{Namespace: "a", Name: "pod-0"}, u))
		if u.Object["seen"] != json.Number("1") || u.GetLabels()["app"] == "spoilt" {
			t.Fatalf("got %v", u.Object)
		}
		u.Object["metadata"].(map[string]any)["labels"] = map[string]any{"app": "spoilt"}
	}
}
