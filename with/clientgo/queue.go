package clientgo

import (
	"context"
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"

	"github.com/kinform/kinform/queue"
)

// QueueOptions configure [Queue]. The zero value works.
type QueueOptions struct {
	// Metrics gets the numbers of the queue, see [QueueMetrics]. Nil means none.
	Metrics workqueue.MetricsProvider
}

// Queue is q as a work queue of client-go, for code that takes one. Both work on the same keys, and
// may be used side by side. Its methods have the meaning that workqueue gives them: Get returns
// shutdown once the queue is shut down and empty. At most one opts is used.
func Queue[K comparable](q *queue.Queue[K], opts ...QueueOptions) workqueue.TypedRateLimitingInterface[K] {
	w := &workQueue[K]{q: q, report: func() {}}
	if len(opts) > 0 && opts[0].Metrics != nil {
		w.report = QueueMetrics(q, opts[0].Metrics)
	}
	return w
}

type workQueue[K comparable] struct {
	q      *queue.Queue[K]
	report func() // after each change

	mu     sync.Mutex
	drains map[*context.CancelFunc]struct{} // of the calls of ShutDownWithDrain
}

func (w *workQueue[K]) Add(key K) {
	w.q.Add(key)
	w.report()
}

func (w *workQueue[K]) AddAfter(key K, d time.Duration) {
	w.q.AddAfter(key, d)
	w.report()
}

func (w *workQueue[K]) AddRateLimited(key K) {
	w.q.AddRateLimited(key)
	w.report()
}

func (w *workQueue[K]) Get() (key K, shutdown bool) {
	item, err := w.q.Get(context.Background())
	w.report()
	return item.Key, err != nil
}

func (w *workQueue[K]) Done(key K) {
	w.q.Done(key)
	w.report()
}

func (w *workQueue[K]) Forget(key K)          { w.q.Forget(key) }
func (w *workQueue[K]) NumRequeues(key K) int { return w.q.Retries(key) }
func (w *workQueue[K]) Len() int              { return w.q.Len() }
func (w *workQueue[K]) ShuttingDown() bool    { return w.q.ShuttingDown() }

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
	_ = w.q.Drain(ctx) // the error is ctx's
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.drains, &cancel)
}

// Limiter is a rate limiter of client-go as one of package queue. The queue counts failures itself,
// and does not ask limiter for them. Nil stays nil, which is package queue's default.
func Limiter[K comparable](limiter workqueue.TypedRateLimiter[K]) queue.Limiter[K] {
	if limiter == nil {
		return nil
	}
	return rateLimiter[K]{limiter}
}

type rateLimiter[K comparable] struct{ of workqueue.TypedRateLimiter[K] }

// Delay implements queue.Limiter.
func (l rateLimiter[K]) Delay(key K, _ int) time.Duration { return l.of.When(key) }

// Forget is called by the queue: see queue.Limiter.
func (l rateLimiter[K]) Forget(key K) { l.of.Forget(key) }
