package kinformprom

import (
	"strconv"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kinform/kinform/queue"
)

// mostPriorities is the number of priorities of a queue that have their own series, and
// otherPriorities the label of the others: controller-runtime's.
const (
	mostPriorities  = 25
	otherPriorities = "exceeded_cardinality_limit"
)

// queueTable are the metrics of queues. Names and labels are the same as in controller-runtime,
// whose queues have their own name as the label controller.
type queueTable struct {
	depth         *prometheus.Desc
	latency, work *prometheus.Desc // with Timing only, like timed
	bounds        []bound          // of latency and work
	timed, always []number[queue.Metrics]
}

func newQueueTable() queueTable {
	const name, owner = "name", "controller"
	return queueTable{
		depth:   desc("workqueue_depth", "Keys that wait to be handed out, by priority.", name, owner, "priority"),
		latency: desc("workqueue_queue_duration_seconds", "How long keys waited to be handed out.", name, owner),
		work:    desc("workqueue_work_duration_seconds", "How long keys were handed out.", name, owner),
		bounds:  boundsOf(prometheus.ExponentialBuckets(10e-9, 10, 12)),
		timed: []number[queue.Metrics]{
			gauge(desc("workqueue_unfinished_work_seconds", "How long the keys that are handed out now have been so, in all.", name, owner),
				func(m queue.Metrics) float64 { return m.Unfinished.Seconds() }),
			gauge(desc("workqueue_longest_running_processor_seconds", "How long the longest of the keys that are handed out now has been so.", name, owner),
				func(m queue.Metrics) float64 { return m.LongestRunning.Seconds() }),
		},
		always: []number[queue.Metrics]{
			counter(desc("workqueue_adds_total", "Adds that queued a key.", name, owner),
				func(m queue.Metrics) float64 { return float64(m.Adds) }),
			counter(desc("workqueue_retries_total", "Adds with a delay or a rate limit.", name, owner),
				func(m queue.Metrics) float64 { return float64(m.Retries) }),
			gauge(desc("kinform_queue_delayed_keys", "Keys held back by a delay or a debounce.", name, owner),
				func(m queue.Metrics) float64 { return float64(m.Delayed) }),
			gauge(desc("kinform_queue_running_keys", "Keys that are handed out.", name, owner),
				func(m queue.Metrics) float64 { return float64(m.Running) }),
			gauge(desc("kinform_queue_idle_workers", "Goroutines that wait for a key.", name, owner),
				func(m queue.Metrics) float64 { return float64(m.Waiting) }),
			counter(desc("kinform_queue_panics_total", "Panics in functions that the queue called.", name, owner),
				func(m queue.Metrics) float64 { return float64(m.Panics) }),
		},
	}
}

func (t *queueTable) describe(out chan<- *prometheus.Desc) {
	out <- t.depth
	out <- t.latency
	out <- t.work
	describe(out, t.timed)
	describe(out, t.always)
}

// shownQueue is a queue that was added.
type shownQueue struct {
	*queueTable
	name   string
	labels labels

	mu    sync.Mutex
	known map[int]string // priorities seen so far, which are shown when they have no keys too, with their labels
}

func (t *queueTable) of(name string) *shownQueue {
	return &shownQueue{queueTable: t, name: name, labels: pairs("controller", name, "name", name), known: map[int]string{0: "0"}}
}

func (q *shownQueue) collect(e emitter, m queue.Metrics) {
	for label, n := range q.depths(m.DepthByPriority) {
		e.gauge(q.depth, float64(n), pairs("controller", q.name, "name", q.name, "priority", label))
	}
	collect(e, q.always, m, q.labels)
	if m.Timing {
		e.histogram(q.latency, &m.Latency, q.bounds, q.labels)
		e.histogram(q.work, &m.Work, q.bounds, q.labels)
		collect(e, q.timed, m, q.labels)
	}
}

// depths returns the number of keys per label of a priority.
func (q *shownQueue) depths(depths map[int]int) map[string]int {
	q.mu.Lock()
	defer q.mu.Unlock()
	byLabel := make(map[string]int, len(q.known))
	for _, label := range q.known {
		byLabel[label] = 0
	}
	for priority, n := range depths {
		label, ok := q.known[priority]
		switch {
		case ok:
		case len(q.known) < mostPriorities:
			label = strconv.Itoa(priority)
			q.known[priority] = label
		default:
			label = otherPriorities
		}
		byLabel[label] += n
	}
	return byLabel
}

// controllerTable are the metrics of reconciles, as controller-runtime has them.
type controllerTable struct {
	results *prometheus.Desc
	time    *prometheus.Desc // with Timing only
	loops   *prometheus.Desc // of a controller
	bounds  []bound          // of time
	numbers []number[queue.Metrics]
}

func newControllerTable() controllerTable {
	const owner = "controller"
	return controllerTable{
		results: desc("controller_runtime_reconcile_total", "Reconciles by result.", owner, "result"),
		time:    desc("controller_runtime_reconcile_time_seconds", "How long reconciles took.", owner),
		loops:   desc("kinform_controller_looping_keys", "Keys that were found in a loop in the last hour.", owner),
		bounds: boundsOf([]float64{
			0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9,
			1, 1.25, 1.5, 1.75, 2, 2.5, 3, 3.5, 4, 4.5, 5, 6, 7, 8, 9, 10, 15, 20, 25, 30, 40, 50, 60,
		}),
		numbers: []number[queue.Metrics]{
			counter(desc("controller_runtime_reconcile_errors_total", "Reconciles that failed, terminal errors and panics included.", owner),
				func(m queue.Metrics) float64 { return float64(m.Results.Failed + m.Results.GaveUp) }),
			counter(desc("controller_runtime_terminal_reconcile_errors_total", "Reconciles that failed with a terminal error, which is not retried.", owner),
				func(m queue.Metrics) float64 { return float64(m.Results.GaveUp) }),
			counter(desc("controller_runtime_reconcile_panics_total", "Reconciles that panicked.", owner),
				func(m queue.Metrics) float64 { return float64(m.Results.Panicked) }),
			counter(desc("controller_runtime_reconcile_timeouts_total", "Reconciles that took longer than their limit.", owner),
				func(m queue.Metrics) float64 { return float64(m.Results.TimedOut) }),
			gauge(desc("controller_runtime_max_concurrent_reconciles", "Reconciles that may run at the same time; 0 while the controller does not run.", owner),
				func(m queue.Metrics) float64 { return float64(m.Workers) }),
			gauge(desc("controller_runtime_active_workers", "Reconciles that run.", owner),
				func(m queue.Metrics) float64 { return float64(m.Running) }),
			counter(desc("kinform_controller_interrupted_total", "Reconciles that the end of the controller cut short.", owner),
				func(m queue.Metrics) float64 { return float64(m.Results.CutShort) }),
		},
	}
}

func (t *controllerTable) describe(out chan<- *prometheus.Desc) {
	out <- t.results
	out <- t.time
	out <- t.loops
	describe(out, t.numbers)
}

// shownController is a controller that was added.
type shownController struct {
	*controllerTable
	labels                                     labels
	succeeded, failed, requeued, requeuedAfter labels
}

func (t *controllerTable) of(name string) shownController {
	result := func(result string) labels { return pairs("controller", name, "result", result) }
	return shownController{t, pairs("controller", name), result("success"), result("error"), result("requeue"), result("requeue_after")}
}

func (c shownController) collect(e emitter, m queue.Metrics) {
	r := m.Results
	e.counter(c.results, r.Succeeded, c.succeeded)
	e.counter(c.results, r.Failed+r.GaveUp, c.failed)
	e.counter(c.results, r.AgainNow, c.requeued)
	e.counter(c.results, r.Again, c.requeuedAfter)
	collect(e, c.numbers, m, c.labels)
	if m.Timing {
		e.histogram(c.time, &m.Work, c.bounds, c.labels)
	}
}
