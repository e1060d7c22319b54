package store

import (
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// KeyFunc returns the key of an object.
//
// It must be pure: one object has one key, for ever. The store keeps no keys beside its
// objects, which saves 32 bytes each and pins no strings of objects that are gone; it
// asks again, in the goroutine of a reader or of the writer and with no lock held, to
// tell apart objects whose keys have the same 32-bit hash. An object whose key changes
// after it was stored (a program wrote to the cache) is not found under either key until
// a [Store.Replace] takes it out; [Store.Check] tells.
type KeyFunc[K comparable, T any] func(obj T) (K, error)

// ObjectKey is the KeyFunc of Kubernetes objects: namespace and name.
// Cost: no allocation. Errors: ErrNilObject, ErrNoName.
func ObjectKey[T metav1.Object](obj T) (types.NamespacedName, error) {
	if isNil(obj) {
		return types.NamespacedName{}, ErrNilObject
	}
	name := obj.GetName()
	if name == "" {
		return types.NamespacedName{}, ErrNoName
	}
	return types.NamespacedName{Namespace: obj.GetNamespace(), Name: name}, nil
}

func isNil(obj any) bool {
	if obj == nil {
		return true
	}
	v := reflect.ValueOf(obj)
	return v.Kind() == reflect.Pointer && v.IsNil()
}

// SameVersion is an Options.Unchanged for Kubernetes objects: it says that both are the
// same object (UID) at the same, non-empty resourceVersion.
func SameVersion[T metav1.Object](old, new T) bool {
	rv := new.GetResourceVersion()
	return rv != "" && rv == old.GetResourceVersion() && old.GetUID() == new.GetUID()
}
