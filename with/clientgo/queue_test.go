package clientgo_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/util/workqueue"

	"github.com/kinform/kinform/internal/longtest"
	"github.com/kinform/kinform/queue"
	"github.com/kinform/kinform/with/clientgo"
)

// TestQueue: random calls have the same results as with client-go's queue.
func TestQueue(t *testing.T) {
	for seed := range longtest.N[uint64](20, 500) {
		synctest.Test(t, func(t *testing.T) {
			var our, their numbers
			limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[string](5*time.Millisecond, 1000*time.Second)
			name := ""
			if seed < 3 {
				name = "with metrics"
			}
			ours := clientgo.Queue(queue.New(queue.Options[string]{Name: name, Timing: true}), clientgo.QueueOptions{Metrics: &our})
			stock := workqueue.NewTypedRateLimitingQueueWithConfig(limiter, workqueue.TypedRateLimitingQueueConfig[string]{Name: name, MetricsProvider: &their})
			rng := rand.New(rand.NewPCG(seed, 1))
			held := map[string]bool{}
			for n := range 200 {
				key := fmt.Sprint(rng.IntN(5))
				step := fmt.Sprint(rng.IntN(8), " ", key)
				both := func(call func(workqueue.TypedRateLimitingInterface[string]) any) {
					t.Helper()
					got, want := call(ours), call(stock)
					synctest.Wait()
					if got != want || ours.Len() != stock.Len() || ours.NumRequeues(key) != stock.NumRequeues(key) || ours.ShuttingDown() != stock.ShuttingDown() {
						t.Fatalf("seed %d, call %d, %s: %v, length %d, retries %d; client-go: %v, %d, %d", seed, n, step,
							got, ours.Len(), ours.NumRequeues(key), want, stock.Len(), stock.NumRequeues(key))
					}
					ours.Done("none") // reports keys whose delay has ended since the last call
					if our.text() != their.text() {
						t.Fatalf("seed %d, call %d, %s: metrics %s; client-go: %s", seed, n, step, our.text(), their.text())
					}
				}
				type calls = workqueue.TypedRateLimitingInterface[string]
				switch step[0] {
				case '0':
					both(func(q calls) any { q.Add(key); return nil })
				case '1':
					d := time.Duration(n+1) * time.Millisecond // no two at once
					both(func(q calls) any { q.AddAfter(key, d); return nil })
				case '2':
					both(func(q calls) any { q.AddRateLimited(key); return nil })
					time.Sleep(time.Hour) // delays that end at the same time have no order in client-go
				case '3':
					both(func(q calls) any { q.Forget(key); return nil })
				case '4', '5':
					if stock.Len() > 0 {
						both(func(q calls) any {
							got, shutdown := q.Get()
							held[got] = true
							return fmt.Sprint(got, shutdown)
						})
					}
				case '6':
					if held[key] {
						delete(held, key)
						both(func(q calls) any { q.Done(key); return nil })
					}
				case '7':
					time.Sleep(time.Duration(rng.IntN(300)) * time.Millisecond)
				}
			}
			for _, q := range []workqueue.TypedRateLimitingInterface[string]{ours, stock} {
				drained := make(chan struct{})
				go func() { q.ShutDownWithDrain(); close(drained) }()
				synctest.Wait()
				for key := range held {
					q.Done(key)
				}
				for {
					key, shutdown := q.Get()
					if shutdown {
						break
					}
					q.Done(key)
				}
				<-drained
				q.ShutDown()
			}
			time.Sleep(time.Second)
			if our.text() != their.text() {
				t.Errorf("seed %d: in the end metrics %s; client-go: %s", seed, our.text(), their.text())
			}
		})
	}
}

// numbers is a workqueue.MetricsProvider.
type numbers struct {
	mu                    sync.Mutex
	depth, adds, retries  int
	latencies, works      int     // the number of durations
	latency, work         float64 // their sums
	unfinished, longest   float64
	byPriority            map[int]int
	latencyList, workList []float64
}

func (n *numbers) text() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return fmt.Sprintf("depth %d, adds %d, retries %d, latency %d of %.3f, work %d of %.3f", n.depth, n.adds, n.retries, n.latencies, n.latency, n.works, n.work)
}

// number is one of them.
type number struct {
	of *numbers
	do func(n *numbers, v float64)
}

func (m number) Observe(v float64) {
	m.of.mu.Lock()
	defer m.of.mu.Unlock()
	m.do(m.of, v)
}

func (m number) Set(v float64) { m.Observe(v) }
func (m number) Inc()          { m.Observe(1) }
func (m number) Dec()          { m.Observe(-1) }

func (n *numbers) NewDepthMetric(string) workqueue.GaugeMetric {
	return number{n, func(n *numbers, v float64) { n.depth += int(v) }}
}
func (n *numbers) NewAddsMetric(string) workqueue.CounterMetric {
	return number{n, func(n *numbers, v float64) { n.adds += int(v) }}
}
func (n *numbers) NewRetriesMetric(string) workqueue.CounterMetric {
	return number{n, func(n *numbers, v float64) { n.retries += int(v) }}
}
func (n *numbers) NewLatencyMetric(string) workqueue.HistogramMetric {
	return number{n, func(n *numbers, v float64) {
		n.latencies++
		n.latency += v
		n.latencyList = append(n.latencyList, v)
	}}
}
func (n *numbers) NewWorkDurationMetric(string) workqueue.HistogramMetric {
	return number{n, func(n *numbers, v float64) {
		n.works++
		n.work += v
		n.workList = append(n.workList, v)
	}}
}
func (n *numbers) NewUnfinishedWorkSecondsMetric(string) workqueue.SettableGaugeMetric {
	return number{n, func(n *numbers, v float64) { n.unfinished = v }}
}
func (n *numbers) NewLongestRunningProcessorSecondsMetric(string) workqueue.SettableGaugeMetric {
	return number{n, func(n *numbers, v float64) { n.longest = v }}
}

// byPriority is numbers with a depth for each priority.
type byPriority struct{ *numbers }

func (n byPriority) NewDepthOfPriority(_ string, priority int) workqueue.GaugeMetric {
	return number{n.numbers, func(n *numbers, v float64) {
		if n.byPriority == nil {
			n.byPriority = map[int]int{}
		}
		n.byPriority[priority] += int(v)
	}}
}

// Numbers of a queue that is used directly: for many keys at once, for running keys, and for
// priorities.
func TestQueueMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var n numbers
		q := queue.New(queue.Options[int]{Name: "q", Timing: true})
		report := clientgo.QueueMetrics(q, byPriority{&n})
		for key := range 4 {
			q.AddWith(key, queue.AddOptions{Priority: -key % 2})
			time.Sleep(10 * time.Millisecond)
		}
		report()
		if fmt.Sprint(n.byPriority) != "map[-1:2 0:2]" || n.depth != 0 {
			t.Errorf("depth %v, and %d in all", n.byPriority, n.depth)
		}
		var items []queue.Item[int]
		for range 4 {
			item, err := q.Get(t.Context())
			check(t, err)
			items = append(items, item)
		}
		report() // four latencies at once: of 40, 20, 30 and 10 ms
		if n.latencies != 4 || math.Abs(n.latency-0.1) > 1e-9 {
			t.Errorf("%d latencies with a sum of %v", n.latencies, n.latency)
		}
		slices.Sort(n.latencyList)
		for i, want := range []float64{0.010, 0.020, 0.030, 0.040} {
			if got := n.latencyList[i]; got < want/2 || got > want*2 {
				t.Errorf("a latency of %v instead of %v", got, want)
			}
		}
		time.Sleep(10*time.Second + time.Millisecond)
		synctest.Wait()
		if math.Abs(n.unfinished-4*9.96) > 1e-9 || math.Abs(n.longest-9.96) > 1e-9 { // it was reported 40 ms ago
			t.Errorf("unfinished %v, longest %v", n.unfinished, n.longest)
		}
		q.ShutDown()
		time.Sleep(time.Second)
		for _, item := range items {
			item.Done()
		}
		time.Sleep(time.Second) // it reports until no key runs, even after the shutdown
		synctest.Wait()
		if n.works != 4 || n.unfinished != 0 || fmt.Sprint(n.byPriority) != "map[-1:0 0:0]" {
			t.Errorf("in the end: %s, unfinished %v, depth %v", n.text(), n.unfinished, n.byPriority)
		}
	})
	clientgo.QueueMetrics(queue.New(queue.Options[int]{}), nil)() // no name, no metrics
}

// Each duration of many comes in its own bucket, and the sum is right.
func TestQueueDurations(t *testing.T) {
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	synctest.Test(t, func(t *testing.T) {
		var n numbers
		q := queue.New(queue.Options[int]{Name: "q", Timing: true})
		report := clientgo.QueueMetrics(q, &n)
		for range 30 {
			for key := range 20 {
				q.Add(key)
				time.Sleep(time.Duration(math.Pow(10, random.Float64()*12.5) - 1)) // 0 to 50 minutes
			}
			for range 20 {
				item, err := q.Get(t.Context())
				check(t, err)
				item.Done()
			}
			report()
		}
		want := q.Metrics().Latency
		got := make([]uint64, len(want.Counts))
		for _, v := range n.latencyList {
			i := 0
			for i < len(got)-1 && v > want.Bound(i).Seconds() {
				i++
			}
			got[i]++
		}
		if !slices.Equal(got, want.Counts[:]) || math.Abs(n.latency/want.Sum.Seconds()-1) > 1e-9 {
			t.Errorf("seed %d: %v with a sum of %v, want %v with %v", seed, got, n.latency, want.Counts, want.Sum.Seconds())
		}
		q.ShutDown()
		time.Sleep(time.Second)
	})
}

// A limiter of client-go decides about the delays, and hears of keys that work again.
func TestLimiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		of := workqueue.NewTypedItemExponentialFailureRateLimiter[string](time.Second, time.Minute)
		q := clientgo.Queue(queue.New(queue.Options[string]{Limiter: clientgo.Limiter(of)}))
		for _, want := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second} {
			begin := time.Now()
			q.AddRateLimited("a")
			q.Get()
			if got := time.Since(begin); got != want {
				t.Errorf("a delay of %v instead of %v", got, want)
			}
			q.Done("a")
		}
		q.Forget("a")
		if of.NumRequeues("a") != 0 || q.NumRequeues("a") != 0 {
			t.Error("not forgotten")
		}
		q.ShutDown()
	})
	if clientgo.Limiter[string](nil) != nil {
		t.Error("nil did not stay nil")
	}
}
