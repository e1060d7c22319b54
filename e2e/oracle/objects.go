package oracle

import (
	"context"
	"fmt"
	"strconv"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// defaultWorkers is the number of parallel requests that a server on two cores answers fastest.
const defaultWorkers = 12

const (
	// ShardLabel is a label of all objects of NewConfigMap and NewPod. Its values are "0" to "3",
	// and each selects a quarter of the objects.
	ShardLabel = "shard"
	// Nodes is the number of node names that NewPod uses.
	Nodes  = 10
	shards = 4
)

// Each calls do for 0 to n-1, from at most workers goroutines at a time; 0 means 12. It returns
// when all calls have returned. The first error ends the context of the other calls, prevents
// further calls, and is returned. Without an error of do, Each returns the error of ctx, if ctx has
// ended.
func Each(ctx context.Context, n, workers int, do func(ctx context.Context, i int) error) error {
	if workers <= 0 {
		workers = defaultWorkers
	}
	group, inner := errgroup.WithContext(ctx)
	group.SetLimit(workers)
	for i := range n {
		if inner.Err() != nil {
			break
		}
		group.Go(func() error { return do(inner, i) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return context.Cause(ctx)
}

// Shape describes the objects that Fill creates.
type Shape struct {
	// Namespaces is the number of namespaces: ns-00, ns-01 and so on. With 0 the objects are in
	// ns-00, which must exist.
	Namespaces int
	// ConfigMaps and Pods are the numbers of objects in all namespaces together. Object i is in
	// namespace i modulo Namespaces.
	ConfigMaps int
	Pods       int
	// Workers is the number of parallel requests; 0 means 12.
	Workers int
}

// Fill creates namespaces, and then the objects of NewConfigMap and NewPod in them. It takes about
// a second for 2,500 objects. It returns the error of the first request that fails, even if that
// only says that an object exists already.
func Fill(ctx context.Context, c *Client, s Shape) error {
	err := Each(ctx, s.Namespaces, s.Workers, func(ctx context.Context, i int) error {
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: NamespaceName(i)}}
		_, err := Create(ctx, c, Path("namespaces", "", ""), ns)
		return err
	})
	if err != nil {
		return err
	}
	return Each(ctx, s.ConfigMaps+s.Pods, s.Workers, func(ctx context.Context, i int) error {
		if i < s.ConfigMaps {
			ns := s.namespaceOf(i)
			_, err := Create(ctx, c, Path("configmaps", ns, ""), NewConfigMap(ns, i))
			return err
		}
		i -= s.ConfigMaps
		ns := s.namespaceOf(i)
		_, err := Create(ctx, c, Path("pods", ns, ""), NewPod(ns, i))
		return err
	})
}

func (s Shape) namespaceOf(i int) string {
	return NamespaceName(i % max(1, s.Namespaces))
}

// NamespaceName returns the name of the i-th namespace of Fill, such as "ns-07".
func NamespaceName(i int) string {
	return fmt.Sprintf("ns-%02d", i)
}

// NewConfigMap returns the i-th ConfigMap of Fill, such as "cm-00042". Its data has one entry, with
// i.
func NewConfigMap(namespace string, i int) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: meta(namespace, fmt.Sprintf("cm-%05d", i), i),
		Data:       map[string]string{"value": strconv.Itoa(i)},
	}
}

// NewPod returns the i-th Pod of Fill, such as "pod-00042" on node "node-2". Its one container
// never runs and its node does not exist, but no component checks that.
func NewPod(namespace string, i int) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: meta(namespace, fmt.Sprintf("pod-%05d", i), i),
		Spec: corev1.PodSpec{
			NodeName:   fmt.Sprintf("node-%d", i%Nodes),
			Containers: []corev1.Container{{Name: "main", Image: "registry.k8s.io/pause:3.10"}},
		},
	}
}

func meta(namespace, name string, i int) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: namespace,
		Name:      name,
		Labels:    map[string]string{"app": "e2e", ShardLabel: strconv.Itoa(i % shards)},
	}
}
