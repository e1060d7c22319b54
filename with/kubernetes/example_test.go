package kubernetes_test

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/kind"
	"github.com/kinform/kinform/with/kubernetes/apps"
	"github.com/kinform/kinform/with/kubernetes/autoscaling"
	autoscalingv1 "github.com/kinform/kinform/with/kubernetes/autoscaling/v1"
	"github.com/kinform/kinform/with/kubernetes/core"
)

func Example() {
	fmt.Println(core.Pods, core.Pods.Kind, core.Pods.Scope, core.Pods.ShortNames)
	fmt.Println(core.Nodes, core.Nodes.Kind, core.Nodes.Scope)
	fmt.Println(apps.Deployments, apps.Deployments.Subresources)
	fmt.Println(autoscaling.HorizontalPodAutoscalers.Version, autoscalingv1.HorizontalPodAutoscalers.Version)
	metadata := kind.As[*metav1.PartialObjectMetadata](core.Secrets)
	fmt.Println(metadata, metadata.Kind)
	// Output:
	// pods Pod Namespaced [po]
	// nodes Node Cluster
	// deployments.apps [scale status]
	// v2 v1
	// secrets Secret
}
