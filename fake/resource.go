package fake

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
)

// Resource describes one resource of the server. For a struct type of its own, such as
// *corev1.Pod, Resource{} is complete: v1, Pod, pods, namespaced.
type Resource struct {
	// Group is the API group, such as "apps"; empty for the core group.
	Group string
	// Version is the API version; empty means "v1".
	Version string
	// Kind is the kind of one object; empty means the name of the Go type, its first
	// letter made a capital. It must be given for the types that hold any kind, Unstructured
	// and PartialObjectMetadata.
	Kind string
	// Name is the plural in URLs; empty means the plural that the kind suggests.
	Name string
	// ListKind is the kind of a list; empty means Kind + "List".
	ListKind string
	// ClusterScoped says that the objects have no namespace.
	ClusterScoped bool
	// Status says that the status is a subresource, as in most of Kubernetes' own kinds with a
	// status and in custom resources that declare it. Only [UpdateStatus], the same method of
	// a [Client], and requests to .../status write the status; creates and other updates
	// ignore it. In most of Kubernetes' own kinds these calls also write labels, annotations,
	// finalizers and owner references; in custom resources they only write the status. With
	// Status, T needs a field Status, or is Unstructured. Without Status an object is written
	// as a whole.
	Status bool
	// ShortNames are other names of the resource for command lines, such as "po". Discovery
	// lists them.
	ShortNames []string
	// Categories are groups that the resource belongs to, such as "all". Discovery lists them.
	Categories []string
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

// statusField is the member that a status subresource writes.
const statusField = "status"

// GroupVersionResource returns the resource's full name.
func (r Resource) GroupVersionResource() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: r.Group, Version: r.Version, Resource: r.Name}
}

// GroupVersionKind returns the full name of the objects' kind.
func (r Resource) GroupVersionKind() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: r.Group, Version: r.Version, Kind: r.Kind}
}

func (r Resource) groupResource() schema.GroupResource {
	return schema.GroupResource{Group: r.Group, Resource: r.Name}
}

func (r Resource) groupVersion() schema.GroupVersion {
	return schema.GroupVersion{Group: r.Group, Version: r.Version}
}

func (r *Resource) typeMeta() metav1.TypeMeta {
	return metav1.TypeMeta{Kind: r.Kind, APIVersion: r.groupVersion().String()}
}

// custom reports whether the group is that of a custom resource: Kubernetes' own have no
// dot, or end in k8s.io.
func (r *Resource) custom() bool {
	return strings.Contains(r.Group, ".") && !strings.HasSuffix(r.Group, ".k8s.io")
}

// namespaces reports whether this is the resource of the namespaces themselves, which the
// API server treats apart.
func (r *Resource) namespaces() bool { return r.Group == "" && r.Name == "namespaces" }

// complete fills the defaults for objects of typ and checks the result.
func (r Resource) complete(typ reflect.Type) (Resource, error) {
	if typ.Kind() != reflect.Pointer || typ.Elem().Kind() != reflect.Struct {
		return r, fmt.Errorf("fake: %v: %w: want a pointer to a struct", typ, ErrType)
	}
	if r.Kind == "" {
		if typ == reflect.TypeFor[*unstructured.Unstructured]() || typ == reflect.TypeFor[*metav1.PartialObjectMetadata]() {
			return r, fmt.Errorf("fake: %v: %w: Kind must be given, the type holds any kind", typ, ErrResource)
		}
		// A generic type's name carries its arguments in brackets.
		name, _, _ := strings.Cut(typ.Elem().Name(), "[")
		first, size := utf8.DecodeRuneInString(name)
		if size > 0 {
			r.Kind = string(unicode.ToUpper(first)) + name[size:]
		}
	}
	if r.Version == "" {
		r.Version = "v1"
	}
	if r.Name == "" {
		plural, _ := meta.UnsafeGuessKindToResource(r.GroupVersionKind())
		r.Name = plural.Resource
	}
	if r.ListKind == "" {
		r.ListKind = r.Kind + "List"
	}
	return r, r.check()
}

func (r Resource) check() error {
	var faults []string
	if r.Kind == "" {
		faults = append(faults, "Kind is empty")
	}
	for _, part := range []struct{ field, value string }{{"Name", r.Name}, {"Version", r.Version}} {
		for _, msg := range validation.IsDNS1035Label(part.value) {
			faults = append(faults, fmt.Sprintf("%s %q: %s", part.field, part.value, msg))
		}
	}
	for _, name := range slices.Concat(r.ShortNames, r.Categories) {
		for _, msg := range validation.IsDNS1035Label(name) {
			faults = append(faults, fmt.Sprintf("short name or category %q: %s", name, msg))
		}
	}
	if r.Group != "" {
		for _, msg := range validation.IsDNS1123Subdomain(r.Group) {
			faults = append(faults, fmt.Sprintf("Group %q: %s", r.Group, msg))
		}
	}
	if len(faults) > 0 {
		return fmt.Errorf("fake: %w %s: %s", ErrResource, r.GroupVersionResource(), strings.Join(faults, "; "))
	}
	return nil
}

// checkStated refuses data of a custom resource that leaves out its kind or its version.
func (r *Resource) checkStated(got metav1.TypeMeta, body []byte) error {
	switch {
	case got.Kind == "":
		return apierrors.NewBadRequest(fmt.Sprintf("the object provided is unrecognized (must be of type %s): Object 'Kind' is missing in '%s' (%s)",
			r.Kind, body, summary(body)))
	case got.APIVersion == "":
		return apierrors.NewBadRequest(fmt.Sprintf("the API version in the data () does not match the expected API version (%s)", r.groupVersion()))
	}
	return nil
}

// checkKind refuses data that states another kind than r's. What it leaves out passes.
func (r *Resource) checkKind(got schema.GroupVersionKind) error {
	if want := r.groupVersion(); (got.Group != "" || got.Version != "") && got.GroupVersion() != want {
		return apierrors.NewBadRequest(fmt.Sprintf("the API version in the data (%s) does not match the expected API version (%s)", got.GroupVersion(), want))
	}
	if got.Kind != "" && got.Kind != r.Kind {
		return apierrors.NewBadRequest(fmt.Sprintf("the kind in the data (%s) does not match the expected kind (%s)", got.Kind, r.Kind))
	}
	return nil
}
