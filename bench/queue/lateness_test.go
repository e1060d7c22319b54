package queue

import (
	"context"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"k8s.io/client-go/util/workqueue"

	"github.com/kinform/kinform/queue"
)

// BenchmarkLateness measures how late 100,000 delayed keys are handed out, to one worker that does
// nothing else, with delays spread over a second after the insertion: the median, the 99.9th
// percentile and the worst, in microseconds. The runtime's own timers, one per key, go first: what
// they are late the machine or the runtime is to blame for.
func BenchmarkLateness(b *testing.B) {
	const n = 100_000
	keys := makeKeys(n)
	index := make(map[key]int, n)
	for i, k := range keys {
		index[k] = i
	}
	due := make([]time.Time, n)
	measure := func(name string, add func(key, time.Duration), work func() key) {
		var late []time.Duration
		runtime.GC()
		for i, k := range keys {
			d := 200*time.Millisecond + time.Duration(rand.Int64N(int64(time.Second)))
			due[i] = time.Now().Add(d)
			add(k, d)
		}
		for range keys {
			k := work()
			late = append(late, time.Since(due[index[k]]))
		}
		slices.Sort(late)
		us := func(q float64) float64 { return float64(late[int(q*float64(n-1))].Nanoseconds()) / 1000 }
		b.ReportMetric(us(0.5), name+"-p50-us")
		b.ReportMetric(us(0.999), name+"-p99.9-us")
		b.ReportMetric(us(1), name+"-max-us")
	}
	for b.Loop() {
		fired := make(chan key, n)
		measure("runtime", func(k key, d time.Duration) {
			time.AfterFunc(d, func() { fired <- k })
		}, func() key { return <-fired })
		ours := queue.New(queue.Options[key]{})
		measure("ours", ours.AddAfter, func() key {
			it, _ := ours.Get(context.Background())
			it.Done()
			return it.Key
		})
		theirs := workqueue.NewTypedDelayingQueue[key]()
		measure("client-go", theirs.AddAfter, func() key {
			k, _ := theirs.Get()
			theirs.Done(k)
			return k
		})
		theirs.ShutDown()
		prio := newPriorityQueue()
		measure("priority", prio.AddAfter, func() key {
			k, _ := prio.Get()
			prio.Done(k)
			return k
		})
		prio.ShutDown()
	}
	b.ReportMetric(0, "ns/op")
}
