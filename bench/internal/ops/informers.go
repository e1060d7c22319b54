package ops

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/reflector"
	"github.com/kinform/kinform/store"
)

// handler gets a pod's new state, on both sides. For added pods old is nil.
type handler func(old, pod *corev1.Pod)

func (h handler) typed() informer.HandlerFunc[key, *corev1.Pod] {
	return func(ev informer.Event[key, *corev1.Pod]) { h(ev.Old, ev.Object) }
}

func (h handler) untyped() cache.ResourceEventHandlerFuncs {
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { h(nil, obj.(*corev1.Pod)) },
		UpdateFunc: func(old, obj any) { h(old.(*corev1.Pod), obj.(*corev1.Pod)) },
	}
}

// running is an informer of either side.
type running struct {
	synced []<-chan struct{} // of each handler, or of the informer if it has none
	// add adds a handler of later updates, and returns a function that reports whether the
	// handler has got all of them. Kinform's handler coalesces when it is slow.
	add    func(h handler) (caughtUp func() bool, err error)
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

// starter starts an informer of f's pods with the given number of indexes.
type starter func(f *feed, indexes int, handlers ...handler) (*running, error)

func startKinform(f *feed, indexes int, handlers ...handler) (*running, error) {
	return startKinformWith(informer.HandlerOptions[*corev1.Pod]{}, f, indexes, handlers...)
}

// startUnchanged is startKinform with handlers that also get unchanged objects of a relist, as
// client-go's do.
func startUnchanged(f *feed, indexes int, handlers ...handler) (*running, error) {
	return startKinformWith(informer.HandlerOptions[*corev1.Pod]{Unchanged: true}, f, indexes, handlers...)
}

func startKinformWith(opts informer.HandlerOptions[*corev1.Pod], f *feed, indexes int, handlers ...handler) (*running, error) {
	inf, err := newKinform(f, indexes)
	if err != nil {
		return nil, err
	}
	r := &running{add: func(h handler) (func() bool, error) {
		const name = "added"
		_, err := inf.AddHandler(h.typed(), informer.HandlerOptions[*corev1.Pod]{Name: name, Coalesce: true})
		return func() bool {
			return slices.ContainsFunc(inf.Handlers(), func(s informer.HandlerStats) bool {
				return s.Name == name && s.Synced && s.Lag == 0
			})
		}, err
	}}
	for _, h := range handlers {
		reg, err := inf.AddHandler(h.typed(), opts)
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

func newKinform(f *feed, indexes int) (*informer.Informer[key, *corev1.Pod], error) {
	return informer.New(f, store.ObjectKey, informer.Options[*corev1.Pod]{
		Indexes: definitions(indexes),
		OnError: func(error) {},
		Reflector: reflector.Tuning{
			DisableWatchList: !f.streams,
			// A relist is measured from its list on, so the wait before it favours nobody.
			Backoff: reflector.Backoff{Initial: time.Millisecond},
		},
	})
}

func startClientGo(f *feed, indexes int, handlers ...handler) (*running, error) {
	inf := cache.NewSharedIndexInformer(newListWatch(f), &corev1.Pod{}, 0, indexers(indexes))
	r := &running{add: func(h handler) (func() bool, error) { return addUnbounded(inf, h) }}
	for _, h := range handlers {
		reg, err := inf.AddEventHandler(h.untyped())
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

// addUnbounded adds h to an informer of client-go. client-go does not show the progress of a
// handler, so a second handler counts the events.
func addUnbounded(inf cache.SharedIndexInformer, h handler) (caughtUp func() bool, err error) {
	var had, sent atomic.Int64
	slow, err := inf.AddEventHandler(handler(func(old, pod *corev1.Pod) { h(old, pod); had.Add(1) }).untyped())
	if err != nil {
		return nil, err
	}
	count, err := inf.AddEventHandler(handler(func(_, _ *corev1.Pod) { sent.Add(1) }).untyped())
	if err != nil {
		return nil, err
	}
	return func() bool { return slow.HasSynced() && count.HasSynced() && had.Load() == sent.Load() }, nil
}

// ignore is a handler that does nothing.
func ignore(_, _ *corev1.Pod) {}
