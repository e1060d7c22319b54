// Package projection is the twin of examples/projection with controller-runtime. Its cache cannot
// hold values of another type: it keeps Pods of which a transform has removed the rest.
package projection

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

func restarts(pod *corev1.Pod) (n int32) {
	for _, status := range pod.Status.ContainerStatuses {
		n += status.RestartCount
	}
	return n
}

func project(object any) (any, error) {
	pod, ok := object.(*corev1.Pod)
	if !ok {
		return nil, fmt.Errorf("%T is not a Pod", object)
	}
	small := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID, ResourceVersion: pod.ResourceVersion}}
	small.Status.ContainerStatuses = []corev1.ContainerStatus{{RestartCount: restarts(pod)}}
	return small, nil
}

// Run calls report for each pod of the namespaces with the number of its restarts.
func Run(ctx context.Context, server *rest.Config, report func(context.Context, types.NamespacedName, int32) error, namespaces ...string) error {
	opts := cache.Options{DefaultTransform: project, DefaultNamespaces: map[string]cache.Config{}}
	for _, namespace := range namespaces {
		opts.DefaultNamespaces[namespace] = cache.Config{}
	}
	m, err := ctrl.NewManager(server, ctrl.Options{Cache: opts})
	if err != nil {
		return err
	}
	changed := predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return restarts(e.ObjectOld.(*corev1.Pod)) != restarts(e.ObjectNew.(*corev1.Pod))
	}}
	err = ctrl.NewControllerManagedBy(m).For(&corev1.Pod{}, builder.WithPredicates(changed)).Complete(reconcile.Func(func(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
		var pod corev1.Pod // stays empty if it is gone
		if err := m.GetClient().Get(ctx, req.NamespacedName, &pod); client.IgnoreNotFound(err) != nil {
			return ctrl.Result{}, err
		}
		return ctrl.Result{}, report(ctx, req.NamespacedName, restarts(&pod))
	}))
	if err != nil {
		return err
	}
	return m.Start(ctx)
}
