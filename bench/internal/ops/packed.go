package ops

import (
	"context"
	"runtime"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinform/kinform/bench/internal/measure"
	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/store"
	"github.com/kinform/kinform/with/controllerruntime"
	"github.com/kinform/kinform/with/kubernetes/core"
)

// packs are caches that keep their objects as bytes, without managedFields, as those of the other side.
func packs(w *World) []measure.Op {
	n := some(min(w.Pods, wirePods), "pod", "pods")
	packedCache := controllerruntime.CacheOptions{DropManagedFields: true, Packed: true}.New
	return []measure.Op{
		{
			Name: "packed/resident", Exact: true,
			Lines: []measure.Line{
				{Title: "packed: bytes kept per pod after a sync", Unit: "B/object", Goal: 1 / 0.27, Limits: []measure.Limit{atMost(512, "B/object")}},
				{Title: "packed: processor time of a collection per pod", Unit: "gc-ns/object", Goal: 5},
			},
			Setup: func() (measure.Sides, error) {
				return resident(min(w.Pods, wirePods), startPacked, startStrippedClientGo)
			},
		},
		{
			Name: "packed/sync", Whole: true, Rounds: 6,
			Lines: []measure.Line{
				{Title: "packed: sync of " + n + " over HTTP", Unit: measure.Nanoseconds, Goal: 1},
				{Title: "packed: peak of the heap in it", Unit: "B/peak", Goal: 2},
			},
			Setup: func() (measure.Sides, error) { return w.wire(startPacked, startStrippedClientGo, "", true) },
		},
		{
			Name:  "packed/get",
			Lines: line("packed: get, beside get and DeepCopy", measure.Nanoseconds, 0, atMost(30_000, measure.Nanoseconds)),
			Setup: w.packedGet,
		},
		{
			Name: "packed/newcache/resident", Exact: true,
			Lines: line("packed NewCache beside controller-runtime: bytes kept per pod after a sync", "B/object", 4),
			Setup: func() (measure.Sides, error) {
				return resident(min(w.Pods, wirePods), startCache(packedCache, nil), startCache(cache.New, cache.TransformStripManagedFields()))
			},
		},
		{
			Name:  "packed/newcache/get",
			Lines: line("packed NewCache beside controller-runtime: get with a copy", measure.Nanoseconds, 1/1.5),
			Setup: func() (measure.Sides, error) { return w.readsOf(packedCache, getCopy) },
		},
	}
}

// startPacked starts an informer that packs its pods.
func startPacked(s *server, accept string, n int) (func(), error) {
	h := acceptOnly(newTransport(), accept)
	source, err := client.New(client.Connection{URL: s.URL, HTTP: h}, core.Pods, client.Options{DropManagedFields: true})
	if err != nil {
		return nil, err
	}
	return runWire(h, source, store.ObjectKey[*corev1.Pod], informer.Options[*corev1.Pod]{Packed: true}, n)
}

// packedGet measures reads by key, of a pod that the caller may change.
func (w *World) packedGet() (measure.Sides, error) {
	all := w.Fleet.Pods()[:min(w.Pods, wirePods)]
	s, err := store.New(store.ObjectKey, store.Options[*corev1.Pod]{Packed: true})
	if err != nil {
		return measure.Sides{}, err
	}
	if err := s.Replace(all, ""); err != nil {
		return measure.Sides{}, err
	}
	indexer, err := newIndexer(0, all)
	if err != nil {
		return measure.Sides{}, err
	}
	each := func(get func(*corev1.Pod)) func(measure.Meter, int) error {
		next := 0
		return func(_ measure.Meter, n int) error {
			for range n {
				get(all[next])
				next = (next + 7919) % len(all)
			}
			return nil
		}
	}
	return measure.Sides{
		Kinform: measure.Side{Run: each(func(p *corev1.Pod) {
			pod, _ := s.Get(key{Namespace: p.Namespace, Name: p.Name})
			runtime.KeepAlive(pod)
		})},
		ClientGo: measure.Side{Run: each(func(p *corev1.Pod) {
			pod, _, _ := indexer.GetByKey(p.Namespace + "/" + p.Name)
			runtime.KeepAlive(pod.(*corev1.Pod).DeepCopy())
		})},
	}, nil
}

func getCopy(ctx context.Context, c cache.Cache, pod *corev1.Pod) error {
	var out corev1.Pod
	return c.Get(ctx, ctrlclient.ObjectKeyFromObject(pod), &out)
}
