package controllerruntime

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

// registered is a workqueue.MetricsProvider of the metrics that controller-runtime registers for
// its own queues. They have no exported names, so it asks the registry for them. A metric that is
// not there, or has other labels, is left out.
type registered struct{ registry metrics.RegistererGatherer }

// NewDepthOfPriority implements clientgo.DepthByPriority.
func (r registered) NewDepthOfPriority(name string, priority int) workqueue.GaugeMetric {
	return r.gauge(metrics.DepthKey, labelsOf(name, prometheus.Labels{"priority": strconv.Itoa(priority)}))
}

// NewDepthMetric implements workqueue.MetricsProvider.
func (r registered) NewDepthMetric(name string) workqueue.GaugeMetric {
	return r.NewDepthOfPriority(name, 0)
}

// NewAddsMetric implements workqueue.MetricsProvider.
func (r registered) NewAddsMetric(name string) workqueue.CounterMetric {
	return r.counter(metrics.AddsKey, labelsOf(name, nil))
}

// NewRetriesMetric implements workqueue.MetricsProvider.
func (r registered) NewRetriesMetric(name string) workqueue.CounterMetric {
	return r.counter(metrics.RetriesKey, labelsOf(name, nil))
}

// NewLatencyMetric implements workqueue.MetricsProvider.
func (r registered) NewLatencyMetric(name string) workqueue.HistogramMetric {
	return r.histogram(metrics.QueueLatencyKey, labelsOf(name, nil))
}

// NewWorkDurationMetric implements workqueue.MetricsProvider.
func (r registered) NewWorkDurationMetric(name string) workqueue.HistogramMetric {
	return r.histogram(metrics.WorkDurationKey, labelsOf(name, nil))
}

// NewUnfinishedWorkSecondsMetric implements workqueue.MetricsProvider.
func (r registered) NewUnfinishedWorkSecondsMetric(name string) workqueue.SettableGaugeMetric {
	return r.gauge(metrics.UnfinishedWorkKey, labelsOf(name, nil))
}

// NewLongestRunningProcessorSecondsMetric implements workqueue.MetricsProvider.
func (r registered) NewLongestRunningProcessorSecondsMetric(name string) workqueue.SettableGaugeMetric {
	return r.gauge(metrics.LongestRunningProcessorKey, labelsOf(name, nil))
}

func labelsOf(name string, more prometheus.Labels) prometheus.Labels {
	labels := prometheus.Labels{"name": name, "controller": name}
	for label, value := range more {
		labels[label] = value
	}
	return labels
}

func (r registered) gauge(key string, labels prometheus.Labels) prometheus.Gauge {
	if vec, ok := r.find(key).(*prometheus.GaugeVec); ok {
		if gauge, err := vec.GetMetricWith(labels); err == nil {
			return gauge
		}
	}
	return prometheus.NewGauge(prometheus.GaugeOpts{}) // not registered
}

func (r registered) counter(key string, labels prometheus.Labels) prometheus.Counter {
	if vec, ok := r.find(key).(*prometheus.CounterVec); ok {
		if counter, err := vec.GetMetricWith(labels); err == nil {
			return counter
		}
	}
	return prometheus.NewCounter(prometheus.CounterOpts{})
}

func (r registered) histogram(key string, labels prometheus.Labels) prometheus.Observer {
	if vec, ok := r.find(key).(*prometheus.HistogramVec); ok {
		if histogram, err := vec.GetMetricWith(labels); err == nil {
			return histogram
		}
	}
	return prometheus.NewHistogram(prometheus.HistogramOpts{})
}

// find returns the registered metric of a key, nil if there is none. A registry names the one that
// is there when somebody registers a collector with the same description.
func (r registered) find(key string) prometheus.Collector {
	all, ok := r.registry.(prometheus.Collector)
	if !ok {
		return nil
	}
	descs := make(chan *prometheus.Desc)
	go func() { all.Describe(descs); close(descs) }()
	var found *prometheus.Desc
	begin := fmt.Sprintf("Desc{fqName: %q,", prometheus.BuildFQName("", metrics.WorkQueueSubsystem, key))
	for desc := range descs {
		if strings.HasPrefix(desc.String(), begin) {
			found = desc
		}
	}
	var there prometheus.AlreadyRegisteredError
	if found != nil && errors.As(r.registry.Register(described{found}), &there) {
		return there.ExistingCollector
	}
	return nil
}

// described is a collector with one description and no metrics.
type described struct{ desc *prometheus.Desc }

func (d described) Describe(ch chan<- *prometheus.Desc) { ch <- d.desc }
func (d described) Collect(chan<- prometheus.Metric)    {}
