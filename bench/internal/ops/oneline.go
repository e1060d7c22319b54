package ops

import (
	"context"
	"errors"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/kinform/kinform/bench/internal/measure"
	"github.com/kinform/kinform/with/clientgo"
)

// oneLines compare a program of client-go with the same one after a single changed line: Kinform's
// informer behind client-go's interface, with client-go's client below it, which decodes for both.
func oneLines(w *World) []measure.Op {
	n := some(min(w.Pods, wirePods), "pod", "pods")
	return []measure.Op{
		{
			Name: "oneline/sync", Whole: true, Rounds: 6,
			Lines: []measure.Line{
				{Title: "one changed line: sync of " + n + " over HTTP", Unit: measure.Nanoseconds, Goal: 1 / 0.8},
				{Title: "one changed line: peak of the heap in it", Unit: "B/peak", Goal: 1},
			},
			Setup: func() (measure.Sides, error) { return w.wire(startOneLine, startWireClientGo, "", true) },
		},
		{
			Name: "oneline/resident", Exact: true,
			Lines: line("one changed line: bytes kept per pod after a sync", "B/object", 1/0.8),
			Setup: func() (measure.Sides, error) { return resident(min(w.Pods, wirePods), startOneLine, startWireClientGo) },
		},
	}
}

// startOneLine is startWireClientGo with Kinform's constructor.
func startOneLine(s *server, accept string, n int) (func(), error) {
	h := newTransport()
	config := &rest.Config{Host: s.URL, QPS: -1, ContentConfig: rest.ContentConfig{ContentType: accept, AcceptContentTypes: accept}}
	clients, err := kubernetes.NewForConfigAndClient(config, h)
	if err != nil {
		return nil, err
	}
	pods := clients.CoreV1().Pods(metav1.NamespaceAll) // its methods ask for protobuf, which its RESTClient does not
	lw := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
			return pods.List(ctx, opts)
		},
		WatchFuncWithContext: func(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
			return pods.Watch(ctx, opts)
		},
	}
	inf := clientgo.NewSharedIndexInformer(lw, &corev1.Pod{}, 0, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	seen := 0
	reg, err := inf.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: func(any) { seen++ }})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { inf.RunWithContext(ctx) })
	stop := func() {
		cancel()
		wg.Wait()
		h.CloseIdleConnections()
	}
	<-reg.HasSyncedChecker().Done()
	if seen != n {
		stop()
		return nil, errors.New("the handler behind client-go's interface has not seen all pods")
	}
	return stop, nil
}
