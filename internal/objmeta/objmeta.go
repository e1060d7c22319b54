// Package objmeta reads the metadata of objects of any type that has some.
package objmeta

import (
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Reader reads the metadata of a T. It finds the metadata of each object separately, since T
// may be an interface.
type Reader[T any] struct {
	some bool // a T can have metadata
}

// Of returns the reader of T.
func Of[T any]() Reader[T] {
	return Reader[T]{some: mayHave((*T)(nil))}
}

// mayHave reports whether a T can have metadata, for a nil *T. It is no part of Of, because a package that names
// the type of an interface in generic code compiles all of its methods.
//
//go:noinline
func mayHave(pointer any) bool {
	t := reflect.TypeOf(pointer).Elem()
	return t.Kind() == reflect.Interface || t.Implements(reflect.TypeFor[metav1.Object]())
}

// Some reports whether a T can have metadata.
func (r Reader[T]) Some() bool { return r.some }

// Version returns obj's resourceVersion: empty if it has none or no metadata, or if its
// methods panic, as a nil pointer's do. Cost: no allocation if T is a pointer, an interface
// or without metadata.
func (r Reader[T]) Version(obj T) string {
	if !r.some {
		return ""
	}
	return VersionOf(obj)
}

// UID returns obj's UID, under the same rules as Version.
func (r Reader[T]) UID(obj T) types.UID {
	if !r.some {
		return ""
	}
	return UIDOf(obj)
}

// Differ reports whether two objects of one key have different UIDs. It returns false if a UID
// is unknown.
func (r Reader[T]) Differ(a, b T) bool {
	before, after := r.UID(a), r.UID(b)
	return before != after && before != "" && after != ""
}

// SameVersion reports whether two objects, which may be of any type, have the same version, which is not
// empty, and the same UID. It panics if their methods do.
func SameVersion(a, b any) bool {
	before, _ := a.(metav1.Object)
	after, _ := b.(metav1.Object)
	if before == nil || after == nil {
		return false
	}
	version := after.GetResourceVersion()
	return version != "" && version == before.GetResourceVersion() && before.GetUID() == after.GetUID()
}

// VersionOf is Version for an object that may be of any type.
func VersionOf(obj any) (version string) {
	defer func() {
		if recover() != nil {
			version = ""
		}
	}()
	if object, ok := obj.(metav1.Object); ok {
		version = object.GetResourceVersion()
	}
	return version
}

// UIDOf is UID for an object that may be of any type.
func UIDOf(obj any) (uid types.UID) {
	defer func() {
		if recover() != nil {
			uid = ""
		}
	}()
	if object, ok := obj.(metav1.Object); ok {
		uid = object.GetUID()
	}
	return uid
}

// KeyTextOf is KeyText for an object that may be of any type. It is empty if the object has no
// metadata.
func KeyTextOf(obj any) (text string) {
	defer func() {
		if recover() != nil {
			text = ""
		}
	}()
	if object, ok := obj.(metav1.Object); ok {
		text = KeyText(object)
	}
	return text
}

// KeyText returns the key of an object as errors and logs have it: "namespace/name", or "name"
// without a namespace.
func KeyText(object metav1.Object) string {
	if object.GetNamespace() == "" {
		return object.GetName()
	}
	return object.GetNamespace() + "/" + object.GetName()
}
