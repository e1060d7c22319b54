package kinformprom

import (
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kinform/kinform/internal/limited"
)

const (
	// mostHosts is the number of hosts that have their own series: servers can redirect to any
	// host.
	mostHosts = 16
	// other is the label of all values that a program or a server may make up.
	other = "other"
	// noAnswer is the label code of a request without an answer: client-go's.
	noAnswer = "<error>"
)

// requests are the metrics of requests, as client-go has them.
type requests struct {
	total          *prometheus.CounterVec
	duration, wait *prometheus.HistogramVec

	mu    sync.RWMutex
	hosts []string
}

func newRequests() *requests {
	histogram := func(name, help string) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: name, Help: help,
			Buckets:                         []float64{0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60},
			NativeHistogramBucketFactor:     1.1,
			NativeHistogramMaxBucketNumber:  100,
			NativeHistogramMinResetDuration: time.Hour,
		}, []string{"verb", "host"})
	}
	return &requests{
		total: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "rest_client_requests_total", Help: "Requests by status code, method and host.",
		}, []string{"code", "method", "host"}),
		duration: histogram("rest_client_request_duration_seconds", "Time until the header of the answer came."),
		wait:     histogram("rest_client_rate_limiter_duration_seconds", "How long requests have waited for the client's own rate limit."),
	}
}

func (r *requests) describe(out chan<- *prometheus.Desc) {
	r.total.Describe(out)
	r.duration.Describe(out)
	r.wait.Describe(out)
}

func (r *requests) collect(out chan<- prometheus.Metric) {
	r.total.Collect(out)
	r.duration.Collect(out)
	r.wait.Collect(out)
}

// Transport returns a transport that counts and times the requests which it passes to base, nil for
// http.DefaultTransport. Put it into the http.Client of client.Connection.HTTP, around the
// connection's own transport. The time of a request ends with the header of its answer, so a
// watch's time does not last. Several transports of one Metrics count together; the label host
// tells servers apart.
func (m *Metrics) Transport(base http.RoundTripper) http.RoundTripper {
	if base == nil {
		base = http.DefaultTransport
	}
	return &transport{base, m.requests}
}

type transport struct {
	base http.RoundTripper
	*requests
}

// WrappedRoundTripper returns the transport below, so that the client can make it use new
// connections.
func (t *transport) WrappedRoundTripper() http.RoundTripper { return t.base }

// CloseIdleConnections passes http.Client.CloseIdleConnections on.
func (t *transport) CloseIdleConnections() {
	if c, ok := t.base.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	began := time.Now()
	resp, err := t.base.RoundTrip(req)
	took := time.Since(began)
	method, host := methodOf(req), t.host(req)
	if wait, ok := limited.Wait(req.Context()); ok {
		t.wait.WithLabelValues(method, host).Observe(wait.Seconds())
	}
	t.duration.WithLabelValues(method, host).Observe(took.Seconds())
	t.total.WithLabelValues(codeOf(resp, err), method, host).Inc()
	return resp, err
}

// codeOf returns the label of an answer.
func codeOf(resp *http.Response, err error) string {
	switch {
	case err != nil || resp == nil:
		return noAnswer
	case http.StatusText(resp.StatusCode) == "":
		return other
	}
	return strconv.Itoa(resp.StatusCode)
}

// methodOf returns the label of a request's method.
func methodOf(req *http.Request) string {
	switch req.Method {
	case "":
		return http.MethodGet
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
		return req.Method
	}
	return other
}

// host returns the label of a request's host.
func (r *requests) host(req *http.Request) string {
	if req.URL == nil {
		return other
	}
	host := valid(req.URL.Host)
	r.mu.RLock()
	known := slices.Contains(r.hosts, host)
	r.mu.RUnlock()
	if known {
		return host
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case slices.Contains(r.hosts, host):
		return host
	case len(r.hosts) < mostHosts:
		r.hosts = append(r.hosts, host)
		return host
	}
	return other
}
