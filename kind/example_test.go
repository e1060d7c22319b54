package kind_test

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinform/kinform/kind"
)

// Website is a custom resource's type.
type Website struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
}

var version = schema.GroupVersion{Group: "example.com", Version: "v1"}

// Websites is all that a program says about a custom resource.
var Websites = kind.Of[*Website](version, "websites").WithSubresources("status")

func ExampleOf() {
	fmt.Println(Websites, Websites.Kind, Websites.Scope, Websites.Subresources)
	clusters := kind.Of[*Website](version, "clusterwebsites").Named("ClusterWebsite").Cluster()
	fmt.Println(clusters, clusters.Kind, clusters.Scope)
	// Output:
	// websites.example.com Website Namespaced [status]
	// clusterwebsites.example.com ClusterWebsite Cluster
}

// The same kind in another Go type.
func ExampleAs() {
	meta := kind.As[*metav1.PartialObjectMetadata](Websites)
	fmt.Println(meta.GroupVersionResource(), meta.Kind)
	// Output:
	// example.com/v1, Resource=websites Website
}

// A resource that is known only at run time.
func ExampleOfResource() {
	resource, _ := schema.ParseResourceArg("deployments.v1.apps") // from a flag
	k := kind.OfResource[*unstructured.Unstructured](*resource)
	fmt.Println(k, k.Version)
	// Output:
	// deployments.apps v1
}
