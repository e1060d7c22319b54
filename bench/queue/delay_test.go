package queue

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"k8s.io/client-go/util/workqueue"

	"github.com/kinform/kinform/queue"
)

// BenchmarkAddAfter is the processor time of inserting 100,000 delayed keys, firing and handling
// them, and how late the last one was. The delays lie between 50 and 250 ms: less than that and the
// insertion of the last would be late itself.
func BenchmarkAddAfter(b *testing.B) {
	const n = 100_000
	keys, delays := makeKeys(n), make([]time.Duration, n)
	for i := range delays {
		delays[i] = 50*time.Millisecond + time.Duration(rand.Int64N(int64(200*time.Millisecond)))
	}
	ours, theirs := queue.New(queue.Options[key]{}), workqueue.NewTypedDelayingQueue[key]()
	defer theirs.ShutDown()
	race(b, n, cpu,
		contender{"ours", func(n int) {
			for i := range n {
				ours.AddAfter(keys[i], delays[i])
			}
			for range n {
				it, _ := ours.Get(context.Background())
				it.Done()
			}
		}},
		contender{"client-go", func(n int) {
			for i := range n {
				theirs.AddAfter(keys[i], delays[i])
			}
			for range n {
				k, _ := theirs.Get()
				theirs.Done(k)
			}
		}})
}

// BenchmarkAddRateLimited is the processor time of a failing key's cycle: added rate limited,
// fired, handled, forgotten.
func BenchmarkAddRateLimited(b *testing.B) {
	const n = 50_000
	keys := makeKeys(n)
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[key](5*time.Millisecond, 1000*time.Second)
	ours, theirs := queue.New(queue.Options[key]{}), workqueue.NewTypedRateLimitingQueue(limiter)
	defer theirs.ShutDown()
	race(b, n, cpu,
		contender{"ours", func(n int) {
			for i := range n {
				ours.AddRateLimited(keys[i])
			}
			for range n {
				it, _ := ours.Get(context.Background())
				ours.Forget(it.Key)
				it.Done()
			}
		}},
		contender{"client-go", func(n int) {
			for i := range n {
				theirs.AddRateLimited(keys[i])
			}
			for range n {
				k, _ := theirs.Get()
				theirs.Forget(k)
				theirs.Done(k)
			}
		}})
}
