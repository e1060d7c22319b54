package controllerruntime

import (
	"context"
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/kinform/kinform/queue"
	"github.com/kinform/kinform/with/clientgo"
)

// NewQueue is for controller.Options.NewQueue: a queue with the defaults of package queue and the
// metrics that controller-runtime has for its own queues. See [Queue].
//
//	controller.Options{NewQueue: controllerruntime.NewQueue[ctrl.Request]}
//
// A nil limiter is package queue's default. K cannot be a type that queue.New refuses.
func NewQueue[K comparable](name string, limiter workqueue.TypedRateLimiter[K]) workqueue.TypedRateLimitingInterface[K] {
	q := queue.New(queue.Options[K]{Name: name, Limiter: clientgo.Limiter(limiter), Timing: true})
	return Queue(q, clientgo.QueueOptions{Metrics: registered{metrics.Registry}})
}

// Queue is q as a priority queue of controller-runtime. Use it in place of [NewQueue] for a queue
// with its own options, such as fair shares for namespaces. Both work on the same keys, and may be
// used side by side. At most one opts is used.
//
// Its methods have the meaning that package priorityqueue gives them: an add without a delay takes
// the place of a pending delay, and after ShutDown nothing is handed out. What differs:
//
//   - A delay for a key that is queued already stays: the key comes again at that time. In package
//     priorityqueue it is dropped.
//   - If an add takes the place of a delay, its priority and time count. In package priorityqueue
//     the higher priority of both counts, and often the time of the first add.
//   - The place of a key that was added while it ran depends on the time of its Done.
//   - Low priorities do not starve, see queue.AddOptions.
//   - NumRequeues is the queue's own count and not the limiter's.
func Queue[K comparable](q *queue.Queue[K], opts ...clientgo.QueueOptions) priorityqueue.PriorityQueue[K] {
	p := &priorityQueue[K]{q: q, report: func() {}}
	if len(opts) > 0 && opts[0].Metrics != nil {
		p.report = clientgo.QueueMetrics(q, opts[0].Metrics)
	}
	return p
}

type priorityQueue[K comparable] struct {
	q      *queue.Queue[K]
	report func() // after each change
}

func (p *priorityQueue[K]) Add(key K) { p.AddWithOpts(priorityqueue.AddOpts{}, key) }

func (p *priorityQueue[K]) AddAfter(key K, d time.Duration) {
	p.AddWithOpts(priorityqueue.AddOpts{After: d}, key)
}

func (p *priorityQueue[K]) AddRateLimited(key K) {
	p.AddWithOpts(priorityqueue.AddOpts{RateLimited: true}, key)
}

// AddWithOpts implements priorityqueue.PriorityQueue.
func (p *priorityQueue[K]) AddWithOpts(o priorityqueue.AddOpts, keys ...K) {
	opts := queue.AddOptions{After: o.After, RateLimited: o.RateLimited, Replace: o.After <= 0 && !o.RateLimited}
	if o.Priority != nil {
		opts.Priority = *o.Priority
	}
	for _, key := range keys {
		p.q.AddWith(key, opts)
	}
	p.report()
}

// GetWithPriority implements priorityqueue.PriorityQueue.
func (p *priorityQueue[K]) GetWithPriority() (key K, priority int, shutdown bool) {
	if p.q.ShuttingDown() {
		return key, 0, true
	}
	item, err := p.q.Get(context.Background())
	p.report()
	return item.Key, item.Priority, err != nil
}

func (p *priorityQueue[K]) Get() (key K, shutdown bool) {
	key, _, shutdown = p.GetWithPriority()
	return key, shutdown
}

func (p *priorityQueue[K]) Done(key K) {
	p.q.Done(key)
	p.report()
}

func (p *priorityQueue[K]) Forget(key K)          { p.q.Forget(key) }
func (p *priorityQueue[K]) NumRequeues(key K) int { return p.q.Retries(key) }
func (p *priorityQueue[K]) ShuttingDown() bool    { return p.q.ShuttingDown() }
func (p *priorityQueue[K]) ShutDown()             { p.q.ShutDown() }

// Len includes the keys that were added again while they run, as in package priorityqueue.
func (p *priorityQueue[K]) Len() int { return p.q.Metrics().Depth }

// ShutDownWithDrain is ShutDown, as in package priorityqueue.
func (p *priorityQueue[K]) ShutDownWithDrain() { p.q.ShutDown() }
