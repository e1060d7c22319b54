// Package metrics_test compares the metrics of with/prometheus with controller-runtime's.
package metrics_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"golang.org/x/time/rate"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"
	runtimecontroller "sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/controller"
	"github.com/kinform/kinform/queue"
	"github.com/kinform/kinform/with/kubernetes/core"
	kinformprom "github.com/kinform/kinform/with/prometheus"
)

// shape is what a query can rely on.
type shape struct {
	typ     dto.MetricType
	labels  string
	results string // values of the label result
	bounds  string // of a histogram
}

// shapes returns the shapes of the families with one of the prefixes.
func shapes(t *testing.T, from prometheus.Gatherer, prefixes ...string) map[string]shape {
	t.Helper()
	families, err := from.Gather()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]shape{}
	for _, f := range families {
		if !slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(f.GetName(), p) }) {
			continue
		}
		all[f.GetName()] = shapeOf(f)
	}
	return all
}

func shapeOf(f *dto.MetricFamily) shape {
	var names, results, bounds []string
	for n, m := range f.GetMetric() {
		for _, l := range m.GetLabel() {
			if n == 0 {
				names = append(names, l.GetName())
			}
			if l.GetName() == "result" {
				results = append(results, l.GetValue())
			}
		}
	}
	for _, b := range f.GetMetric()[0].GetHistogram().GetBucket() {
		bounds = append(bounds, fmt.Sprint(b.GetUpperBound())) // as in the label le
	}
	return shape{f.GetType(), strings.Join(names, ","), strings.Join(results, ","), strings.Join(bounds, ",")}
}

// reconciler reconciles one key and ends.
type reconciler struct{ called chan struct{} }

func (r reconciler) Reconcile(context.Context, string) (reconcile.Result, error) {
	close(r.called)
	return reconcile.Result{}, nil
}

// runtimeMetrics makes controller-runtime and client-go fill their metrics, which are global.
func runtimeMetrics(t *testing.T) prometheus.Gatherer {
	metrics.RegisterRESTClientMetrics(metrics.MetricRequestLatency, metrics.MetricRateLimiterLatency)
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	c, err := rest.RESTClientFor(&rest.Config{Host: server.URL, QPS: 1000, ContentConfig: rest.ContentConfig{
		GroupVersion: &schema.GroupVersion{Version: "v1"}, NegotiatedSerializer: scheme.Codecs.WithoutConversion(),
	}})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Get().AbsPath("/api").Do(t.Context()).Error(); err == nil {
		t.Error("no error")
	}
	c.Client.CloseIdleConnections()
	r := reconciler{make(chan struct{})}
	work, err := runtimecontroller.NewTypedUnmanaged("shapes", runtimecontroller.TypedOptions[string]{Reconciler: r, SkipNameValidation: new(true)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- work.Start(ctx) }()
	if err := work.Watch(source.TypedFunc[string](func(_ context.Context, q workqueue.TypedRateLimitingInterface[string]) error {
		q.Add("key")
		return nil
	})); err != nil {
		t.Error(err)
	}
	<-r.called
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	return metrics.Registry
}

// kinformMetrics does the same with ours.
func kinformMetrics(t *testing.T) prometheus.Gatherer {
	m := kinformprom.New()
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	pods, err := client.New(client.Connection{
		URL: server.URL, Limiter: rate.NewLimiter(1000, 1), HTTP: &http.Client{Transport: m.Transport(server.Client().Transport)},
	}, core.Pods, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := pods.Get(t.Context(), types.NamespacedName{Namespace: "a", Name: "b"}, metav1.GetOptions{}); err == nil {
		t.Error("no error")
	}
	reconcile := func(context.Context, string) error { return nil }
	work := controller.New("shapes", reconcile, controller.Options[string]{Queue: queue.Options[string]{Timing: true}})
	registry := prometheus.NewRegistry()
	if err := errors.Join(m.AddController("shapes", work), m.AddElector("lease", leads{}), registry.Register(m)); err != nil {
		t.Fatal(err)
	}
	return registry
}

type leads struct{}

func (leads) Leads() bool { return true }

// TestMetricsLookLikeControllerRuntimes compares names, types, labels, results, and the bounds of
// histograms. Queries for controller-runtime's metrics then find ours.
func TestMetricsLookLikeControllerRuntimes(t *testing.T) {
	prefixes := []string{"workqueue_", "controller_runtime_", "rest_client_", "leader_election_"}
	theirs, ours := shapes(t, runtimeMetrics(t), prefixes...), shapes(t, kinformMetrics(t), prefixes...)
	left := map[string]string{
		"controller_runtime_webhook_": "there are no webhooks",
		"controller_runtime_conversi": "there are no webhooks",
	}
	compared, histograms := 0, 0
	for name, want := range theirs {
		if left[name[:min(len(name), 27)]] != "" {
			continue
		}
		if compared++; ours[name] != want {
			t.Errorf("%s is %+v, want %+v", name, ours[name], want)
		}
		if want.bounds != "" {
			histograms++
		}
	}
	// This one has no series before the first election.
	theirs["leader_election_master_status"] = shape{typ: dto.MetricType_GAUGE, labels: "name"}
	for name, got := range ours {
		if theirs[name] != got {
			t.Errorf("%s is %+v, controller-runtime has %+v", name, got, theirs[name])
		}
	}
	if compared < 18 || histograms < 5 {
		t.Errorf("only %d were compared, and %d histograms: %v", compared, histograms, slices.Sorted(maps.Keys(theirs)))
	}
}
