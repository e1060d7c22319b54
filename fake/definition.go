package fake

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/managedfields"

	"github.com/kinform/kinform/kind"
)

// Version is one version of a resource for [Define], of any Go type. Only a [Definition] is one.
type Version interface {
	table(s *Server) (*table, error)
}

// Definition is one version of a resource.
type Definition[T metav1.Object] struct {
	Kind  *kind.Kind[T]
	Rules Rules
	Hooks Hooks[T]
	// Hidden says that the version is not served. Objects may still be stored in it, and managers
	// own fields in it.
	Hidden bool
}

// Rules say what the server does with one resource beyond its kind.Kind. The zero value is right
// for almost all resources.
//
// If the kind has the subresource "status", then only [UpdateStatus], [ChangeStatus] and requests to
// .../status write the status; creates and other updates ignore it. In most of Kubernetes' own kinds
// these calls also write labels, annotations, finalizers and owner references; in custom resources
// they only write the status. T then needs a field Status, or is Unstructured. Without that
// subresource an object is written as a whole. Other subresources are [Hooks].
type Rules struct {
	// ListKind is the kind of a list; empty means the kind + "List".
	ListKind string
	// Custom gives the resource the rules of custom resources, which groups with a dot have unless
	// they end in k8s.io.
	Custom bool
	// Deprecation is the warning with each answer, such as "example.com/v1 Tool is deprecated". Empty
	// means that only types of Kubernetes that say so are deprecated.
	Deprecation string
	// Singular is the name of one object for command lines; empty means the kind in lower case.
	Singular string
	// Verbs are those that discovery shows and that requests over HTTP may use, such as "create";
	// others are a 405. Nil means all, but for the deletion of all namespaces.
	Verbs []string
	// TypeConverter says how a server-side apply merges objects, and refuses those that do not
	// fit; nil means by the tags of T. Its methods are called without a lock, concurrently. Only
	// OpenAPI says that a struct is owned as a whole, so without a TypeConverter each field of such a
	// struct has separate owners. Package with/kubernetes/openapi has the converter for Kubernetes'
	// own kinds.
	TypeConverter managedfields.TypeConverter
	// OpenAPI returns the schema of the kind and those that it refers to, by name, as OpenAPI v3
	// has them in JSON. The documents below /openapi have them, which kubectl explain reads. The
	// kind's own schema states its x-kubernetes-group-version-kind, and two kinds with a name in
	// common have the same schema for it. OpenAPI is called without a lock, concurrently, for every
	// such document, and what it returned is read-only. Nil means an object with any fields.
	// Package with/kubernetes/openapi has one for Go types.
	OpenAPI func() map[string]any
	// BlindUpdates lets requests overwrite an object without stating a resourceVersion
	// where the API server refuses that: in custom resources and in some of Kubernetes'
	// own, such as leases. In the others they always can, and so can [Update].
	BlindUpdates bool
	// CheckName returns the faults of a name, in the words of a refusal. prefix says
	// that it is a generateName, to which more will be added. Nil means the rule of the
	// API server: DNS subdomains in most resources; labels for namespaces, services and
	// statefulsets; anything that fits into a path in the group of RBAC. It is called by
	// the goroutine of the write, without a lock.
	CheckName func(name string, prefix bool) []string
}
