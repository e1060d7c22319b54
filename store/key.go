package store

import (
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// KeyFunc returns the key of an object.
//
// It must be pure: one object has one key, for ever. It runs with no lock held, in the
// goroutine of the writer, and in that of a reader who iterates over keys. The store keeps
// the key of the object that is stored, so that a lookup does not read the object. An
// object whose key changes after it was stored (a program wrote to the cache) is still
// found under the key that it was stored by; [Store.Check] tells.
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
