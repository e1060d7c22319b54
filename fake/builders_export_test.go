package fake

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/internal/mistake"
)

// Annotations adds annotations, as [Labels] adds labels.
func Annotations(pairs ...string) func(metav1.Object) {
	return func(obj metav1.Object) { obj.SetAnnotations(withPairs(obj.GetAnnotations(), pairs)) }
}

// Finalizers adds finalizers.
func Finalizers(names ...string) func(metav1.Object) {
	return func(obj metav1.Object) {
		obj.SetFinalizers(append(append([]string(nil), obj.GetFinalizers()...), names...))
	}
}

// OwnedBy adds a reference to owner as the controller. owner must have a uid and state its
// kind, as all objects returned by the server do.
func OwnedBy(owner metav1.Object) func(metav1.Object) {
	return func(obj metav1.Object) {
		yes := true
		ref := metav1.OwnerReference{Name: owner.GetName(), UID: owner.GetUID(), Controller: &yes, BlockOwnerDeletion: &yes}
		ref.APIVersion, ref.Kind = kindOf(owner).ToAPIVersionAndKind()
		obj.SetOwnerReferences(append(append([]metav1.OwnerReference(nil), obj.GetOwnerReferences()...), ref))
	}
}

// CreateMany creates n objects and returns them as stored. build makes the object of each
// number. An object without a name gets its number as its name, such as "0042". CreateMany
// stops at the first error: see [Create].
func CreateMany[T metav1.Object](at Target, n int, build func(i int) T) ([]T, error) {
	out := make([]T, 0, n)
	for i := range n {
		obj := build(i)
		if !mistake.IsNil(obj) && obj.GetName() == "" && obj.GetGenerateName() == "" {
			obj.SetName(fmt.Sprintf("%04d", i))
		}
		stored, err := Create(at, obj)
		if err != nil {
			return out, err
		}
		out = append(out, stored)
	}
	return out, nil
}
