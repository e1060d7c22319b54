package kinformprom

import (
	"math"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/kinform/kinform/queue"
)

// labels are the labels of a series, in the order of their names. They are made once for each part,
// because a scrape spends most of its time on them otherwise.
type labels = []*dto.LabelPair

// pairs returns labels from names and values in turn. The names must be in order.
func pairs(namesAndValues ...string) labels {
	var all labels
	for n := 0; n+1 < len(namesAndValues); n += 2 {
		value := valid(namesAndValues[n+1])
		all = append(all, &dto.LabelPair{Name: &namesAndValues[n], Value: &value})
	}
	return all
}

// sample is one series with its value. It is a prometheus.Metric.
type sample struct {
	desc    *prometheus.Desc
	labels  labels
	typ     dto.MetricType
	value   float64 // or the sum
	count   uint64  // of a summary or a histogram
	buckets []*dto.Bucket
}

func (s *sample) Desc() *prometheus.Desc { return s.desc }

func (s *sample) Write(out *dto.Metric) error {
	out.Label = s.labels
	switch s.typ {
	case dto.MetricType_COUNTER:
		out.Counter = &dto.Counter{Value: &s.value}
	case dto.MetricType_GAUGE:
		out.Gauge = &dto.Gauge{Value: &s.value}
	case dto.MetricType_SUMMARY:
		out.Summary = &dto.Summary{SampleSum: &s.value, SampleCount: &s.count}
	case dto.MetricType_HISTOGRAM:
		out.Histogram = &dto.Histogram{SampleSum: &s.value, SampleCount: &s.count, Bucket: s.buckets}
	}
	return nil
}

// emitter sends metrics to a registry.
type emitter struct {
	out chan<- prometheus.Metric
	now time.Time
}

func (e emitter) gauge(d *prometheus.Desc, value float64, l labels) {
	e.out <- &sample{desc: d, labels: l, typ: dto.MetricType_GAUGE, value: value}
}

func (e emitter) counter(d *prometheus.Desc, value uint64, l labels) {
	e.out <- &sample{desc: d, labels: l, typ: dto.MetricType_COUNTER, value: float64(value)}
}

// summary sends a summary without quantiles: a sum and the number of its terms.
func (e emitter) summary(d *prometheus.Desc, n uint64, sum float64, l labels) {
	e.out <- &sample{desc: d, labels: l, typ: dto.MetricType_SUMMARY, value: sum, count: n}
}

// sums sends a histogram without buckets.
func (e emitter) sums(d *prometheus.Desc, n uint64, sum float64, l labels) {
	e.out <- &sample{desc: d, labels: l, typ: dto.MetricType_HISTOGRAM, value: sum, count: n}
}

// histogram sends h with the given bounds.
func (e emitter) histogram(d *prometheus.Desc, h *queue.Histogram, to []bound, l labels) {
	s := &sample{desc: d, labels: l, typ: dto.MetricType_HISTOGRAM, value: h.Sum.Seconds(), buckets: make([]*dto.Bucket, 0, len(to))}
	for i, c := range h.Counts {
		s.count += c
		if next := len(s.buckets); next < len(to) && to[next].last == i {
			n := s.count
			s.buckets = append(s.buckets, &dto.Bucket{CumulativeCount: &n, UpperBound: &to[next].seconds})
		}
	}
	e.out <- s
}

// bound is one of a histogram that is shown. last is the place of the last bucket of a
// queue.Histogram below it.
type bound struct {
	seconds float64
	last    int
}

// boundsOf returns bounds in seconds. All of them must be bounds of queue.Histogram, to the
// nanosecond.
func boundsOf(seconds []float64) []bound {
	var h queue.Histogram
	all, i := make([]bound, 0, len(seconds)), 0
	for _, s := range seconds {
		for h.Bound(i) < time.Duration(math.Round(s*1e9)) {
			i++
		}
		all = append(all, bound{s, i})
	}
	return all
}

// number is a metric that shows one number of an S.
type number[S any] struct {
	desc *prometheus.Desc
	typ  dto.MetricType
	of   func(S) float64
}

func gauge[S any](d *prometheus.Desc, of func(S) float64) number[S] {
	return number[S]{d, dto.MetricType_GAUGE, of}
}

func counter[S any](d *prometheus.Desc, of func(S) float64) number[S] {
	return number[S]{d, dto.MetricType_COUNTER, of}
}

// collect sends the numbers of s.
func collect[S any](e emitter, all []number[S], s S, l labels) {
	for _, n := range all {
		e.out <- &sample{desc: n.desc, labels: l, typ: n.typ, value: n.of(s)}
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
