package twins

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	metrics "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/kinform/kinform/bench/twins/backup"
	"github.com/kinform/kinform/bench/twins/clientgo"
	"github.com/kinform/kinform/bench/twins/join"
	"github.com/kinform/kinform/bench/twins/projection"
	"github.com/kinform/kinform/bench/twins/website"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/kind"
	"github.com/kinform/kinform/with/kubernetes/apps"
	"github.com/kinform/kinform/with/kubernetes/batch"
	"github.com/kinform/kinform/with/kubernetes/coordination"
	"github.com/kinform/kinform/with/kubernetes/core"
	"github.com/kinform/kinform/with/kubernetes/discovery"
	"github.com/kinform/kinform/with/kubernetes/events"
)

// ran are the tests that ran. controller-runtime takes the name of a controller once per process.
var ran = map[string]bool{}

// start runs a twin on a server in memory, until the test ends. The context ends with the twin.
func start(t *testing.T, run func(context.Context, *rest.Config) error, register ...func(*fake.Server) error) (context.Context, *fake.Server) {
	if ran[t.Name()] {
		t.Skip("a twin can run once per process")
	}
	ran[t.Name()] = true
	ctrl.SetLogger(logr.Discard())
	metrics.DefaultBindAddress = "0" // none
	s := fake.New(fake.Options{})
	for _, add := range register {
		check(t, add(s))
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		defer cancel()
		ended <- run(ctx, &rest.Config{Host: fake.URL, Transport: s.Client().Transport})
	}()
	t.Cleanup(func() {
		cancel()
		check(t, <-ended)
	})
	return ctx, s
}

func register[T metav1.Object](k *kind.Kind[T]) func(*fake.Server) error {
	return func(s *fake.Server) error { return fake.Register(s, k, fake.Rules{}) }
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}

// await waits for a change after resourceVersion since, or for a state if it is "0".
func await[T metav1.Object](ctx context.Context, t *testing.T, s *fake.Server, since string, ok func(T) bool) {
	t.Helper()
	source, err := fake.NewSource[T](s, fake.Selection{})
	check(t, err)
	for ev, err := range source.Watch(ctx, metav1.ListOptions{ResourceVersion: since}) {
		if check(t, err); err != nil || ok(ev.Object) {
			return
		}
	}
}

func TestJoin(t *testing.T) {
	ctx, s := start(t, join.Run, register(core.Services), register(core.Pods), register(discovery.EndpointSlices))
	service := &corev1.Service{Spec: corev1.ServiceSpec{Selector: map[string]string{"app": "web"}}}
	_, err := fake.Create(s, fake.Object(service, "prod", "web"))
	check(t, err)
	_, err = fake.Create(s, fake.Object(&corev1.Pod{}, "prod", "web-1", fake.Labels("app", "web")))
	check(t, err)
	await(ctx, t, s, "0", func(service *corev1.Service) bool { return service.Annotations[join.Annotation] == "0/1" })
}

func TestProjection(t *testing.T) {
	var once sync.Once
	reported := make(chan types.NamespacedName, 1)
	ctx, s := start(t, func(ctx context.Context, server *rest.Config) error {
		return projection.Run(ctx, server, func(_ context.Context, key types.NamespacedName, _ int32) error {
			once.Do(func() { reported <- key })
			return nil
		}, "a", "b")
	}, register(core.Pods))
	_, err := fake.Create(s, fake.Object(&corev1.Pod{}, "b", "web"))
	check(t, err)
	select {
	case key := <-reported:
		if key.String() != "b/web" {
			t.Errorf("%s was reported", key)
		}
	case <-ctx.Done():
	}
}

func TestClientGo(t *testing.T) {
	ctx, s := start(t, func(ctx context.Context, server *rest.Config) error {
		set, err := kubernetes.NewForConfig(server)
		if err != nil {
			return err
		}
		return clientgo.CountPods(ctx, set)
	}, register(core.Nodes), register(core.Pods))
	_, err := fake.Create(s, fake.Object(&corev1.Node{}, "", "node-1"))
	check(t, err)
	_, err = fake.Create(s, fake.Object(&corev1.Pod{Spec: corev1.PodSpec{NodeName: "node-1"}}, "prod", "web"))
	check(t, err)
	await(ctx, t, s, "0", func(node *corev1.Node) bool { return node.Annotations["pods"] == "1" })
}

// noDNS does nothing.
type noDNS struct{}

func (noDNS) Set(context.Context, *website.Website) error    { return nil }
func (noDNS) Remove(context.Context, *website.Website) error { return nil }

func TestWebsite(t *testing.T) {
	websites := kind.Of[*website.Website](website.Version, "websites").WithSubresources("status")
	ctx, s := start(t, func(ctx context.Context, server *rest.Config) error { return website.Run(ctx, server, noDNS{}) },
		register(websites), register(apps.Deployments))
	_, err := fake.Create(s, fake.Object(&website.Website{Spec: website.WebsiteSpec{Image: "shop:1", Replicas: 2}}, "prod", "shop"))
	check(t, err)
	await(ctx, t, s, "0", func(d *appsv1.Deployment) bool { return *d.Spec.Replicas == 2 })
	await(ctx, t, s, "0", func(w *website.Website) bool { return len(w.Status.Conditions) == 1 && len(w.Finalizers) == 1 })
	since := s.ResourceVersion()
	_, err = fake.Delete[*website.Website](s, types.NamespacedName{Namespace: "prod", Name: "shop"})
	check(t, err)
	await(ctx, t, s, since, func(w *website.Website) bool {
		_, err := fake.Get[*website.Website](s, types.NamespacedName{Namespace: w.Namespace, Name: w.Name})
		return apierrors.IsNotFound(err)
	})
}

func TestBackup(t *testing.T) {
	backups := kind.Of[*backup.Backup](backup.Version, "backups").WithSubresources("status")
	var cleaned atomic.Int32
	cleanup := func(context.Context, *backup.Backup) error {
		cleaned.Add(1)
		return nil
	}
	ctx, s := start(t, func(ctx context.Context, server *rest.Config) error {
		m, err := backup.New(ctx, server, ctrl.Options{LeaderElectionNamespace: "prod"}, cleanup)
		if err != nil {
			return err
		}
		return m.Start(ctx)
	},
		register(backups), register(batch.Jobs), register(core.ConfigMaps), register(core.Secrets), register(coordination.Leases), register(events.Events))
	_, err := fake.Create(s, fake.Object(&corev1.Secret{}, "vault", "login"))
	check(t, err)
	_, err = fake.Create(s, fake.Object(&backup.Backup{Spec: backup.BackupSpec{
		Image: "dump:1", Every: metav1.Duration{Duration: time.Hour},
		Settings:    backup.Reference{Namespace: "shared", Name: "disks"},
		Credentials: backup.Reference{Namespace: "vault", Name: "login"},
	}}, "prod", "nightly"))
	check(t, err)
	condition := func(reason string) func(*backup.Backup) bool {
		return func(b *backup.Backup) bool {
			return len(b.Status.Conditions) == 1 && b.Status.Conditions[0].Reason == reason
		}
	}
	await(ctx, t, s, "0", condition("NoSettings"))
	_, err = fake.Create(s, fake.Object(&corev1.ConfigMap{Data: map[string]string{"disk": "a"}}, "shared", "disks"))
	check(t, err)
	await(ctx, t, s, "0", condition("Running"))
	jobs, err := fake.List[*batchv1.Job](s, fake.Selection{})
	check(t, err)
	if len(jobs) != 1 {
		t.Fatalf("%d jobs", len(jobs))
	}
	jobs[0].Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue}}
	_, err = fake.UpdateStatus(s, jobs[0])
	check(t, err)
	await(ctx, t, s, "0", condition("Complete"))
	since := s.ResourceVersion()
	_, err = fake.Delete[*backup.Backup](s, types.NamespacedName{Namespace: "prod", Name: "nightly"})
	check(t, err)
	await(ctx, t, s, since, func(*backup.Backup) bool {
		_, err := fake.Get[*backup.Backup](s, types.NamespacedName{Namespace: "prod", Name: "nightly"})
		return apierrors.IsNotFound(err)
	})
	if cleaned.Load() == 0 {
		t.Error("no cleanup")
	}
}
