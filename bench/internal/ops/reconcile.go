package ops

import (
	"context"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	"github.com/kinform/kinform/bench/internal/measure"
	"github.com/kinform/kinform/controller"
)

// reconciles are the operations on a whole controller.
func reconciles(w *World) []measure.Op {
	return []measure.Op{{
		Name:  "reconcile",
		Lines: line("watch event to reconcile, 1 worker, 1 index", measure.Nanoseconds, 1, atMost(3.1, measure.Allocs)),
		Setup: w.reconcile,
	}}
}

// reconcile measures from an event of a pod until a function has been called with its key.
func (w *World) reconcile() (measure.Sides, error) {
	side := func(start func(f *feed, t *tally) (stop func(), err error)) (measure.Side, error) {
		f := newFeed(w.Fleet.Pods())
		t := &tally{left: len(f.pods), done: make(chan struct{})}
		stop, err := start(f, t)
		if err != nil {
			return measure.Side{}, err
		}
		<-t.done
		u := w.newUpdates(f)
		return measure.Side{Close: stop, Run: func(m measure.Meter, n int) error {
			for n > 0 {
				m.StopTimer()
				some := u.next(n)
				m.StartTimer()
				t.left = len(some)
				f.send <- batch{pods: some}
				<-t.done
				n -= len(some)
			}
			return nil
		}}, nil
	}
	return sidesWith(controlKinform, controlClientGo, side)
}

// called counts a call. There is one worker.
func (t *tally) called() {
	if t.left--; t.left == 0 {
		t.done <- struct{}{}
	}
}

func controlKinform(f *feed, t *tally) (stop func(), err error) {
	inf, err := newKinform(f, 1)
	if err != nil {
		return nil, err
	}
	c := controller.New("bench", func(context.Context, key) error {
		t.called()
		return nil
	})
	controller.For(c, inf)
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	all.Go(func() { _ = c.Run(ctx) })
	return func() { cancel(); all.Wait() }, c.Err()
}

func controlClientGo(f *feed, t *tally) (stop func(), err error) {
	inf := cache.NewSharedIndexInformer(newListWatch(f), &corev1.Pod{}, 0, indexers(1))
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.NewTypedItemExponentialFailureRateLimiter[string](5*time.Millisecond, 1000*time.Second))
	add := func(obj any) {
		if key, err := cache.MetaNamespaceKeyFunc(obj); err == nil {
			queue.Add(key)
		}
	}
	if _, err := inf.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: add, UpdateFunc: func(_, obj any) { add(obj) }}); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	all.Go(func() { inf.RunWithContext(ctx) })
	all.Go(func() {
		for {
			key, over := queue.Get()
			if over {
				return
			}
			t.called()
			queue.Forget(key)
			queue.Done(key)
		}
	})
	return func() { cancel(); queue.ShutDown(); all.Wait() }, nil
}
