package kinformprom_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/controller"
	"github.com/kinform/kinform/controller/manager"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/informer/factory"
	"github.com/kinform/kinform/kind"
	"github.com/kinform/kinform/queue"
	"github.com/kinform/kinform/shard"
	"github.com/kinform/kinform/shard/leader"
	"github.com/kinform/kinform/store"
	"github.com/kinform/kinform/with/kubernetes/core"
	kinformprom "github.com/kinform/kinform/with/prometheus"
)

// named returns the values of the label name of some metrics.
func named(t *testing.T, registry *prometheus.Registry, metrics ...string) string {
	t.Helper()
	families, err := registry.Gather()
	must(t, err)
	var all []string
	for _, f := range families {
		if !slices.Contains(metrics, f.GetName()) {
			continue
		}
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				if l.GetName() == "name" || l.GetName() == "controller" && f.GetName() == "controller_runtime_active_workers" {
					all = append(all, l.GetValue())
				}
			}
		}
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

// One call shows all of a manager, and parts come and go.
func TestManager(t *testing.T) {
	server := client.Connection{URL: fake.URL}
	elector := leader.New(server, leader.Options{Namespace: "prod", Name: "restarter"})
	mgr := manager.New(manager.Options{Elector: elector})
	m, registry := kinformprom.New(), prometheus.NewPedanticRegistry()
	m.AddManager(mgr)
	must(t, errors.Join(mgr.Err(), registry.Register(m)))
	if err := m.AddFactory(nil); !errors.Is(err, kinformprom.ErrNoPart) {
		t.Errorf("nil: %v", err)
	}
	pods := kinform.Open(server, core.Pods)
	nodes := kinform.Open(server, kind.As[*corev1.Pod](core.Nodes))
	more := kinform.Open(server, core.Pods)
	c := controller.New("restarter", func(context.Context, kinform.Key) error { return nil })
	controller.For(c, pods)
	controller.For(c, nodes)
	controller.For(c, more)
	mgr.AddControllers(c)
	must(t, mgr.Err())
	mgr.Show("side", queue.New(queue.Options[kinform.Key]{}))
	mgr.Show("replica", must1(shard.New(server, shard.Options{Namespace: "prod", Name: "websites"}))(t))
	mgr.Show("nothing known", 1)
	mgr.Show("no value", nil)
	mgr.Show("not comparable", []int{1})
	for _, c := range []struct{ metric, want string }{
		{"kinform_informer_objects", "nodes, pods, pods 2"},
		{"kinform_client_objects_total", "nodes, pods, pods 2"},
		{"workqueue_adds_total", "restarter, side"},
		{"controller_runtime_active_workers", "restarter"},
		{"leader_election_master_status", "leader election"},
		{"kinform_shard_share", "replica"},
	} {
		if got := named(t, registry, c.metric); got != c.want {
			t.Errorf("%s: %s, want %s", c.metric, got, c.want)
		}
	}
	f := factory.New(server, factory.Options{})
	mgr.Show("factory", f)
	first := must1(factory.For(f, core.Pods, factory.Request[*corev1.Pod]{}))(t)
	if got := named(t, registry, "kinform_informer_objects"); got != "nodes, pods, pods 2, pods 3" {
		t.Errorf("with a factory: %s", got)
	}
	first.Release()
	if got := named(t, registry, "kinform_informer_objects"); got != "nodes, pods, pods 2" {
		t.Errorf("after the release: %s", got)
	}
}

// Without a manager or metrics nothing panics, and Run says what is nil.
func TestNoManager(t *testing.T) {
	kinformprom.New().AddManager(nil)
	var none *manager.Manager
	if err := none.Run(t.Context()); !errors.Is(err, kinformprom.ErrNoPart) {
		t.Errorf("Run of no manager returned %v", err)
	}
	mgr := manager.New(manager.Options{})
	(*kinformprom.Metrics)(nil).AddManager(mgr)
	(*kinformprom.Metrics)(nil).AddManager(nil)
	if err := mgr.Run(t.Context()); !errors.Is(err, kinformprom.ErrNoPart) || err.Error() != "kinformprom: manager: the metrics: it is nil: make it before you add it" {
		t.Errorf("Run returned %v", err)
	}
	if err := (*kinformprom.Metrics)(nil).AddElector("pods", nil); !errors.Is(err, kinformprom.ErrNoPart) {
		t.Errorf("an elector: %v", err)
	}
}

// A manager that is added twice does not run.
func TestManagerTwice(t *testing.T) {
	mgr := manager.New(manager.Options{})
	m := kinformprom.New()
	m.AddManager(mgr)
	m.AddManager(mgr)
	if err := mgr.Run(t.Context()); !errors.Is(err, kinformprom.ErrDuplicate) || err.Error() != "kinformprom: the manager was added before: add it once" {
		t.Errorf("Run returned %v", err)
	}
}

// Informers of a factory come and go, beside those that were added under their names.
func TestFactory(t *testing.T) {
	server := client.Connection{URL: fake.URL}
	f := factory.New(server, factory.Options{})
	m, registry := kinformprom.New(), prometheus.NewPedanticRegistry()
	must(t, errors.Join(m.AddFactory(f), registry.Register(m)))
	if got := named(t, registry, "kinform_informer_objects"); got != "" {
		t.Errorf("at first: %s", got)
	}
	pods := must1(factory.For(f, core.Pods, factory.Request[*corev1.Pod]{}))(t)
	// Projections have another informer.
	names := must1(factory.Project(f, core.Pods, factory.Projection[kinform.Key, *corev1.Pod, *corev1.Pod]{
		Name: "names",
		Func: func(pod *corev1.Pod) (*corev1.Pod, error) { return &corev1.Pod{ObjectMeta: pod.ObjectMeta}, nil },
		Key:  store.ObjectKey[*corev1.Pod],
	}, factory.Request[*corev1.Pod]{}))(t)
	for range 2 { // names stay
		if got := named(t, registry, "kinform_informer_objects"); got != "pods, pods 2" {
			t.Errorf("with two: %s", got)
		}
	}
	if err := m.AddInformer("pods 2", pods); !errors.Is(err, kinformprom.ErrDuplicate) {
		t.Errorf("a name that is taken: %v", err)
	}
	pods.Release()
	names.Release()
	if got := named(t, registry, "kinform_informer_objects"); got != "" {
		t.Errorf("in the end: %s", got)
	}
	must(t, m.AddInformer("pods 2", pods))
	var all []*factory.Handle[kinform.Key, *corev1.Pod]
	for n := range 3 {
		all = append(all, must1(factory.For(f, core.Pods, factory.Request[*corev1.Pod]{Select: client.Options{Namespace: fmt.Sprint("n", n)}}))(t))
	}
	if got := named(t, registry, "kinform_informer_objects"); got != "pods 2, pods in namespace n0, pods in namespace n1, pods in namespace n2" {
		t.Errorf("by namespace: %s", got)
	}
	for _, h := range all {
		h.Release()
	}
}
