// Package join is a controller that looks at three kinds at once. It compares the pods that a Service
// selects with the endpoints in its EndpointSlices, and writes both numbers into an annotation of the
// Service: "2/3" means that traffic goes to two of three pods.
package join

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/controller"
	"github.com/kinform/kinform/controller/manager"
	"github.com/kinform/kinform/with/kubernetes/core"
	"github.com/kinform/kinform/with/kubernetes/discovery"
)

// Annotation has the number of pods with traffic and the number of pods that are selected.
const Annotation = "example.com/endpoints"

// serviceOf returns the Service of an EndpointSlice.
func serviceOf(slice *discoveryv1.EndpointSlice) kinform.Key {
	return kinform.Key{Namespace: slice.Namespace, Name: slice.Labels[discoveryv1.LabelServiceName]}
}

// Run works on all Services of a server until ctx is done.
func Run(ctx context.Context, server client.Connection) error {
	services := kinform.Open(server, core.Services)
	pods := kinform.Open(server, core.Pods)
	slices := kinform.Open(server, discovery.EndpointSlices)
	slicesOf := kinform.Index(slices, "service", serviceOf)
	servicesOf := func(keys []kinform.Key, pod *corev1.Pod) []kinform.Key {
		for _, s := range services.List(pod.Namespace, nil) {
			if len(s.Spec.Selector) > 0 && labels.SelectorFromSet(s.Spec.Selector).Matches(labels.Set(pod.Labels)) {
				keys = append(keys, kinform.Key{Namespace: s.Namespace, Name: s.Name})
			}
		}
		return keys
	}
	c := controller.New("join", func(ctx context.Context, key kinform.Key) error {
		service, ok := services.Cached(key)
		if !ok || len(service.Spec.Selector) == 0 {
			return nil // it is gone, or somebody else makes its slices
		}
		ready := map[types.UID]bool{} // a pod with two addresses is in two slices
		for _, slice := range slicesOf.Get(key) {
			for _, e := range slice.Endpoints {
				if e.TargetRef != nil && (e.Conditions.Ready == nil || *e.Conditions.Ready) {
					ready[e.TargetRef.UID] = true
				}
			}
		}
		text := fmt.Sprintf("%d/%d", len(ready), len(pods.List(key.Namespace, labels.SelectorFromSet(service.Spec.Selector))))
		if service.Annotations[Annotation] == text {
			return nil
		}
		_, err := services.Patch(ctx, key, types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, Annotation, text), metav1.PatchOptions{})
		return controller.IgnoreNotFound(err)
	})
	controller.For(c, services)
	controller.Watch(c, slices, slicesOf.Values)
	controller.Watch(c, pods, servicesOf)
	return manager.Run(ctx, c)
}
