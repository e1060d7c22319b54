package kind

import (
	"reflect"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Kind describes a kind whose objects are Go values of type T, such as *corev1.Pod. Make one with
// [Of] or [OfResource], or as a literal. A function that takes a Kind checks it with [Kind.Check], which
// refuses nil. Check, String, GroupResource and GroupVersionResource may be called on nil, other methods may not.
type Kind[T any] struct {
	// GroupVersionKind names the kind. The group is empty for the core group. Kind, such as
	// "Pod", is empty if it is not known: see [OfResource].
	schema.GroupVersionKind

	// Resource is the name in URLs, such as "pods".
	Resource string

	// Scope says whether objects have a namespace.
	Scope Scope

	// Subresources are the parts and aspects of an object with their own address, such as "status"
	// and "scale". The fake server separates the status from the object only if "status" is one of
	// them. A client sends requests for any subresource.
	Subresources []string

	// ShortNames are other names of the resource for command lines, such as "po".
	ShortNames []string

	// Categories are groups of resources for command lines, such as "all".
	Categories []string
}

// Scope says whether the objects of a kind have a namespace. The values are the same as in the
// field scope of a CustomResourceDefinition.
type Scope string

const (
	// UnknownScope means that nothing is known. A client then does not check namespaces.
	UnknownScope Scope = ""
	// Namespaced means that each object is in a namespace.
	Namespaced Scope = "Namespaced"
	// ClusterScoped means that the objects have no namespace.
	ClusterScoped Scope = "Cluster"
)

// Of describes a namespaced kind by its group and version and the name of its resource in URLs,
// such as "websites". The kind's name is the name of T's type, with a capital first letter. It
// stays empty for types that hold any kind: Unstructured, PartialObjectMetadata, and types without
// a name.
func Of[T any](version schema.GroupVersion, resource string) *Kind[T] {
	return &Kind[T]{GroupVersionKind: version.WithKind(typeName((*T)(nil))), Resource: resource, Scope: Namespaced}
}

// OfResource describes a kind of which only the resource is known, for example from a flag.
// Its name and scope are unknown. T may be any type that fits the objects.
func OfResource[T any](resource schema.GroupVersionResource) *Kind[T] {
	return &Kind[T]{GroupVersionKind: resource.GroupVersion().WithKind(""), Resource: resource.Resource}
}

// As describes the kind k for objects of another Go type.
func As[U, T any](k *Kind[T]) *Kind[U] { return (*Kind[U])(k) }

// Named returns k with another name of the kind, such as "Website".
//
//go:noinline
func (k *Kind[T]) Named(name string) *Kind[T] { return (*Kind[T])((*plain)(k).named(name)) }

// Cluster returns k as a cluster-scoped kind.
//
//go:noinline
func (k *Kind[T]) Cluster() *Kind[T] { return (*Kind[T])((*plain)(k).cluster()) }

// WithSubresources returns k with more subresources, such as "status".
//
//go:noinline
func (k *Kind[T]) WithSubresources(names ...string) *Kind[T] {
	return (*Kind[T])((*plain)(k).withSubresources(names))
}

// WithShortNames returns k with more short names.
//
//go:noinline
func (k *Kind[T]) WithShortNames(names ...string) *Kind[T] {
	return (*Kind[T])((*plain)(k).withShortNames(names))
}

// WithCategories returns k with more categories.
//
//go:noinline
func (k *Kind[T]) WithCategories(names ...string) *Kind[T] {
	return (*Kind[T])((*plain)(k).withCategories(names))
}

// GroupVersionResource returns the full name of the resource, none for a nil Kind.
//
//go:noinline
func (k *Kind[T]) GroupVersionResource() schema.GroupVersionResource {
	return (*plain)(k).groupVersionResource()
}

// GroupResource returns the name of the resource without the version, none for a nil Kind.
//
//go:noinline
func (k *Kind[T]) GroupResource() schema.GroupResource { return (*plain)(k).groupResource() }

// HasSubresource reports whether name is one of the subresources.
//
//go:noinline
func (k *Kind[T]) HasSubresource(name string) bool { return slices.Contains(k.Subresources, name) }

// String returns the resource's name with the group, as errors and logs show it, such as
// "deployments.apps", and "no kind" for nil.
//
//go:noinline
func (k *Kind[T]) String() string { return (*plain)(k).text() }

// typeName returns the kind that the name of a T suggests, empty if T holds any kind. It takes a nil *T.
//
//go:noinline
func typeName(pointer any) string {
	t := reflect.TypeOf(pointer).Elem()
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t {
	case reflect.TypeFor[unstructured.Unstructured](), reflect.TypeFor[metav1.PartialObjectMetadata]():
		return ""
	}
	name, _, _ := strings.Cut(t.Name(), "[") // a generic type's arguments
	first, size := utf8.DecodeRuneInString(name)
	if size == 0 {
		return ""
	}
	return string(unicode.ToUpper(first)) + name[size:]
}
