package queue

import (
	"context"
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"

	"github.com/kinform/kinform/queue"
)

// peer has the methods that the peers have in common. Our queue is measured through its own
// methods.
type peer interface {
	Add(key)
	Get() (key, bool)
	Done(key)
	ShutDown()
}

// newMeteredPriorityQueue is controller-runtime's queue as its controllers have it, with Prometheus
// metrics.
func newMeteredPriorityQueue() priorityqueue.PriorityQueue[key] {
	return priorityqueue.New[key]("bench")
}

// newPriorityQueue is the same without a name, and so without metrics.
func newPriorityQueue() priorityqueue.PriorityQueue[key] {
	return priorityqueue.New("", func(o *priorityqueue.Opts[key]) {
		o.RateLimiter = workqueue.NewTypedItemExponentialFailureRateLimiter[key](5*time.Millisecond, 1000*time.Second)
	})
}

// cycleOurs adds, gets and gives back n keys one after the other.
func cycleOurs(q *queue.Queue[key], keys []key) func(int) {
	ctx := context.Background()
	next := 0
	return func(n int) {
		for range n {
			q.Add(keys[next%len(keys)])
			next++
			it, _ := q.Get(ctx)
			it.Done()
		}
	}
}

func cyclePeer(q peer, keys []key) func(int) {
	next := 0
	return func(n int) {
		for range n {
			q.Add(keys[next%len(keys)])
			next++
			k, _ := q.Get()
			q.Done(k)
		}
	}
}

// crowd lets several producers add n keys and several workers handle them, and returns when all are
// done. add and work are called by many goroutines at once.
func crowd(keys []key, n, producers, workers int, add func(i int, k key), work func() bool) {
	var wg sync.WaitGroup
	for p := range producers {
		wg.Go(func() {
			for i := p; i < n; i += producers {
				add(i, keys[i%len(keys)])
			}
		})
	}
	for w := range workers {
		wg.Go(func() {
			for i := w; i < n; i += workers {
				if !work() {
					return
				}
			}
		})
	}
	wg.Wait()
}
