package kinformprom

import (
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kinform/kinform/queue"
)

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(out chan<- *prometheus.Desc) {
	m.caches.describe(out)
	describe(out, m.clients)
	m.queues.describe(out)
	m.controllers.describe(out)
	out <- m.leads
	m.requests.describe(out)
}

// Collect implements prometheus.Collector. It reads the numbers of each part, one part after the other, and holds no lock
// meanwhile. Of a part it holds what its Stats, Handlers and Metrics hold, for as long as the copy of a few numbers
// takes: an informer's lock, for which the commit of a batch waits at most that long, and a queue's. Readers of a cache need
// neither. It waits for a commit that is under way.
//
// A part that panics is reported to the registry, which then fails the scrape or leaves the part out, as its
// promhttp.HandlerOpts say.
func (m *Metrics) Collect(out chan<- prometheus.Metric) {
	m.mu.Lock()
	parts := m.parts
	m.mu.Unlock()
	e := emitter{out: out, now: time.Now()}
	for _, p := range parts {
		e.part(p)
	}
	m.requests.collect(out)
}

// emitter sends metrics to a registry.
type emitter struct {
	out chan<- prometheus.Metric
	now time.Time
}

// part collects a part, whatever it does.
func (e emitter) part(p part) {
	defer func() {
		if r := recover(); r != nil {
			e.out <- prometheus.NewInvalidMetric(p.desc, fmt.Errorf("%s %q panicked: %v", p.places[0].sort, p.places[0].name, r))
		}
	}()
	p.collect(e)
}

func (e emitter) gauge(d *prometheus.Desc, value float64, labels ...string) {
	e.send(d)(prometheus.NewConstMetric(d, prometheus.GaugeValue, value, labels...))
}

func (e emitter) counter(d *prometheus.Desc, value float64, labels ...string) {
	e.send(d)(prometheus.NewConstMetric(d, prometheus.CounterValue, value, labels...))
}

// summary sends a summary without quantiles: a sum and the number of what it sums up.
func (e emitter) summary(d *prometheus.Desc, n uint64, sum float64, labels ...string) {
	e.send(d)(prometheus.NewConstSummary(d, n, sum, nil, labels...))
}

// histogram sends the buckets of h from one to another, each step-th. The last one is at most the one before infinity.
func (e emitter) histogram(d *prometheus.Desc, h *queue.Histogram, from, to, step int, labels ...string) {
	buckets, n := make(map[float64]uint64, (to-from)/step+1), uint64(0)
	for i, c := range h.Counts {
		n += c
		if i >= from && i <= to && (i-from)%step == 0 {
			buckets[h.Bound(i).Seconds()] = n
		}
	}
	e.send(d)(prometheus.NewConstHistogram(d, n, h.Sum.Seconds(), buckets, labels...))
}

func (e emitter) send(d *prometheus.Desc) func(prometheus.Metric, error) {
	return func(m prometheus.Metric, err error) {
		if err != nil {
			m = prometheus.NewInvalidMetric(d, err)
		}
		e.out <- m
	}
}

// number is a metric that shows one number of an S.
type number[S any] struct {
	desc *prometheus.Desc
	typ  prometheus.ValueType
	of   func(S) float64
}

func gauge[S any](d *prometheus.Desc, of func(S) float64) number[S] {
	return number[S]{d, prometheus.GaugeValue, of}
}

func counter[S any](d *prometheus.Desc, of func(S) float64) number[S] {
	return number[S]{d, prometheus.CounterValue, of}
}

// collect sends the numbers of s.
func collect[S any](e emitter, all []number[S], s S, labels ...string) {
	for _, n := range all {
		e.send(n.desc)(prometheus.NewConstMetric(n.desc, n.typ, n.of(s), labels...))
	}
}

func describe[S any](out chan<- *prometheus.Desc, all []number[S]) {
	for _, n := range all {
		out <- n.desc
	}
}

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, labels, nil)
}
