package kinformprom_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	utilnet "k8s.io/apimachinery/pkg/util/net"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/controller"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/queue"
	"github.com/kinform/kinform/reflector"
	"github.com/kinform/kinform/with/kubernetes/core"
	kinformprom "github.com/kinform/kinform/with/prometheus"
)

// stub is a part of any sort whose numbers a test makes up.
type stub struct {
	stats    informer.Stats
	handlers []informer.HandlerStats
	queue    queue.Metrics
}

func (s *stub) Resource() string { return "deployments.apps in namespace prod" }
func (*stub) Bytes() uint64      { return 1 }

func (s *stub) Stats() informer.Stats             { return s.stats }
func (s *stub) Handlers() []informer.HandlerStats { return s.handlers }
func (s *stub) Metrics() queue.Metrics            { return s.queue }

// gather returns what m shows: the value of each series by its text, and the error of the registry.
func gather(t testing.TB, m *kinformprom.Metrics) (map[string]string, error) {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	must(t, registry.Register(m))
	families, err := registry.Gather()
	values := map[string]string{}
	for line := range strings.SplitSeq(text(t, families), "\n") {
		if name, value, ok := strings.Cut(line, "} "); ok && !strings.HasPrefix(line, "#") {
			values[name+"}"] = value
		}
	}
	return values, err
}

// expect compares some values; an empty one means that there is no such series.
func expect(t testing.TB, m *kinformprom.Metrics, want map[string]string) {
	t.Helper()
	got, err := gather(t, m)
	must(t, err)
	for series, value := range want {
		if got[series] != value {
			t.Errorf("%s is %q, want %q", series, got[series], value)
		}
	}
}

// TestLint holds our own names to Prometheus' rules. The others' names break none of them either.
func TestLint(t *testing.T) {
	problems, err := promlint.NewWithMetricFamilies(play(t)).Lint()
	must(t, err)
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

// TestBadNames adds what cannot be added.
func TestBadNames(t *testing.T) {
	m := kinformprom.New()
	part := &stub{}
	must(t, m.AddInformer("pods", part))
	must(t, m.AddQueue("pods", part))
	for _, c := range []struct {
		name string
		err  error
		want error
		text string
	}{
		{"informer twice", m.AddInformer("pods", part), kinformprom.ErrDuplicate, `kinformprom: informer "pods": the name is taken: give each its own name`},
		{"controller with the name of a queue", m.AddController("pods", part), kinformprom.ErrDuplicate, `kinformprom: queue "pods": the name is taken: give each its own name`},
		{"no name", m.AddQueue("", part), kinformprom.ErrUnnamed, `kinformprom: queue "": it has no name: give it one`},
		{"nil", m.AddElector("pods", nil), kinformprom.ErrNoPart, `kinformprom: elector "pods": it is nil: make it before you add it`},
		{"nil pointer", m.AddInformer("nodes", (*kinform.Informer[*corev1.Pod])(nil)), kinformprom.ErrNoPart, `kinformprom: informer "nodes": it is nil: make it before you add it`},
		{"nil handle", m.AddHandle("nodes", (*kinform.Handle[*corev1.Pod])(nil)), kinformprom.ErrNoPart, `kinformprom: handle "nodes": it is nil: make it before you add it`},
		{"nil client", m.AddClient("nodes", nil), kinformprom.ErrNoPart, `kinformprom: client "nodes": it is nil: make it before you add it`},
		{"nil controller", m.AddController("nodes", (*controller.Controller[kinform.Key])(nil)), kinformprom.ErrNoPart, `kinformprom: controller "nodes": it is nil: make it before you add it`},
		{"nil queue", m.AddQueue("nodes", nil), kinformprom.ErrNoPart, `kinformprom: queue "nodes": it is nil: make it before you add it`},
	} {
		if !errors.Is(c.err, c.want) || c.err.Error() != c.text {
			t.Errorf("%s: %v", c.name, c.err)
		}
	}
	// Names that differ as bytes and not as text would be one series.
	must(t, m.AddInformer("a\xff", part))
	if err := m.AddInformer("a\xfe", part); !errors.Is(err, kinformprom.ErrDuplicate) {
		t.Errorf("two names that are one label: %v", err)
	}
	if _, err := gather(t, m); err != nil {
		t.Error(err)
	}
	registry := prometheus.NewRegistry()
	must(t, registry.Register(m))
	if err := registry.Register(kinformprom.New()); err == nil {
		t.Error("two collectors are in one registry")
	}
}

// TestRemove removes a handle, whose names are then free.
func TestRemove(t *testing.T) {
	s := newScene(t)
	if !s.metrics.RemoveInformer("pods") || s.metrics.RemoveInformer("pods") || s.metrics.RemoveInformer("side") {
		t.Error("wrong results")
	}
	got, err := gather(t, s.metrics)
	must(t, err)
	for series := range got {
		if strings.Contains(series, `"pods"`) {
			t.Errorf("%s is left", series)
		}
	}
	must(t, s.metrics.AddClient("pods", must1(client.New(client.Connection{URL: fake.URL}, core.Pods, client.Options{}))(t)))
	must(t, s.metrics.AddInformer("pods", s.pods.AsInformer()))
}

func must1[T any](value T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		must(t, err)
		return value
	}
}

// TestEveryNumber sets each number of an informer and of a queue alone, and looks for a series that
// changes. So a number that is added to these types needs a metric, or a reason here.
func TestEveryNumber(t *testing.T) {
	left := map[string]string{
		"Stats.LastEvent": "an age", "Stats.LastRelists": "the newest of Relists", "Stats.Failing": "an age", "Stats.Namespaces": "Stats has their sums", "Polling.Since": "Polling.Every is there while it holds", "Stats.Lists": "", // tested below
		"Stats.LastError": "a text, and Failures counts them", "Stats.LastErrorAt": "the time of it", "Stats.ListingSince": "Listed grows", "Stats.QuietSince": "Listed does not grow",
		"Stats.Events": "", "Metrics.Name": "the name is given when the queue is added", "Metrics.DepthByPriority": "tested below",
		"Metrics.Depth": "the sum of the priorities", "Metrics.Timing": "says that others are there",
	}
	numbers := func(of reflect.Value, check func(name string)) {
		var walk func(reflect.Value, string)
		walk = func(v reflect.Value, name string) {
			switch {
			case left[name] != "" && v.Kind() != reflect.Uint64:
			case v.Kind() == reflect.Struct:
				for n := range v.NumField() {
					walk(v.Field(n), v.Type().Name()+"."+v.Type().Field(n).Name)
				}
			case v.CanInt():
				v.SetInt(7e9)
				check(name)
				v.SetInt(0)
			case v.CanUint():
				v.SetUint(7)
				check(name)
				v.SetUint(0)
			case v.Kind() == reflect.String:
				v.SetString("7")
				check(name)
				v.SetString("")
			case v.Kind() == reflect.Array:
				v.Index(20).SetUint(7)
				check(name)
				v.Index(20).SetUint(0)
			default:
				t.Errorf("%s is a %v", name, v.Type())
			}
		}
		walk(of, "")
	}
	part := &stub{queue: queue.Metrics{Timing: true}}
	m := kinformprom.New()
	must(t, errors.Join(m.AddInformer("i", part), m.AddController("c", part)))
	before, err := gather(t, m)
	must(t, err)
	check := func(name string) {
		if now, err := gather(t, m); err != nil || left[name] == "" && reflect.DeepEqual(before, now) {
			t.Errorf("no metric shows %s, %v", name, err)
		}
	}
	numbers(reflect.ValueOf(&part.stats).Elem(), check)
	numbers(reflect.ValueOf(&part.queue).Elem(), check)
}

// TestAges shows when the last event came, and for how long requests have been failing and a handler has not returned.
func TestAges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		part := &stub{handlers: []informer.HandlerStats{{Name: "h"}, {Name: "h"}}}
		m := kinformprom.New()
		must(t, m.AddInformer("i", part))
		expect(t, m, map[string]string{
			`kinform_informer_handler_stuck_seconds{handler="h",name="i"}`: "0",
			`kinform_informer_last_event_timestamp_seconds{name="i"}`:      "", `kinform_informer_failing_seconds{name="i"}`: "0",
			`reflector_last_resource_version{name="i"}`: "",
		})
		part.stats.LastEvent = time.Unix(12, 5e8)
		part.stats.Failing = reflector.Failing{Since: time.Now().Add(-time.Minute), Err: errors.New("away")}
		part.handlers[0].StuckSince = time.Now().Add(-time.Minute)
		part.stats.SeenVersion, part.stats.ResourceVersion = "1234567890123456789", "not a number"
		expect(t, m, map[string]string{
			`kinform_informer_handler_stuck_seconds{handler="h",name="i"}`: "60",
			`kinform_informer_last_event_timestamp_seconds{name="i"}`:      "12.5", `kinform_informer_failing_seconds{name="i"}`: "60",
			`reflector_last_resource_version{name="i"}`:                                                "5.67890123456789e+14",
			`informer_store_resource_version{group="apps",name="i",resource="deployments",version=""}`: "",
			`informer_queued_items{group="apps",name="i",resource="deployments",version=""}`:           "0",
		})
	})
}

// TestLimits makes more handlers, priorities and hosts than have their own series.
func TestLimits(t *testing.T) {
	part := &stub{queue: queue.Metrics{DepthByPriority: map[int]int{}}}
	for n := range 200 {
		part.handlers = append(part.handlers,
			informer.HandlerStats{Name: fmt.Sprint("h", n), Lag: uint64(n)}, informer.HandlerStats{Name: fmt.Sprint("handler ", n), Lag: 500, Synced: true},
			informer.HandlerStats{Name: "\xff", Lag: 1, Synced: true}, informer.HandlerStats{Name: "\xff", Lag: 2, Synced: true})
		part.queue.DepthByPriority[n] = 1
	}
	m := kinformprom.New()
	must(t, errors.Join(m.AddInformer("i", part), m.AddQueue("q", part)))
	transport := m.Transport(answer(func(*http.Request) (*http.Response, error) { return nil, errors.New("away") }))
	for n := range 200 {
		_, err := transport.RoundTrip(must1(http.NewRequest(fmt.Sprint("M", n), fmt.Sprint("http://h", n), nil))(t))
		if err == nil {
			t.Error("no error")
		}
	}
	for range 2 {
		expect(t, m, map[string]string{
			`kinform_informer_handler_lag_events{handler="unnamed",name="i"}`: "500", `kinform_informer_handler_lag_events{handler="other",name="i"}`: "199",
			`kinform_informer_handler_lag_events{handler="�",name="i"}`: "2", `kinform_informer_handlers{name="i"}`: "800", `kinform_informer_unsynced_handlers{name="i"}`: "200",
			`workqueue_depth{controller="q",name="q",priority="exceeded_cardinality_limit"}`: "175",
			`rest_client_requests_total{code="<error>",host="h0",method="other"}`:            "1",
			`rest_client_requests_total{code="<error>",host="other",method="other"}`:         "184",
		})
	}
	got, err := gather(t, m)
	must(t, err)
	if len(got) > 500 {
		t.Errorf("%d series", len(got))
	}
	part.queue.DepthByPriority = nil
	expect(t, m, map[string]string{`workqueue_depth{controller="q",name="q",priority="0"}`: "0"})
}

type answer func(*http.Request) (*http.Response, error)

func (f answer) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestTransport counts answers, and lets the client see the transport below.
func TestTransport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		code := 200
		base := answer(func(*http.Request) (*http.Response, error) {
			time.Sleep(time.Second)
			return &http.Response{StatusCode: code}, nil
		})
		m := kinformprom.New()
		transport := m.Transport(base)
		for _, code = range []int{200, 200, 409, 999, 123} {
			_, err := transport.RoundTrip(must1(http.NewRequest("", "http://h:80/path", nil))(t))
			must(t, err)
		}
		if _, err := transport.RoundTrip(&http.Request{}); err != nil {
			t.Error(err)
		}
		expect(t, m, map[string]string{
			`rest_client_requests_total{code="200",host="h:80",method="GET"}`: "2", `rest_client_requests_total{code="409",host="h:80",method="GET"}`: "1",
			`rest_client_requests_total{code="other",host="h:80",method="GET"}`: "2", `rest_client_request_duration_seconds_sum{host="h:80",verb="GET"}`: "5",
			`rest_client_rate_limiter_duration_seconds_count{host="h:80",verb="GET"}`: "", `rest_client_requests_total{code="other",host="other",method="GET"}`: "1",
		})
		if below := transport.(utilnet.RoundTripperWrapper).WrappedRoundTripper(); reflect.ValueOf(below).Pointer() != reflect.ValueOf(base).Pointer() {
			t.Error("another transport is below")
		}
		if below := m.Transport(nil).(utilnet.RoundTripperWrapper).WrappedRoundTripper(); below != http.DefaultTransport {
			t.Error("nil is not the default transport")
		}
	})
}

// closing counts the calls of CloseIdleConnections.
type closing struct {
	answer
	calls int
}

func (c *closing) CloseIdleConnections() { c.calls++ }

func TestCloseIdleConnections(t *testing.T) {
	base := &closing{}
	(&http.Client{Transport: kinformprom.New().Transport(base)}).CloseIdleConnections()
	(&http.Client{Transport: kinformprom.New().Transport(answer(nil))}).CloseIdleConnections()
	if base.calls != 1 {
		t.Errorf("%d calls", base.calls)
	}
}

// panicking is a part of somebody else that panics.
type panicking struct{}

func (panicking) Metrics() queue.Metrics { panic("ouch") }

// A part that panics is reported, and the others are there.
func TestPanic(t *testing.T) {
	m := kinformprom.New()
	must(t, errors.Join(m.AddQueue("bad", panicking{}), m.AddQueue("good", &stub{})))
	got, err := gather(t, m)
	if err == nil || !strings.Contains(err.Error(), `queue "bad" panicked: ouch`) || got[`workqueue_adds_total{controller="good",name="good"}`] != "0" {
		t.Errorf("%v, %d series", err, len(got))
	}
}

// Informers that never ran, that run and that have stopped can be scraped at any time, by several
// scrapes at once, while parts come and go.
func TestScrapesAtAnyTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t)
		registry := prometheus.NewPedanticRegistry()
		must(t, registry.Register(s.metrics))
		var scrapes sync.WaitGroup
		for n := range 4 {
			scrapes.Go(func() {
				name := fmt.Sprint("queue ", n)
				for range 30 {
					families, err := registry.Gather()
					if err != nil || !hasFamily(families, "kinform_informer_objects") {
						t.Error(err, len(families))
						return
					}
					_ = s.metrics.AddQueue(name, &stub{})
					_ = s.metrics.AddInformer(name, &stub{})
					s.metrics.RemoveInformer(name)
				}
			})
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- s.work.Run(ctx) }()
		for n := range 100 {
			_, err := fake.Create(s.server, fake.Object(&corev1.Pod{}, "prod", fmt.Sprint("done", n)))
			must(t, err)
			runtime.Gosched()
		}
		stop()
		must(t, <-ended)
		scrapes.Wait()
		expect(t, s.metrics, map[string]string{`controller_runtime_max_concurrent_reconciles{controller="restarter"}`: "0"})
	})
}

func hasFamily(families []*dto.MetricFamily, name string) bool {
	for _, f := range families {
		if f.GetName() == name {
			return true
		}
	}
	return false
}

// TestLoopingKeys counts the keys of a controller that are in a loop.
func TestLoopingKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := fake.New(fake.Options{})
		must(t, fake.Register(server, core.Pods, fake.Rules{}))
		pods := kinform.Open(client.Connection{URL: fake.URL, HTTP: server.Client()}, core.Pods)
		c := controller.New("stamps", func(ctx context.Context, key kinform.Key) error {
			time.Sleep(time.Second)
			stamp := fmt.Appendf(nil, `{"metadata":{"annotations":{"at":%q}}}`, time.Now())
			_, err := pods.Patch(ctx, key, types.MergePatchType, stamp, metav1.PatchOptions{})
			return err
		}, controller.Options[kinform.Key]{Logger: slog.New(slog.DiscardHandler), Run: queue.RunOptions{Workers: 3}})
		controller.For(c, pods)
		m := kinformprom.New()
		must(t, m.AddController("stamps", c))
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- c.Run(ctx) }()
		for _, name := range []string{"one", "two", "three"} {
			_, err := fake.Create(server, fake.Object(&corev1.Pod{}, "prod", name))
			must(t, err)
		}
		const series = `kinform_controller_looping_keys{controller="stamps"}`
		time.Sleep(time.Second)
		expect(t, m, map[string]string{series: "0"})
		time.Sleep(time.Minute)
		expect(t, m, map[string]string{series: "3"})
		stop()
		must(t, <-ended)
	})
}
