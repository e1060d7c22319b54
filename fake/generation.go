package fake

import (
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// generations reports whether the server counts generations: of custom resources, of types with a
// Spec, and of unstructured objects. Some of Kubernetes' own kinds deviate.
func (t *table) generations() bool {
	custom := t.res.custom() && t.meta != nil
	return (custom || t.untyped() || t.spec != nil || withGeneration.hold(&t.res)) && !withoutGeneration.hold(&t.res)
}

// sameGeneration reports whether an update of b to a leaves the generation as it is. Annotations
// of a Deployment count, because its ReplicaSets get them, and so do labels of an EndpointSlice.
func (t *table) sameGeneration(a, b metav1.Object) bool {
	switch {
	case generationStays.hold(&t.res):
		return true
	case deployments.hold(&t.res) && !same(a.GetAnnotations(), b.GetAnnotations()),
		endpointSlices.hold(&t.res) && !same(a.GetLabels(), b.GetLabels()):
		return false
	}
	return t.sameSpec(a, b)
}

// sameSpec reports whether a and b have the same generation: the same Spec or, for unstructured
// objects, the same members apart from metadata and from a status that is a subresource.
func (t *table) sameSpec(a, b metav1.Object) bool {
	if ua, ok := a.(*unstructured.Unstructured); ok {
		ub := b.(*unstructured.Unstructured)
		return same(t.desired(ua.Object), t.desired(ub.Object))
	}
	return same(t.specOf(a), t.specOf(b))
}

// specOf returns the Spec of an object. Of a custom resource, and of a type that has no Spec, it
// returns the object without its metadata and without a status that is a subresource.
func (t *table) specOf(obj metav1.Object) any {
	whole := reflect.ValueOf(obj).Elem()
	if t.spec != nil && (!t.res.custom() || t.meta == nil) {
		return whole.FieldByIndex(t.spec).Interface()
	}
	rest := reflect.New(t.typ).Elem()
	rest.Set(whole)
	if t.meta != nil {
		rest.FieldByIndex(t.meta).SetZero()
	}
	if t.res.Status && t.status != nil {
		rest.FieldByIndex(t.status).SetZero()
	}
	return rest.Interface()
}

func (t *table) desired(object map[string]any) map[string]any {
	out := make(map[string]any, len(object))
	for k, v := range object {
		if k != "metadata" && (k != statusField || !t.res.Status) {
			out[k] = v
		}
	}
	return out
}
