// Readme is the controller that README.md shows. It writes the number of pods of each node into an annotation
// of the node.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/signal"
	"strconv"
	"syscall"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/controller"
	"github.com/kinform/kinform/with/kubeconfig"
	"github.com/kinform/kinform/with/kubernetes/core"
)

// nodeOf returns the key of a pod's node. A pod that is not scheduled yet has a key that no node has.
func nodeOf(pod *corev1.Pod) kinform.Key {
	return kinform.Key{Name: pod.Spec.NodeName}
}

// countPods annotates every node with the number of its pods.
func countPods(ctx context.Context, server client.Connection) error {
	nodes := kinform.Open(server, core.Nodes)
	pods := kinform.Open(server, core.Pods)
	podsOf := kinform.Index(pods, "node", nodeOf)

	c := controller.New("pod-count", func(ctx context.Context, key kinform.Key) error {
		node, ok := nodes.Cached(key)
		count := strconv.Itoa(podsOf.Count(key))
		if !ok || node.Annotations["pods"] == count {
			return nil // the node is gone, or its annotation is right already
		}
		patch := fmt.Appendf(nil, `{"metadata":{"annotations":{"pods":%q}}}`, count)
		_, err := nodes.Patch(ctx, key, types.MergePatchType, patch, metav1.PatchOptions{})
		return controller.IgnoreNotFound(err) // after other errors the queue retries the node, with growing delays
	})
	controller.For(c, nodes)
	controller.Watch(c, pods, podsOf.Values)
	return c.Run(ctx)
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	cluster, err := kubeconfig.Load(kubeconfig.Options{}) // the cluster of kubectl or, in a pod, its own
	if err == nil {
		err = countPods(ctx, cluster.Connection)
	}
	if err != nil {
		log.Fatal(err)
	}
}
