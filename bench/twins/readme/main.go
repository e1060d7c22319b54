// Readme is the twin of examples/readme with controller-runtime: it writes the number of pods of
// each node into an annotation of the node.
package main

import (
	"context"
	"fmt"
	"log"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

type counter struct{ client.Client }

func (c counter) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var node corev1.Node
	var pods corev1.PodList
	if err := c.Get(ctx, req.NamespacedName, &node); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if err := c.List(ctx, &pods, client.MatchingFields{"node": req.Name}); err != nil {
		return ctrl.Result{}, err
	}
	count := strconv.Itoa(len(pods.Items))
	if node.Annotations["pods"] == count {
		return ctrl.Result{}, nil
	}
	patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"annotations":{"pods":%q}}}`, count))
	return ctrl.Result{}, client.IgnoreNotFound(c.Patch(ctx, &node, patch))
}

func main() {
	ctx := ctrl.SetupSignalHandler()
	m, err := ctrl.NewManager(ctrl.GetConfigOrDie(), ctrl.Options{})
	if err != nil {
		log.Fatal(err)
	}
	nodeOf := func(o client.Object) []string { return []string{o.(*corev1.Pod).Spec.NodeName} }
	if err := m.GetFieldIndexer().IndexField(ctx, &corev1.Pod{}, "node", nodeOf); err != nil {
		log.Fatal(err)
	}
	nodes := handler.EnqueueRequestsFromMapFunc(func(_ context.Context, o client.Object) []reconcile.Request {
		return []reconcile.Request{{NamespacedName: types.NamespacedName{Name: nodeOf(o)[0]}}}
	})
	if err := ctrl.NewControllerManagedBy(m).For(&corev1.Node{}).Watches(&corev1.Pod{}, nodes).Complete(counter{m.GetClient()}); err != nil {
		log.Fatal(err)
	}
	log.Fatal(m.Start(ctx))
}
