package metrics

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	bridge "go.opentelemetry.io/contrib/bridges/prometheus"
	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/with/kubernetes/core"
	kinformprom "github.com/kinform/kinform/with/prometheus"
)

// Every request becomes a span, and the bridge hands all metrics to OpenTelemetry.
func TestOpenTelemetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := fake.New(fake.Options{})
		if err := fake.Register(api, core.Pods, fake.Rules{}); err != nil {
			t.Fatal(err)
		}
		spans := tracetest.NewInMemoryExporter()
		traces := sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans))
		registry := prometheus.NewRegistry()
		m := kinformprom.New()
		if err := registry.Register(m); err != nil {
			t.Fatal(err)
		}
		server := client.Connection{URL: fake.URL, HTTP: api.Client()}

		traced := *server.HTTP // a copy, since others may use the client too
		traced.Transport = otelhttp.NewTransport(m.Transport(traced.Transport), otelhttp.WithTracerProvider(traces))
		server.HTTP = &traced
		// Give such a reader to an exporter for OTLP, as OpenTelemetry's documentation shows.
		reader := sdkmetric.NewManualReader(sdkmetric.WithProducer(bridge.NewMetricProducer(bridge.WithGatherer(registry))))

		provider := sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))
		pods, err := client.New(server, core.Pods, client.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := pods.Get(t.Context(), types.NamespacedName{Namespace: "prod", Name: "web"}, metav1.GetOptions{}); err == nil {
			t.Error("the pod exists")
		}
		if got := spans.GetSpans(); len(got) != 1 || !strings.Contains(got[0].Name, http.MethodGet) {
			t.Errorf("got %d spans: %+v", len(got), got)
		}
		var all metricdata.ResourceMetrics
		if err := reader.Collect(t.Context(), &all); err != nil {
			t.Fatal(err)
		}
		found := map[string]bool{}
		for _, scope := range all.ScopeMetrics {
			for _, metric := range scope.Metrics {
				found[metric.Name] = true
			}
		}
		if !found["rest_client_requests_total"] || !found["rest_client_request_duration_seconds"] {
			t.Errorf("got %v", found)
		}
		if err := provider.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
		if err := traces.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	})
}
