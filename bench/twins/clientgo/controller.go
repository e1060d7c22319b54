// Package clientgo is the twin of examples/readme with client-go alone: it writes the number of
// pods of each node into an annotation of the node.
package clientgo

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

func nodeOf(obj any) ([]string, error) {
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		return nil, fmt.Errorf("%T is not a Pod", obj)
	}
	return []string{pod.Spec.NodeName}, nil
}

// CountPods works until ctx is done.
func CountPods(ctx context.Context, server kubernetes.Interface) error {
	factory := informers.NewSharedInformerFactory(server, 0)
	pods, nodes := factory.Core().V1().Pods(), factory.Core().V1().Nodes()
	if err := pods.Informer().AddIndexers(cache.Indexers{"node": nodeOf}); err != nil {
		return err
	}
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[string]())
	add := func(obj any) {
		if gone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
			obj = gone.Obj
		}
		switch obj := obj.(type) {
		case *corev1.Node:
			queue.Add(obj.Name)
		case *corev1.Pod:
			queue.Add(obj.Spec.NodeName)
		}
	}
	handler := cache.ResourceEventHandlerFuncs{AddFunc: add, DeleteFunc: add, UpdateFunc: func(old, obj any) { add(old); add(obj) }}
	_, err := pods.Informer().AddEventHandler(handler)
	_, failed := nodes.Informer().AddEventHandler(handler)
	if err := errors.Join(err, failed); err != nil {
		return err
	}
	factory.Start(ctx.Done())
	defer factory.Shutdown()
	if !cache.WaitForCacheSync(ctx.Done(), pods.Informer().HasSynced, nodes.Informer().HasSynced) {
		return nil
	}
	reconcile := func(name string) error {
		node, err := nodes.Lister().Get(name)
		if err != nil {
			return err
		}
		found, err := pods.Informer().GetIndexer().IndexKeys("node", name)
		if err != nil {
			return err
		}
		count := strconv.Itoa(len(found))
		if node.Annotations["pods"] == count {
			return nil
		}
		patch := fmt.Appendf(nil, `{"metadata":{"annotations":{"pods":%q}}}`, count)
		_, err = server.CoreV1().Nodes().Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{})
		return err
	}
	var worker sync.WaitGroup
	worker.Go(func() {
		for {
			name, stopped := queue.Get()
			if stopped {
				return
			}
			if err := reconcile(name); err == nil || apierrors.IsNotFound(err) {
				queue.Forget(name)
			} else {
				queue.AddRateLimited(name)
			}
			queue.Done(name)
		}
	})
	<-ctx.Done()
	queue.ShutDown()
	worker.Wait()
	return nil
}
