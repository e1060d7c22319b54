package clientgo

import (
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"

	"github.com/kinform/kinform/queue"
)

// DepthByPriority is a workqueue.MetricsProvider that has a depth for each priority. [QueueMetrics]
// then uses that in place of NewDepthMetric.
type DepthByPriority interface {
	NewDepthOfPriority(name string, priority int) workqueue.GaugeMetric
}

// metricsPeriod is the time between two reports of a queue that nobody calls; client-go has the
// same one.
const metricsPeriod = 500 * time.Millisecond

// QueueMetrics reports the numbers of q to a metrics provider of client-go: twice a second, and at
// each call of the function that it returns. A call costs one read of queue.Metrics and one call of
// the provider for each thing that happened since the last one. It reports until q is shut down and
// no key runs. The provider must not call the function.
//
// The name is queue.Options.Name; without one there are no metrics, as in client-go. The durations
// need queue.Options.Timing. The durations of several keys that are reported together come as
// values of the same bucket of queue.Histogram with the right sum.
func QueueMetrics[K comparable](q *queue.Queue[K], provider workqueue.MetricsProvider) (report func()) {
	name := q.Name()
	if name == "" {
		return func() {}
	}
	m := &queueMetrics{
		read: q.Metrics, shut: q.ShuttingDown, depths: map[int]workqueue.GaugeMetric{},
		adds: provider.NewAddsMetric(name), retries: provider.NewRetriesMetric(name),
		latency: provider.NewLatencyMetric(name), work: provider.NewWorkDurationMetric(name),
		unfinished: provider.NewUnfinishedWorkSecondsMetric(name), longest: provider.NewLongestRunningProcessorSecondsMetric(name),
	}
	if by, ok := provider.(DepthByPriority); ok {
		m.newDepth = func(priority int) workqueue.GaugeMetric { return by.NewDepthOfPriority(name, priority) }
	} else {
		all := provider.NewDepthMetric(name)
		m.newDepth = func(int) workqueue.GaugeMetric { return all }
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.timer = time.AfterFunc(metricsPeriod, m.tick)
	return m.report
}

type queueMetrics struct {
	// Set by QueueMetrics and never changed.
	read                func() queue.Metrics
	shut                func() bool
	newDepth            func(priority int) workqueue.GaugeMetric
	adds, retries       workqueue.CounterMetric
	latency, work       workqueue.HistogramMetric
	unfinished, longest workqueue.SettableGaugeMetric

	mu     sync.Mutex
	depths map[int]workqueue.GaugeMetric // by priority
	last   queue.Metrics
	timer  *time.Timer
}

// tick runs in the timer's goroutine.
func (m *queueMetrics) tick() {
	over := m.shut()
	m.report()
	m.mu.Lock()
	defer m.mu.Unlock()
	if !over || m.last.Running > 0 {
		m.timer.Reset(metricsPeriod)
	}
}

func (m *queueMetrics) report() {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.read()
	for priority := range m.last.DepthByPriority {
		m.setDepth(priority, now)
	}
	for priority := range now.DepthByPriority {
		if _, again := m.last.DepthByPriority[priority]; !again {
			m.setDepth(priority, now)
		}
	}
	for range now.Adds - m.last.Adds {
		m.adds.Inc()
	}
	for range now.Retries - m.last.Retries {
		m.retries.Inc()
	}
	observe(m.latency, &m.last.Latency, &now.Latency)
	observe(m.work, &m.last.Work, &now.Work)
	if now.Timing {
		m.unfinished.Set(now.Unfinished.Seconds())
		m.longest.Set(now.LongestRunning.Seconds())
	}
	m.last = now
}

// setDepth moves the depth of a priority. Called with mu held.
func (m *queueMetrics) setDepth(priority int, now queue.Metrics) {
	gauge := m.depths[priority]
	if gauge == nil {
		gauge = m.newDepth(priority)
		m.depths[priority] = gauge
	}
	was, is := m.last.DepthByPriority[priority], now.DepthByPriority[priority]
	for ; was < is; was++ {
		gauge.Inc()
	}
	for ; was > is; was-- {
		gauge.Dec()
	}
}

// observe passes on the durations that a histogram has counted since last. Each of them comes as a
// value of its bucket: from the bucket's upper bound, all go down by the same part of the bucket,
// so that the sum is right.
func observe(to workqueue.HistogramMetric, last, now *queue.Histogram) {
	sum, uppers, widths := (now.Sum - last.Sum).Seconds(), 0.0, 0.0
	for i, n := range now.Counts {
		n := float64(n - last.Counts[i])
		lower, upper := bucket(now, i, sum)
		uppers += n * upper
		widths += n * (upper - lower)
	}
	if widths == 0 {
		return
	}
	down := min(max(0, (uppers-sum)/widths), 1)
	for i, n := range now.Counts {
		for range n - last.Counts[i] {
			lower, upper := bucket(now, i, sum)
			to.Observe(upper - down*(upper-lower))
		}
	}
}

// bucket returns the bounds of a bucket in seconds. The last bucket has no upper one, but no
// duration is longer than their sum.
func bucket(h *queue.Histogram, i int, sum float64) (lower, upper float64) {
	if i > 0 {
		lower = h.Bound(i - 1).Seconds()
	}
	if i == len(h.Counts)-1 {
		return lower, max(lower, sum)
	}
	return lower, h.Bound(i).Seconds()
}
