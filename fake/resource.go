package fake

import (
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// definedResource is a kind with its rules.
type definedResource struct {
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
func (r definedResource) GroupVersionResource() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: r.Group, Version: r.Version, Resource: r.Name}
}

// GroupVersionKind returns the full name of the objects' kind.
func (r definedResource) GroupVersionKind() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: r.Group, Version: r.Version, Kind: r.Kind}
}

func (r definedResource) groupResource() schema.GroupResource {
	return schema.GroupResource{Group: r.Group, Resource: r.Name}
}

func (r definedResource) groupVersion() schema.GroupVersion {
	return schema.GroupVersion{Group: r.Group, Version: r.Version}
}

func (r *definedResource) typeMeta() metav1.TypeMeta {
	return metav1.TypeMeta{Kind: r.Kind, APIVersion: r.groupVersion().String()}
}

// custom reports whether the group is a custom resource's: Kubernetes' own have no dot, or end in
// k8s.io.
func (r *definedResource) custom() bool {
	return r.Custom || strings.Contains(r.Group, ".") && !strings.HasSuffix(r.Group, ".k8s.io")
}

// namespaces reports whether this is the resource of the namespaces themselves, which the
// API server treats apart.
func (r *definedResource) namespaces() bool { return r.Group == "" && r.Name == "namespaces" }

// checkKind refuses data that states another kind than r's. It accepts data that leaves the kind or
// the version out.
func (r *definedResource) checkKind(got schema.GroupVersionKind) error {
	if want := r.groupVersion(); (got.Group != "" || got.Version != "") && got.GroupVersion() != want {
		return apierrors.NewBadRequest(fmt.Sprintf("the API version in the data (%s) does not match the expected API version (%s)", got.GroupVersion(), want))
	}
	if got.Kind != "" && got.Kind != r.Kind {
		return apierrors.NewBadRequest(fmt.Sprintf("the kind in the data (%s) does not match the expected kind (%s)", got.Kind, r.Kind))
	}
	return nil
}

// has reports whether objects of the resource have a subresource.
func (r *definedResource) has(name string) bool {
	_, ok := r.subresources[name]
	return ok
}
