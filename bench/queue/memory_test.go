package queue

import (
	"runtime"
	"testing"
	"time"

	"k8s.io/client-go/util/workqueue"

	"github.com/kinform/kinform/queue"
)

func heapInUse() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestMemory logs what an idle queue takes and what is left after a burst of 100,000 keys, ours and the peers', and fails
// when ours is not within its limits.
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
			var queues [n]any
			goroutines, before := runtime.NumGoroutine(), heapInUse()
			for i := range queues {
				queues[i] = c.make()
			}
			time.Sleep(10 * time.Millisecond)
			per, each := (heapInUse()-before)/n, (runtime.NumGoroutine()-goroutines)/n
			before = heapInUse()
			c.burst(queues[0])
			left := heapInUse() - before
			t.Logf("idle: %d bytes and %d goroutines; after a burst %d bytes more", per, each, left)
			if c.name == "ours" && (per > 500 || each > 0 || left > 64<<10) {
				t.Error("too much")
			}
			for _, q := range queues {
				if q, ok := q.(peer); ok {
					q.ShutDown()
				}
			}
			runtime.KeepAlive(queues)
		})
	}
	runtime.KeepAlive(keys)
}
