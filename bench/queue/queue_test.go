package queue

import (
	"context"
	"testing"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"

	"github.com/kinform/kinform/queue"
)

func BenchmarkCycle(b *testing.B)      { benchmarkCycle(b, 0) }
func BenchmarkCycleDeep(b *testing.B)  { benchmarkCycle(b, 50_000) }
func BenchmarkCycleByKey(b *testing.B) { benchmarkByKey(b) }

// benchmarkCycle measures Add, Get and Done of one key with depth other keys queued.
func benchmarkCycle(b *testing.B, depth int) {
	keys := makeKeys(depth + 1000)
	ours, theirs, prio := queue.New(queue.Options[key]{}), workqueue.NewTyped[key](), newPriorityQueue()
	defer theirs.ShutDown()
	defer prio.ShutDown()
	for _, k := range keys[:depth] {
		ours.Add(k)
		theirs.Add(k)
		prio.Add(k)
	}
	// The key added is the one that came out depth cycles ago, so it is never queued twice.
	rest := append(append([]key{}, keys[depth:]...), keys[:depth]...)
	race(b, 20_000, wall(),
		contender{"ours", cycleOurs(ours, rest)},
		contender{"client-go", cyclePeer(theirs, rest)},
		contender{"priority", cyclePeer(prio, rest)})
}

// benchmarkByKey is the cycle with Done by key, as code moved over from client-go has it, and with
// timing. client-go's metered queue has the Prometheus metrics that controller-runtime gives every
// queue with a name.
func benchmarkByKey(b *testing.B) {
	keys := makeKeys(1000)
	ours, timed := queue.New(queue.Options[key]{}), queue.New(queue.Options[key]{Timing: true})
	theirs := workqueue.NewTyped[key]()
	defer theirs.ShutDown()
	metered := workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[key]{Name: "cycle"})
	defer metered.ShutDown()
	ctx, next := context.Background(), 0
	race(b, 20_000, cpu,
		contender{"ours", func(n int) {
			for range n {
				ours.Add(keys[next%len(keys)])
				next++
				it, _ := ours.Get(ctx)
				ours.Done(it.Key)
			}
		}},
		contender{"timed", cycleOurs(timed, keys)},
		contender{"client-go", cyclePeer(theirs, keys)},
		contender{"client-go-metered", cyclePeer(metered, keys)})
}

// BenchmarkContended is eight producers and eight workers without other work.
func BenchmarkContended(b *testing.B) {
	const n = 40_000
	keys := makeKeys(n)
	ours, theirs := queue.New(queue.Options[key]{}), workqueue.NewTyped[key]()
	defer theirs.ShutDown()
	ctx := context.Background()
	race(b, n, wall(),
		contender{"ours", func(n int) {
			crowd(keys, n, 8, 8, func(_ int, k key) { ours.Add(k) }, func() bool {
				it, err := ours.Get(ctx)
				it.Done()
				return err == nil
			})
		}},
		contender{"client-go", func(n int) {
			crowd(keys, n, 8, 8, func(_ int, k key) { theirs.Add(k) }, func() bool {
				k, down := theirs.Get()
				theirs.Done(k)
				return !down
			})
		}})
}

// BenchmarkContendedPriority is the same with three priorities in use. The metered contenders take
// the times and numbers that a controller's metrics need.
func BenchmarkContendedPriority(b *testing.B) {
	const n = 20_000
	keys := makeKeys(n)
	prio, metered := newPriorityQueue(), newMeteredPriorityQueue()
	defer prio.ShutDown()
	defer metered.ShutDown()
	race(b, n, cpu,
		contender{"ours", crowdOurs(queue.New(queue.Options[key]{}), keys)},
		contender{"ours-metered", crowdOurs(queue.New(queue.Options[key]{Timing: true}), keys)},
		contender{"priority", crowdPriority(prio, keys)},
		contender{"priority-metered", crowdPriority(metered, keys)})
}

// priorities are those in use, in turns.
func priorities() [3]int { return [3]int{-100, 0, 10} }

func crowdOurs(q *queue.Queue[key], keys []key) func(int) {
	ctx, prio := context.Background(), priorities()
	return func(n int) {
		crowd(keys, n, 8, 8, func(i int, k key) {
			q.AddWith(k, queue.AddOptions{Priority: prio[i/8%3]})
		}, func() bool {
			it, err := q.Get(ctx)
			it.Done()
			return err == nil
		})
	}
}

func crowdPriority(q priorityqueue.PriorityQueue[key], keys []key) func(int) {
	prio := priorities()
	return func(n int) {
		crowd(keys, n, 8, 8, func(i int, k key) {
			q.AddWithOpts(priorityqueue.AddOpts{Priority: &prio[i/8%3]}, k)
		}, func() bool {
			k, down := q.Get()
			q.Done(k)
			return !down
		})
	}
}

// BenchmarkDuplicate adds keys that are queued already.
func BenchmarkDuplicate(b *testing.B) {
	keys := makeKeys(1000)
	ours, theirs, prio := queue.New(queue.Options[key]{}), workqueue.NewTyped[key](), newPriorityQueue()
	defer theirs.ShutDown()
	defer prio.ShutDown()
	again := func(add func(key)) func(int) {
		return func(n int) {
			for i := range n {
				add(keys[i%len(keys)])
			}
		}
	}
	race(b, 50_000, wall(),
		contender{"ours", again(ours.Add)},
		contender{"client-go", again(theirs.Add)},
		contender{"priority", again(func(k key) { prio.Add(k) })})
}

// BenchmarkBurst adds 100,000 keys to a new queue and then handles them.
func BenchmarkBurst(b *testing.B) {
	const n = 100_000
	keys := makeKeys(n)
	race(b, n, wall(),
		contender{"ours", func(n int) { burstOurs(queue.New(queue.Options[key]{}), keys[:n]) }},
		contender{"client-go", func(n int) { burstPeer(workqueue.NewTyped[key](), keys[:n]) }})
}

// BenchmarkBurstAgain does so in a queue that has seen such a burst. client-go's keeps the memory,
// ours gave it back.
func BenchmarkBurstAgain(b *testing.B) {
	const n = 100_000
	keys := makeKeys(n)
	ours, theirs := queue.New(queue.Options[key]{}), workqueue.NewTyped[key]()
	defer theirs.ShutDown()
	race(b, n, wall(),
		contender{"ours", func(n int) { burstOurs(ours, keys[:n]) }},
		contender{"client-go", func(n int) { burstPeer(theirs, keys[:n]) }})
}

func burstOurs(q *queue.Queue[key], keys []key) {
	ctx := context.Background()
	for _, k := range keys {
		q.Add(k)
	}
	for range keys {
		it, _ := q.Get(ctx)
		it.Done()
	}
}

func burstPeer(q peer, keys []key) {
	for _, k := range keys {
		q.Add(k)
	}
	for range keys {
		k, _ := q.Get()
		q.Done(k)
	}
}
