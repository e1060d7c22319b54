package queue

import (
	"runtime"
	"testing"
	"time"

	"k8s.io/client-go/util/workqueue"

	"github.com/kinform/kinform/internal/memtest"
	"github.com/kinform/kinform/queue"
)

// TestMemory logs what an idle queue takes and what is left after a burst of 100,000 keys, ours and
// the peers', and fails when ours is not within its limits.
func TestMemory(t *testing.T) {
	const n, burst = 1000, 100_000
	keys := makeKeys(burst)
	for _, c := range []struct {
		name  string
		make  func() any
		burst func(any)
	}{
		{"ours", func() any { return queue.New(queue.Options[key]{}) }, func(q any) { burstOurs(q.(*queue.Queue[key]), keys) }},
		{"client-go", func() any {
			return workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[key]())
		}, func(q any) { burstPeer(q.(peer), keys) }},
		{"priority", func() any { return newPriorityQueue() }, func(q any) { burstPeer(q.(peer), keys) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			if over := memtest.Least(0, func() int64 {
				var queues [n]any
				goroutines, before := runtime.NumGoroutine(), memtest.Heap()
				for i := range queues {
					queues[i] = c.make()
				}
				time.Sleep(10 * time.Millisecond) // for the goroutines of the peers to start
				per, each := (memtest.Heap()-before)/n, (runtime.NumGoroutine()-goroutines)/n
				before = memtest.Heap()
				c.burst(queues[0])
				left := memtest.Heap() - before
				t.Logf("idle: %d bytes and %d goroutines; after a burst %d bytes more", per, each, left)
				for _, q := range queues {
					if q, ok := q.(peer); ok {
						q.ShutDown()
					}
				}
				runtime.KeepAlive(queues)
				if c.name != "ours" {
					return 0
				}
				return max(per-500, int64(each), left-64<<10)
			}); over > 0 {
				t.Errorf("%d too much", over)
			}
		})
	}
	runtime.KeepAlive(keys)
}
