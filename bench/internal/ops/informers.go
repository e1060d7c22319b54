package ops

import (
	"context"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/reflector"
	"github.com/kinform/kinform/store"
)

// handler is told of a pod's new state, by both sides: added pods with a nil old one.
type handler func(old, pod *corev1.Pod)

// running is an informer of either side.
type running struct {
	synced []<-chan struct{} // of each handler, or of the informer if it has none
	cancel context.CancelFunc
	wg     sync.WaitGroup
}

func (r *running) awaitSync() {
	for _, ch := range r.synced {
		<-ch
	}
}

// stop returns when all goroutines of the informer have ended.
func (r *running) stop() {
	r.cancel()
	r.wg.Wait()
}

// starter starts an informer of f's pods with the first indexes of them all.
type starter func(f *feed, indexes int, handlers ...handler) (*running, error)

func startKinform(f *feed, indexes int, handlers ...handler) (*running, error) {
	inf, err := informer.New(f, store.ObjectKey, informer.Options[*corev1.Pod]{
		Indexes: definitions(indexes),
		OnError: func(error) {},
		Reflector: reflector.Options{
			DisableWatchList: !f.streams,
			// A relist is measured from its list on, so what it waits for before is nobody's gain.
			Backoff: reflector.Backoff{Initial: time.Millisecond},
		},
	})
	if err != nil {
		return nil, err
	}
	r := &running{}
	for _, h := range handlers {
		reg, err := inf.AddHandler(informer.HandlerFunc[key, *corev1.Pod](func(ev informer.Event[key, *corev1.Pod]) {
			h(ev.Old, ev.Object)
		}))
		if err != nil {
			return nil, err
		}
		r.synced = append(r.synced, reg.Synced())
	}
	if len(handlers) == 0 {
		r.synced = append(r.synced, inf.Synced())
	}
	var ctx context.Context
	ctx, r.cancel = context.WithCancel(context.Background())
	r.wg.Go(func() { _ = inf.Run(ctx) })
	return r, nil
}

func startClientGo(f *feed, indexes int, handlers ...handler) (*running, error) {
	inf := cache.NewSharedIndexInformer(newListWatch(f), &corev1.Pod{}, 0, indexers(indexes))
	r := &running{}
	for _, h := range handlers {
		reg, err := inf.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc:    func(obj any) { h(nil, obj.(*corev1.Pod)) },
			UpdateFunc: func(old, obj any) { h(old.(*corev1.Pod), obj.(*corev1.Pod)) },
		})
		if err != nil {
			return nil, err
		}
		r.synced = append(r.synced, reg.HasSyncedChecker().Done())
	}
	if len(handlers) == 0 {
		r.synced = append(r.synced, inf.HasSyncedChecker().Done())
	}
	var ctx context.Context
	ctx, r.cancel = context.WithCancel(context.Background())
	r.wg.Go(func() { inf.RunWithContext(ctx) })
	return r, nil
}

// ignore is a handler that does nothing.
func ignore(_, _ *corev1.Pod) {}
