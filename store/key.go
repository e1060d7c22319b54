package store

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/internal/keytext"
	"github.com/kinform/kinform/internal/mistake"
	"github.com/kinform/kinform/internal/usercode"
)

// KeyFunc returns the key of an object.
//
// It must be pure: an object always has the same key. It runs with no lock held, in the
// goroutine of the writer, or of a reader that iterates over keys. The store keeps a copy of
// the key, so that a lookup does not read the object. If a program changes the key of a stored
// object, the store still finds the object under its old key; [Store.Check] reports the change.
type KeyFunc[K comparable, T any] func(obj T) (K, error)

// ObjectKey is the KeyFunc of Kubernetes objects: namespace and name.
// Cost: no allocation. Errors: [ErrInvalid] for nil; reflector.ErrNoName.
func ObjectKey[T metav1.Object](obj T) (types.NamespacedName, error) {
	if mistake.IsNil(obj) {
		return types.NamespacedName{}, mistake.NoObject
	}
	name := obj.GetName()
	if name == "" {
		return types.NamespacedName{}, usercode.ErrNoName
	}
	return types.NamespacedName{Namespace: obj.GetNamespace(), Name: name}, nil
}

// ParseKey returns the key that text stands for: "namespace/name", or "name" or "/name" for an
// object without a namespace. It is the inverse of Key.String, and takes the keys of client-go's
// caches as well, for example from a command line. It does not check whether the names are valid
// ones. Cost: no allocation. Errors: [ErrInvalid], with the text.
func ParseKey(text string) (types.NamespacedName, error) {
	key, ok := keytext.Parse(text)
	if !ok {
		return types.NamespacedName{}, fmt.Errorf("%w: %q", errKeyText, text)
	}
	return key, nil
}
