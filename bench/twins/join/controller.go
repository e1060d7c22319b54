// Package join is the twin of examples/join with controller-runtime: it compares the pods that a
// Service selects with the endpoints in its EndpointSlices, and writes both numbers into an
// annotation of the Service.
package join

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Annotation has the number of pods with traffic and the number of pods that are selected.
const Annotation = "example.com/endpoints"

type joiner struct{ client.Client }

// Reconcile works on one Service.
func (j joiner) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var service corev1.Service
	if err := j.Get(ctx, req.NamespacedName, &service); err != nil || len(service.Spec.Selector) == 0 {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	var slices discoveryv1.EndpointSliceList
	if err := j.List(ctx, &slices, client.InNamespace(req.Namespace), client.MatchingLabels{discoveryv1.LabelServiceName: req.Name}); err != nil {
		return ctrl.Result{}, err
	}
	var pods corev1.PodList
	if err := j.List(ctx, &pods, client.InNamespace(req.Namespace), client.MatchingLabels(service.Spec.Selector)); err != nil {
		return ctrl.Result{}, err
	}
	ready := map[types.UID]bool{}
	for _, slice := range slices.Items {
		for _, e := range slice.Endpoints {
			if e.TargetRef != nil && (e.Conditions.Ready == nil || *e.Conditions.Ready) {
				ready[e.TargetRef.UID] = true
			}
		}
	}
	text := fmt.Sprintf("%d/%d", len(ready), len(pods.Items))
	if service.Annotations[Annotation] == text {
		return ctrl.Result{}, nil
	}
	patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, Annotation, text))
	return ctrl.Result{}, client.IgnoreNotFound(j.Patch(ctx, &service, patch))
}

func (j joiner) ofSlice(_ context.Context, o client.Object) []reconcile.Request {
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetLabels()[discoveryv1.LabelServiceName]}}}
}

func (j joiner) ofPod(ctx context.Context, o client.Object) (requests []reconcile.Request) {
	var services corev1.ServiceList
	if err := j.List(ctx, &services, client.InNamespace(o.GetNamespace())); err != nil {
		return nil // there is no way to fail
	}
	for _, s := range services.Items {
		if len(s.Spec.Selector) > 0 && labels.SelectorFromSet(s.Spec.Selector).Matches(labels.Set(o.GetLabels())) {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&s)})
		}
	}
	return requests
}

// Run works on all Services of a server until ctx is done.
func Run(ctx context.Context, server *rest.Config) error {
	m, err := ctrl.NewManager(server, ctrl.Options{})
	if err != nil {
		return err
	}
	j := joiner{m.GetClient()}
	err = ctrl.NewControllerManagedBy(m).For(&corev1.Service{}).
		Watches(&discoveryv1.EndpointSlice{}, handler.EnqueueRequestsFromMapFunc(j.ofSlice)).
		Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(j.ofPod)).Complete(j)
	if err != nil {
		return err
	}
	return m.Start(ctx)
}
