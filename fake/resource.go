package fake

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"

	"github.com/kinform/kinform/kind"
)

// Rules say what the server does with one resource beyond its kind.Kind. The zero value is right
// for almost all resources.
//
// If the kind has the subresource "status", then only [UpdateStatus], [ChangeStatus] and requests to
// .../status write the status; creates and other updates ignore it. In
// most of Kubernetes' own kinds these calls also write labels, annotations, finalizers and owner
// references; in custom resources they only write the status. T then needs a field Status, or is
// Unstructured. Without that subresource an object is written as a whole. Other
// subresources are [Hooks].
type Rules struct {
	// ListKind is the kind of a list; empty means the kind + "List".
	ListKind string
	// Custom gives the resource the rules of custom resources, which groups with a dot have unless
	// they end in k8s.io.
	Custom bool
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

// Version is one version of a resource for [Define], of any Go type. Only a [Definition] is one.
type Version interface {
	table(s *Server) (*table, error)
}

// resource is a kind with its rules.
type resource struct {
	Group, Version, Kind string
	Name                 string // the plural in URLs
	ClusterScoped        bool
	Status               bool // the status is a subresource
	hidden               bool // the version is not served
	ShortNames           []string
	Categories           []string
	subresources         map[string]subresource
	Rules
}

// subresource is the entry of a subresource in discovery.
type subresource struct {
	kind  schema.GroupVersionKind
	verbs metav1.Verbs
}

// statusField is the member that a status subresource writes.
const statusField = "status"

// GroupVersionResource returns the resource's full name.
func (r resource) GroupVersionResource() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: r.Group, Version: r.Version, Resource: r.Name}
}

// GroupVersionKind returns the full name of the objects' kind.
func (r resource) GroupVersionKind() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: r.Group, Version: r.Version, Kind: r.Kind}
}

func (r resource) groupResource() schema.GroupResource {
	return schema.GroupResource{Group: r.Group, Resource: r.Name}
}

func (r resource) groupVersion() schema.GroupVersion {
	return schema.GroupVersion{Group: r.Group, Version: r.Version}
}

func (r *resource) typeMeta() metav1.TypeMeta {
	return metav1.TypeMeta{Kind: r.Kind, APIVersion: r.groupVersion().String()}
}

// custom reports whether the group is that of a custom resource: Kubernetes' own have no
// dot, or end in k8s.io.
func (r *resource) custom() bool {
	return r.Custom || strings.Contains(r.Group, ".") && !strings.HasSuffix(r.Group, ".k8s.io")
}

// namespaces reports whether this is the resource of the namespaces themselves, which the
// API server treats apart.
func (r *resource) namespaces() bool { return r.Group == "" && r.Name == "namespaces" }

// resourceOf returns the resource of k, if the server can serve it.
func resourceOf[T any](k *kind.Kind[T], rules Rules) (resource, error) {
	if k == nil {
		return resource{}, fmt.Errorf("fake: %w: %w", errResource, k.Check())
	}
	r := resource{
		Group: k.Group, Version: k.Version, Kind: k.Kind, Name: k.Resource,
		ClusterScoped: k.Scope == kind.ClusterScoped, Status: k.HasSubresource(statusField),
		ShortNames: slices.Clone(k.ShortNames), Categories: slices.Clone(k.Categories), Rules: rules,
	}
	r.subresources = map[string]subresource{}
	if r.Status {
		r.subresources[statusField] = subresource{r.GroupVersionKind(), metav1.Verbs{"get", "patch", "update"}}
	}
	r.ListKind = cmp.Or(r.ListKind, k.Kind+"List")
	r.Singular = cmp.Or(r.Singular, strings.ToLower(k.Kind))
	typ := reflect.TypeFor[T]()
	if typ.Kind() != reflect.Pointer || typ.Elem().Kind() != reflect.Struct {
		return r, fmt.Errorf("fake: %v: %w: want a pointer to a struct", typ, errType)
	}
	if err := k.Check(); err != nil {
		return r, fmt.Errorf("fake: %w: %w", errResource, err)
	}
	if k.Kind == "" {
		return r, fmt.Errorf("fake: %s: %w: the kind has no name, and %v holds any kind: add Named", k, errResource, typ)
	}
	return r, nil
}

// checkKind refuses data that states another kind than r's. It accepts data that leaves the kind or
// the version out.
func (r *resource) checkKind(got schema.GroupVersionKind) error {
	if want := r.groupVersion(); (got.Group != "" || got.Version != "") && got.GroupVersion() != want {
		return apierrors.NewBadRequest(fmt.Sprintf("the API version in the data (%s) does not match the expected API version (%s)", got.GroupVersion(), want))
	}
	if got.Kind != "" && got.Kind != r.Kind {
		return apierrors.NewBadRequest(fmt.Sprintf("the kind in the data (%s) does not match the expected kind (%s)", got.Kind, r.Kind))
	}
	return nil
}

// has reports whether objects of the resource have a subresource.
func (r *resource) has(name string) bool {
	_, ok := r.subresources[name]
	return ok
}
