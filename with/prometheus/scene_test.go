package kinformprom_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/controller"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/queue"
	"github.com/kinform/kinform/shard/leader"
	"github.com/kinform/kinform/with/kubernetes/core"
	kinformprom "github.com/kinform/kinform/with/prometheus"
)

var update = flag.Bool("update", false, "write testdata/exposition.txt")

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// scene is a small program with one part of each sort, and what it shows after a minute.
type scene struct {
	t       *testing.T
	server  *fake.Server
	metrics *kinformprom.Metrics
	pods    *kinform.Handle[*corev1.Pod]
	work    *controller.Controller[kinform.Key]
	once    map[string]bool // pods that were reconciled
}

// play runs the scene and returns the metrics.
func play(t *testing.T) (families []*dto.MetricFamily) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- s.work.Run(ctx) }()
		synctest.Wait()
		for _, name := range []string{"done", "broken", "later", "now", "never", "panics", "slow", "written"} {
			_, err := fake.Create(s.server, fake.Object(&corev1.Pod{}, "prod", name))
			must(t, err)
			synctest.Wait() // so that each pod is a batch
		}
		time.Sleep(time.Minute)
		registry := prometheus.NewPedanticRegistry()
		must(t, registry.Register(s.metrics))
		var err error
		families, err = registry.Gather()
		must(t, err)
		stop()
		must(t, <-ended)
	})
	return families
}

func newScene(t *testing.T) *scene {
	s := &scene{t: t, server: fake.New(fake.Options{}), metrics: kinformprom.New(), once: map[string]bool{}}
	must(t, fake.Register(s.server, core.Pods, fake.Rules{}))
	server := client.Connection{
		URL: fake.URL, HTTP: &http.Client{Transport: s.metrics.Transport(s.server.Client().Transport)}, Limiter: rate.NewLimiter(1, 1),
	}
	s.pods = kinform.Open(server, core.Pods)
	s.work = controller.New("restarter", s.reconcile, controller.Options[kinform.Key]{
		Run:   queue.RunOptions{Timeout: 10 * time.Second},
		Queue: queue.Options[kinform.Key]{Timing: true, OnError: func(kinform.Key, error) {}},
	})
	controller.For(s.work, s.pods)
	_, err := s.pods.AsInformer().AddHandler(informer.HandlerFunc[kinform.Key, *corev1.Pod](func(informer.Event[kinform.Key, *corev1.Pod]) {}), informer.HandlerOptions[*corev1.Pod]{})
	must(t, err)
	elector := leader.New(server, leader.Options{Namespace: "prod", Name: "restarter"})
	must(t, elector.Err())
	side := queue.New(queue.Options[kinform.Key]{})
	side.AddWith(kinform.Key{Name: "first"}, queue.AddOptions{Priority: 5})
	must(t, errors.Join(
		s.metrics.AddHandle("pods", s.pods), s.metrics.AddController("restarter", s.work),
		s.metrics.AddElector("restarter", elector), s.metrics.AddQueue("side", side), s.metrics.AddReplica("restarter", replica{}),
	))
	return s
}

// reconcile ends in another way for each pod, and succeeds the second time.
func (s *scene) reconcile(ctx context.Context, key kinform.Key) error {
	time.Sleep(100 * time.Millisecond)
	if s.once[key.Name] {
		return nil
	}
	s.once[key.Name] = true
	switch strings.TrimRight(key.Name, "0123456789") {
	case "broken":
		return errors.New("broken")
	case "later":
		return controller.Again(time.Hour)
	case "now":
		return controller.Again(0)
	case "never":
		return controller.Terminal(errors.New("never"))
	case "panics":
		panic("panics")
	case "slow":
		<-ctx.Done()
		return ctx.Err()
	case "written":
		_, err := s.pods.Patch(ctx, key, types.MergePatchType, []byte(`{"metadata":{"labels":{"seen":"yes"}}}`), metav1.PatchOptions{})
		return err
	}
	return nil
}

func text(t testing.TB, families []*dto.MetricFamily) string {
	t.Helper()
	var out bytes.Buffer
	for _, f := range families {
		_, err := expfmt.MetricFamilyToText(&out, f)
		must(t, err)
	}
	return out.String()
}

// TestExposition compares everything that the scene shows with testdata/exposition.txt.
func TestExposition(t *testing.T) {
	got := text(t, play(t))
	if *update {
		must(t, os.WriteFile("testdata/exposition.txt", []byte(got), 0o644))
	}
	want, err := os.ReadFile("testdata/exposition.txt")
	must(t, err)
	wanted := strings.Split(string(want), "\n")
	for n, line := range strings.Split(got, "\n") {
		if n >= len(wanted) || line != wanted[n] {
			t.Fatalf("line %d is %q, see testdata/exposition.txt; go test -update writes it", n+1, line)
		}
	}
	if n := strings.Count(got, "\n"); n != len(wanted)-1 {
		t.Errorf("%d lines, want %d", n, len(wanted)-1)
	}
}
