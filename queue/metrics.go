package queue

import "time"

// counters only grow. Guarded by Queue.mu.
type counters struct {
	adds    uint64
	retries uint64
	panics  uint64
}

// Metrics is the state of a queue in numbers. They mean the same as client-go's workqueue metrics.
type Metrics struct {
	// Name is [Options.Name] (the label "name" of client-go's metrics).
	Name string
	// Depth is the number of keys to be handed out, including keys added again while they run
	// (workqueue_depth).
	Depth int
	// DepthByPriority splits Depth by priority. Priorities that have no key are left out.
	DepthByPriority map[int]int
	// Delayed is the number of keys held back by AddAfter, AddRateLimited or Debounce.
	Delayed int
	// Running is the number of keys that are handed out.
	Running int
	// Waiting is the number of goroutines that wait in Get: idle workers.
	Waiting int

	// Adds counts adds that queued a key; it does not count adds of queued keys
	// (workqueue_adds_total).
	Adds uint64
	// Retries counts the calls of AddAfter, whatever the delay, and of AddRateLimited
	// (workqueue_retries_total). It includes the calls of AddWith with a delay or rate limit, and
	// the keys that Run brings back after a delay.
	Retries uint64
	// Panics counts the panics in Limiter, Class, OnError and the functions called by Run.
	Panics uint64

	// Results counts the results of the functions called by Run. Workers is the number of calls
	// that Run may make at the same time: RunOptions.Workers or the last value of Resize, zero
	// while Run does not run.
	Results Results
	Workers int

	// Timing is [Options.Timing]: without it, the following are zero.
	Timing bool
	// Latency is how long keys were queued, debounce included (workqueue_queue_duration_seconds).
	// With Timing only.
	Latency Histogram
	// Work is how long handled keys took (workqueue_work_duration_seconds). With Timing only.
	Work Histogram
	// Unfinished is the sum of the times for which the present keys have been running
	// (workqueue_unfinished_work_seconds). With Timing only.
	Unfinished time.Duration
	// LongestRunning is the longest of them (workqueue_longest_running_processor_seconds). With
	// Timing only.
	LongestRunning time.Duration
}

// Metrics reads the counters. O(priorities), and with Timing O(running); nothing is computed
// between two calls.
func (q *Queue[K]) Metrics() Metrics {
	ran := q.runs.Load()
	q.mu.Lock()
	defer q.mu.Unlock()
	m := Metrics{
		Name:            q.Name(),
		Depth:           q.ready.n + q.dirties,
		DepthByPriority: q.depths(),
		Running:         q.running,
		Waiting:         q.parked.n + int(q.parked.waking),
		Adds:            q.count.adds,
		Retries:         q.count.retries,
		Panics:          q.count.panics,
		Results:         ran.results(),
	}
	if ran != nil {
		m.Workers = int(ran.workers.Load())
	}
	for i := range q.pending {
		m.Delayed += len(q.pending[i].slots)
	}
	if t := q.timing; t != nil {
		m.Timing = true
		m.Latency, m.Work = t.latency, t.work
		now := q.now()
		for e := t.running.head; e != nil; e = e.next {
			m.Unfinished += time.Duration(now - e.start)
		}
		if e := t.running.head; e != nil {
			m.LongestRunning = time.Duration(now - e.start)
		}
	}
	return m
}

// depths is the number of keys per priority. Called with the lock held.
func (q *Queue[K]) depths() map[int]int {
	depths := make(map[int]int)
	for l := range q.ready.all {
		if n := l.n + l.coming; n > 0 {
			depths[int(l.prio)] = n
		}
	}
	return depths
}
