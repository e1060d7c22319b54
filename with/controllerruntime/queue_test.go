package controllerruntime_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/kinform/kinform/internal/longtest"
	"github.com/kinform/kinform/queue"
	"github.com/kinform/kinform/with/controllerruntime"
)

// queueNumbers returns the metrics of a queue that count, as text.
func queueNumbers(t testing.TB, name string) string {
	t.Helper()
	families, err := metrics.Registry.Gather()
	check(t, err)
	var all []string
	for _, family := range families {
		for _, m := range family.GetMetric() {
			labels := map[string]string{}
			for _, label := range m.GetLabel() {
				labels[label.GetName()] = label.GetValue()
			}
			if !strings.HasPrefix(family.GetName(), "workqueue_") || labels["name"] != name || labels["controller"] != name {
				continue
			}
			switch key := strings.TrimPrefix(family.GetName(), "workqueue_"); {
			case m.Counter != nil:
				all = append(all, fmt.Sprintf("%s %v", key, m.Counter.GetValue()))
			case m.Histogram != nil:
				all = append(all, fmt.Sprintf("%s %d of %.3f", key, m.Histogram.GetSampleCount(), m.Histogram.GetSampleSum()))
			case key == metrics.DepthKey && m.Gauge.GetValue() != 0:
				all = append(all, fmt.Sprintf("%s %v at %s", key, m.Gauge.GetValue(), labels["priority"]))
			}
		}
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

// TestQueue: random calls have the same results and metrics as with controller-runtime's queue. Not
// among them are delays for keys that are queued, adds in place of a delay without a higher
// priority, and adds of keys that run. It takes less than the 10 seconds after which low priorities
// get turns.
func TestQueue(t *testing.T) {
	for seed := range longtest.N[uint64](4, 100) {
		synctest.Test(t, func(t *testing.T) {
			limiter := func() workqueue.TypedRateLimiter[string] {
				return workqueue.NewTypedItemExponentialFailureRateLimiter[string](5*time.Millisecond, 50*time.Millisecond)
			}
			ourName, theirName := fmt.Sprint("ours-", seed), fmt.Sprint("theirs-", seed)
			ours := controllerruntime.NewQueue(ourName, limiter()).(priorityqueue.PriorityQueue[string])
			theirs := priorityqueue.New(theirName, func(o *priorityqueue.Opts[string]) { o.RateLimiter = limiter() })
			rng := rand.New(rand.NewPCG(seed, 2))
			held, queued, delayed := map[string]bool{}, map[string]bool{}, map[string]time.Time{}
			type calls = priorityqueue.PriorityQueue[string]
			for n := range 200 {
				for key, at := range delayed {
					if !at.After(time.Now()) {
						delete(delayed, key)
						queued[key] = true
					}
				}
				key := fmt.Sprint(rng.IntN(5))
				priority := rng.IntN(3) - 1
				what := rng.IntN(8)
				step := fmt.Sprintf("%d %s at %d", what, key, priority)
				both := func(call func(calls) any) {
					t.Helper()
					got, want := call(ours), call(theirs)
					synctest.Wait()
					ours.Done("none") // reports keys whose delay has ended since the last call
					if got != want || ours.Len() != theirs.Len() || ours.NumRequeues(key) != theirs.NumRequeues(key) || ours.ShuttingDown() != theirs.ShuttingDown() {
						t.Fatalf("seed %d, call %d, %s: %v, retries %d; controller-runtime: %v, %d", seed, n, step, got, ours.NumRequeues(key), want, theirs.NumRequeues(key))
					}
					if got, want := queueNumbers(t, ourName), queueNumbers(t, theirName); got != want {
						t.Fatalf("seed %d, call %d, %s:\n%s\ncontroller-runtime:\n%s", seed, n, step, got, want)
					}
				}
				if held[key] && what < 4 { // a key that is added while it runs has another place in the order
					delete(held, key)
					both(func(q calls) any { q.Done(key); return nil })
				}
				switch what {
				case 0, 1:
					if _, waits := delayed[key]; waits {
						priority = 2 // with the same one, the key would have the place of its first add in controller-runtime
					}
					both(func(q calls) any { q.AddWithOpts(priorityqueue.AddOpts{Priority: &priority}, key); return nil })
					delete(delayed, key)
					queued[key] = true
				case 2:
					if !queued[key] {
						d := time.Duration(n+1) * time.Millisecond // no two at once
						both(func(q calls) any {
							q.AddWithOpts(priorityqueue.AddOpts{After: d, Priority: &priority}, key)
							return nil
						})
						if at, waits := delayed[key]; !waits || time.Now().Add(d).Before(at) {
							delayed[key] = time.Now().Add(d)
						}
					}
				case 3:
					if !queued[key] {
						both(func(q calls) any { q.AddRateLimited(key); return nil })
						time.Sleep(51 * time.Millisecond) // delays that end at the same time have no order in controller-runtime
						delete(delayed, key)
						queued[key] = true
					}
				case 4:
					both(func(q calls) any { q.Forget(key); return nil })
				case 5, 6:
					if ours.Len() > 0 {
						both(func(q calls) any {
							key, priority, shutdown := q.GetWithPriority()
							held[key] = true
							delete(queued, key)
							return fmt.Sprint(key, priority, shutdown)
						})
					}
				case 7:
					if held[key] {
						delete(held, key)
						both(func(q calls) any { q.Done(key); return nil })
					} else {
						time.Sleep(time.Duration(rng.IntN(300)) * time.Millisecond)
					}
				}
			}
			for _, q := range []calls{ours, theirs} {
				q.ShutDown()
				q.Add("late")
				if key, shutdown := q.Get(); key != "" || !shutdown {
					t.Errorf("after the end: %q, %v", key, shutdown)
				}
				for key := range held {
					q.Done(key)
				}
			}
		})
	}
}

// Get ends with ShutDown, and adds without options have the meaning of priorityqueue.
func TestQueueCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := controllerruntime.Queue(queue.New(queue.Options[int]{}))
		begin := time.Now()
		q.AddAfter(1, time.Hour)
		q.AddAfter(2, time.Minute)
		q.Add(1) // in place of the delay
		for _, want := range []int{1, 2} {
			if got, shutdown := q.Get(); got != want || shutdown {
				t.Errorf("got %d, %v", got, shutdown)
			}
			q.Done(want)
		}
		if waited := time.Since(begin); waited != time.Minute {
			t.Errorf("key 2 came after %v", waited)
		}
		ended := make(chan bool)
		go func() { _, shutdown := q.Get(); ended <- shutdown }()
		synctest.Wait()
		q.AddAfter(3, time.Hour) // dropped
		q.ShutDownWithDrain()
		if !<-ended || !q.ShuttingDown() {
			t.Error("it is not shut down")
		}
	})
}

// A registry without controller-runtime's metrics: there are none, and no panic.
func TestQueueWithoutMetrics(t *testing.T) {
	was := metrics.Registry
	defer func() { metrics.Registry = was }()
	metrics.Registry = prometheus.NewRegistry()
	q := controllerruntime.NewQueue[string]("none", nil)
	q.AddRateLimited("a")
	if key, _ := q.Get(); key != "a" {
		t.Errorf("got %q", key)
	}
	q.Done("a")
	q.ShutDown()
	if got := queueNumbers(t, "none"); got != "" {
		t.Errorf("metrics %s", got)
	}
}
