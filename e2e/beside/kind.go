//go:build e2e

package beside

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinform/kinform/client"
)

// Kind is a type of object that both sides cache.
type Kind struct {
	GVR schema.GroupVersionResource
	// Name is the kind in objects, such as "ConfigMap".
	Name string
	// Body holds the members of an object apart from type and metadata.
	Body map[string]any
	// Way is the client with which client-go caches it.
	Way Way

	kinform func(k Kind, conn client.Connection, namespace string) (kinformCache, error)
}

// Way is a client of client-go.
type Way uint8

const (
	// Clientset has Go types.
	Clientset Way = iota
	// Dynamic has maps.
	Dynamic
	// Metadata has nothing but metadata.
	Metadata
)

// Path returns the path of an object, or of a collection if name is empty. An empty namespace
// means all namespaces.
func (k Kind) Path(namespace, name string) string {
	path := "/api/" + k.GVR.Version
	if k.GVR.Group != "" {
		path = "/apis/" + k.GVR.Group + "/" + k.GVR.Version
	}
	if namespace != "" {
		path += "/namespaces/" + namespace
	}
	path += "/" + k.GVR.Resource
	if name != "" {
		path += "/" + name
	}
	return path
}

// Object returns the object of that name, ready to be created.
func (k Kind) Object(name string) map[string]any {
	obj := map[string]any{
		"apiVersion": k.GVR.GroupVersion().String(), "kind": k.Name,
		"metadata": map[string]any{"name": name},
	}
	for field, value := range k.Body {
		obj[field] = value
	}
	return obj
}

// BuiltIn returns ten namespaced kinds that need no controller.
func BuiltIn() []Kind {
	labels := map[string]any{"app": "e2e"}
	selector := map[string]any{"matchLabels": labels}
	pod := map[string]any{"containers": []any{map[string]any{"name": "main", "image": "registry.k8s.io/pause:3.10"}}}
	template := map[string]any{"metadata": map[string]any{"labels": labels}, "spec": pod}
	core, apps := corev1.SchemeGroupVersion, appsv1.SchemeGroupVersion
	return []Kind{
		typed[*corev1.ConfigMap](core.WithResource("configmaps"), "ConfigMap", map[string]any{"data": map[string]any{"value": "1"}}),
		typed[*corev1.Secret](core.WithResource("secrets"), "Secret", map[string]any{"stringData": map[string]any{"value": "1"}}),
		typed[*corev1.ServiceAccount](core.WithResource("serviceaccounts"), "ServiceAccount", nil),
		typed[*corev1.Service](core.WithResource("services"), "Service", map[string]any{"spec": map[string]any{"clusterIP": "None"}}),
		typed[*corev1.Pod](core.WithResource("pods"), "Pod", map[string]any{"spec": pod}),
		typed[*coordinationv1.Lease](coordinationv1.SchemeGroupVersion.WithResource("leases"), "Lease", map[string]any{"spec": map[string]any{"holderIdentity": "nobody"}}),
		typed[*appsv1.Deployment](apps.WithResource("deployments"), "Deployment", map[string]any{"spec": map[string]any{"selector": selector, "template": template}}),
		typed[*discoveryv1.EndpointSlice](discoveryv1.SchemeGroupVersion.WithResource("endpointslices"), "EndpointSlice", map[string]any{"addressType": "IPv4", "endpoints": []any{}}),
		typed[*rbacv1.Role](rbacv1.SchemeGroupVersion.WithResource("roles"), "Role", nil),
		typed[*policyv1.PodDisruptionBudget](policyv1.SchemeGroupVersion.WithResource("poddisruptionbudgets"), "PodDisruptionBudget", map[string]any{"spec": map[string]any{"selector": selector}}),
	}
}

// Custom returns a kind that has no Go type.
func Custom(gvr schema.GroupVersionResource, name string, body map[string]any) Kind {
	k := typed[*unstructured.Unstructured](gvr, name, body)
	k.Way = Dynamic
	return k
}

func typed[T metav1.Object](gvr schema.GroupVersionResource, name string, body map[string]any) Kind {
	return Kind{GVR: gvr, Name: name, Body: body, kinform: newKinformCache[T]}
}

// String returns resource and version.
func (k Kind) String() string { return fmt.Sprintf("%s %s", k.GVR.Resource, k.GVR.GroupVersion()) }
