package fake

import (
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// setStatus gives obj the status of from, which it then shares.
func (t *table) setStatus(obj, from metav1.Object) {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		value, found := from.(*unstructured.Unstructured).Object[statusField]
		switch {
		case found && u.Object != nil:
			u.Object[statusField] = value
		case !found:
			delete(u.Object, statusField)
		}
		return
	}
	reflect.ValueOf(obj).Elem().FieldByIndex(t.status).Set(reflect.ValueOf(from).Elem().FieldByIndex(t.status))
}

// statusOf returns old with the status of obj and, where a write of the status has them, with the
// metadata of obj. The status of a Deployment leaves its labels alone, the status of a Pod leaves
// its owners alone.
func (t *table) statusOf(obj, old metav1.Object) (metav1.Object, error) {
	whole, err := clone(old)
	if err != nil {
		return obj, err
	}
	t.setStatus(whole, obj)
	whole.SetManagedFields(obj.GetManagedFields())
	if !t.res.statusHasMetadata() {
		return whole, nil
	}
	whole.SetAnnotations(obj.GetAnnotations())
	whole.SetFinalizers(obj.GetFinalizers())
	if !deployments.hold(&t.res) {
		whole.SetLabels(obj.GetLabels())
	}
	if !pods.hold(&t.res) {
		whole.SetOwnerReferences(obj.GetOwnerReferences())
	}
	return whole, nil
}
