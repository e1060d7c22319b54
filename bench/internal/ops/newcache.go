package ops

import (
	"context"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/kinform/kinform/bench/internal/measure"
	"github.com/kinform/kinform/with/controllerruntime"
)

// newCaches compare the cache of a manager of controller-runtime with Kinform's.
func newCaches(w *World) []measure.Op {
	n := some(min(w.Pods, wirePods), "pod", "pods")
	stock, lean := startCache(cache.New, cache.TransformStripManagedFields()), startCache(controllerruntime.CacheOptions{DropManagedFields: true}.New, nil)
	return []measure.Op{
		{
			Name: "newcache/sync", Whole: true, Rounds: 6,
			Lines: []measure.Line{
				{Title: "NewCache beside controller-runtime: sync of " + n + " over HTTP", Unit: measure.Nanoseconds, Goal: 2},
				{Title: "NewCache beside controller-runtime: peak of the heap in it", Unit: "B/peak", Goal: 2},
			},
			Setup: func() (measure.Sides, error) {
				return w.wire(startCache(controllerruntime.NewCache, nil), startCache(cache.New, nil), "", true)
			},
		},
		{
			Name: "newcache/resident", Exact: true,
			Lines: line("NewCache beside controller-runtime: bytes kept per pod after a sync of all pods", "B/object", 1/0.45),
			Setup: func() (measure.Sides, error) {
				return resident(w.Pods, startCache(controllerruntime.NewCache, nil), startCache(cache.New, nil))
			},
		},
		{
			Name: "newcache/resident/lean", Exact: true,
			Lines: line("NewCache beside controller-runtime: bytes kept per pod after a sync, both without managedFields", "B/object", 1/0.45),
			Setup: func() (measure.Sides, error) { return resident(min(w.Pods, wirePods), lean, stock) },
		},
		{
			Name:  "newcache/list/field",
			Lines: line("NewCache beside controller-runtime: list of one node's pods by a field index, without copies", measure.Nanoseconds, 1),
			Setup: func() (measure.Sides, error) {
				return w.reads(func(ctx context.Context, c cache.Cache, pod *corev1.Pod) error {
					var list corev1.PodList
					return c.List(ctx, &list, client.MatchingFields{"node": pod.Spec.NodeName}, client.UnsafeDisableDeepCopy)
				})
			},
		},
		{
			Name:  "newcache/list/label",
			Lines: line("NewCache beside controller-runtime: list of one app's pods by label, without copies", measure.Nanoseconds, 20),
			Setup: func() (measure.Sides, error) {
				return w.reads(func(ctx context.Context, c cache.Cache, pod *corev1.Pod) error {
					var list corev1.PodList
					return c.List(ctx, &list, client.MatchingLabels{"app": pod.Labels["app"]}, client.UnsafeDisableDeepCopy)
				})
			},
		},
		{
			Name:  "newcache/get",
			Lines: line("NewCache beside controller-runtime: get with a copy", measure.Nanoseconds, 1),
			Setup: func() (measure.Sides, error) {
				return w.reads(getCopy)
			},
		},
	}
}

type newCache func(*rest.Config, cache.Options) (cache.Cache, error)

// setLogger sets controller-runtime's logger, which is one for the process: it complains if there
// is none, and setting it again is a data race.
var setLogger = sync.OnceFunc(func() { log.SetLogger(klog.Background()) })

// openCache returns a cache of pods that is filled, with an index of the field node.
func openCache(s *server, n int, open newCache, transform toolscache.TransformFunc) (c cache.Cache, stop func(), err error) {
	mapper := meta.NewDefaultRESTMapper([]schema.GroupVersion{corev1.SchemeGroupVersion})
	mapper.Add(corev1.SchemeGroupVersion.WithKind("Pod"), meta.RESTScopeNamespace)
	h := newTransport()
	setLogger()
	c, err = open(&rest.Config{Host: s.URL, QPS: -1}, cache.Options{HTTPClient: h, Mapper: mapper, Scheme: scheme.Scheme, DefaultTransform: transform})
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	stop = func() {
		cancel()
		<-ended
		h.CloseIdleConnections()
	}
	if err := c.IndexField(ctx, &corev1.Pod{}, "node", func(o client.Object) []string { return []string{o.(*corev1.Pod).Spec.NodeName} }); err != nil {
		cancel()
		return nil, nil, err
	}
	inf, err := c.GetInformer(ctx, &corev1.Pod{}, cache.BlockUntilSynced(false))
	if err != nil {
		cancel()
		return nil, nil, err
	}
	seen := 0
	reg, err := inf.AddEventHandler(toolscache.ResourceEventHandlerFuncs{AddFunc: func(any) { seen++ }})
	if err != nil {
		cancel()
		return nil, nil, err
	}
	go func() { ended <- c.Start(ctx) }()
	<-reg.HasSyncedChecker().Done()
	if seen != n {
		stop()
		return nil, nil, fmt.Errorf("the handler has seen %d pods of %d", seen, n)
	}
	return c, stop, nil
}

func startCache(open newCache, transform toolscache.TransformFunc) wireStarter {
	return func(s *server, _ string, n int) (func(), error) {
		_, stop, err := openCache(s, n, open, transform)
		return stop, err
	}
}

// reads measures a read of the caches of both, for one pod after the other.
func (w *World) reads(read func(context.Context, cache.Cache, *corev1.Pod) error) (measure.Sides, error) {
	return w.readsOf(controllerruntime.NewCache, read)
}

func (w *World) readsOf(cacheOfKinform newCache, read func(context.Context, cache.Cache, *corev1.Pod) error) (measure.Sides, error) {
	server, err := startServer(Contents{Kind: "pods", Objects: min(w.Pods, wirePods), Streams: true})
	if err != nil {
		return measure.Sides{}, err
	}
	side := func(open newCache) (measure.Side, error) {
		c, stop, err := openCache(server, server.objects, open, nil)
		if err != nil {
			return measure.Side{}, err
		}
		var list corev1.PodList
		if err := c.List(context.Background(), &list); err != nil {
			stop()
			return measure.Side{}, err
		}
		next := 0
		return measure.Side{Close: stop, Run: func(_ measure.Meter, n int) error {
			for range n {
				if err := read(context.Background(), c, &list.Items[next]); err != nil {
					return err
				}
				next = (next + 7919) % len(list.Items)
			}
			return nil
		}}, nil
	}
	ours, err := side(cacheOfKinform)
	if err != nil {
		server.Close()
		return measure.Sides{}, err
	}
	theirs, err := side(cache.New)
	if err != nil {
		ours.Close()
		server.Close()
		return measure.Sides{}, err
	}
	open := 2
	last := func(stop func()) func() {
		return func() {
			stop()
			if open--; open == 0 {
				server.Close()
			}
		}
	}
	ours.Close, theirs.Close = last(ours.Close), last(theirs.Close)
	return measure.Sides{Kinform: ours, ClientGo: theirs}, nil
}
