package clientgo

import (
	"context"
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"

	"github.com/kinform/kinform/queue"
)

// Queue is q as a work queue of client-go, for code that takes one. Both work on the same keys, and may be used side by
// side. Its methods have the meaning that workqueue gives them: Get returns shutdown once the queue is shut down and
// empty.
func Queue[K comparable](q *queue.Queue[K]) workqueue.TypedRateLimitingInterface[K] {
	return &workQueue[K]{q: q}
}

type workQueue[K comparable] struct {
	q *queue.Queue[K]

	mu     sync.Mutex
	drains map[*context.CancelFunc]struct{} // of the calls of ShutDownWithDrain
}

func (w *workQueue[K]) Add(key K)                       { w.q.Add(key) }
func (w *workQueue[K]) AddAfter(key K, d time.Duration) { w.q.AddAfter(key, d) }
func (w *workQueue[K]) AddRateLimited(key K)            { w.q.AddRateLimited(key) }
func (w *workQueue[K]) Forget(key K)                    { w.q.Forget(key) }
func (w *workQueue[K]) NumRequeues(key K) int           { return w.q.Retries(key) }
func (w *workQueue[K]) Len() int                        { return w.q.Len() }
func (w *workQueue[K]) Done(key K)                      { w.q.Done(key) }
func (w *workQueue[K]) ShuttingDown() bool              { return w.q.ShuttingDown() }

// ShutDown also ends the wait of ShutDownWithDrain.
func (w *workQueue[K]) ShutDown() {
	w.q.ShutDown()
	w.mu.Lock()
	defer w.mu.Unlock()
	for cancel := range w.drains {
		(*cancel)()
	}
}

// ShutDownWithDrain waits until all keys are done, or for ShutDown.
func (w *workQueue[K]) ShutDownWithDrain() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	w.mu.Lock()
	if w.drains == nil {
		w.drains = map[*context.CancelFunc]struct{}{}
	}
	w.drains[&cancel] = struct{}{}
	w.mu.Unlock()
	_ = w.q.Drain(ctx) // the error is that of ctx
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.drains, &cancel)
}

func (w *workQueue[K]) Get() (key K, shutdown bool) {
	item, err := w.q.Get(context.Background())
	return item.Key, err != nil
}
