package kinformprom_test

import (
	"fmt"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/with/kubernetes/core"
	kinformprom "github.com/kinform/kinform/with/prometheus"
)

// hundred returns a collector of 100 informers with two handlers each.
func hundred(b *testing.B) *kinformprom.Metrics {
	m := kinformprom.New()
	for n := range 100 {
		pods := kinform.Open(client.Connection{URL: fake.URL}, core.Pods).AsInformer()
		for range 2 {
			must1(pods.AddHandler(informer.HandlerFunc[kinform.Key, *corev1.Pod](func(informer.Event[kinform.Key, *corev1.Pod]) {}), informer.HandlerOptions[*corev1.Pod]{}))(b)
		}
		must(b, m.AddInformer(fmt.Sprint("pods", n), pods))
	}
	return m
}

// BenchmarkCollect is our part of a scrape of 100 informers.
func BenchmarkCollect(b *testing.B) {
	m := hundred(b)
	b.ReportAllocs()
	series := 0
	for b.Loop() {
		out := make(chan prometheus.Metric, 10000)
		m.Collect(out)
		series = len(out)
	}
	b.ReportMetric(float64(series), "series")
}

// BenchmarkGather is the same with the registry's part: checks and sorting.
func BenchmarkGather(b *testing.B) {
	registry := prometheus.NewRegistry()
	must(b, registry.Register(hundred(b)))
	b.ReportAllocs()
	for b.Loop() {
		_, err := registry.Gather()
		must(b, err)
	}
}
