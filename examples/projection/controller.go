// Package projection watches the pods of some namespaces and keeps only what it needs of each: a cache of
// small structs instead of Pods. It reports how often they were restarted.
package projection

import (
	"context"

	corev1 "k8s.io/api/core/v1"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/controller"
	"github.com/kinform/kinform/controller/manager"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/with/kubernetes/core"
)

// Pod is the part of a Pod that the cache holds: some 50 bytes instead of 10 KiB. Restarts is the sum over its containers.
type Pod struct {
	Key      kinform.Key
	Restarts int32
}

func project(pod *corev1.Pod) (Pod, error) {
	small := Pod{Key: kinform.Key{Namespace: pod.Namespace, Name: pod.Name}}
	for _, status := range pod.Status.ContainerStatuses {
		small.Restarts += status.RestartCount
	}
	return small, nil
}

// Run calls report for each pod of the namespaces with the number of its restarts: at the start, and whenever the
// number changes. A pod that is gone has zero. If report fails, it is called again later. Without permission for one
// namespace, the others still work. Run returns when ctx is done.
func Run(ctx context.Context, server client.Connection, report func(context.Context, kinform.Key, int32) error, namespaces ...string) error {
	key := func(pod Pod) (kinform.Key, error) { return pod.Key, nil }
	pods := controller.OpenProjected(server, core.Pods, project, key, controller.OpenOptions[Pod]{Namespaces: informer.NewNamespaces(namespaces...)})
	c := controller.New("restarts", func(ctx context.Context, key kinform.Key) error {
		pod, _ := pods.Cached(key)
		return report(ctx, key, pod.Restarts)
	})
	controller.For(c, pods, changed)
	return manager.Run(ctx, c)
}

// changed leaves out the changes of a pod that do not change its part.
func changed(e kinform.Event[Pod]) bool { return e.Type == informer.Deleted || e.Object != e.Old }
