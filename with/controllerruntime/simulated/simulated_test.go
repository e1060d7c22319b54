package simulated_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"

	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/fake/sim"
	"github.com/kinform/kinform/with/controllerruntime/simulated"
	"github.com/kinform/kinform/with/kubernetes/coordination"
	"github.com/kinform/kinform/with/kubernetes/core"
)

// Greeting wants a ConfigMap with its text.
type Greeting struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              GreetingSpec   `json:"spec"`
	Status            GreetingStatus `json:"status,omitzero"`
}

type GreetingSpec struct {
	Text string `json:"text"`
}

type GreetingStatus struct {
	ObservedGeneration int64  `json:"observedGeneration,omitempty"`
	ConfigMap          string `json:"configMap,omitempty"`
}

type GreetingList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata"`
	Items           []Greeting `json:"items"`
}

func (g *Greeting) DeepCopyObject() runtime.Object {
	c := *g
	g.ObjectMeta.DeepCopyInto(&c.ObjectMeta)
	return &c
}

func (l *GreetingList) DeepCopyObject() runtime.Object {
	c := &GreetingList{TypeMeta: l.TypeMeta, ListMeta: *l.ListMeta.DeepCopy()}
	for _, g := range l.Items {
		c.Items = append(c.Items, *g.DeepCopyObject().(*Greeting))
	}
	return c
}

var (
	version   = schema.GroupVersion{Group: "example.com", Version: "v1"}
	greetings = kinform.KindOf[*Greeting](version, "greetings").WithSubresources("status")
)

// start is a program as its author wrote it, without a word about tests.
func start(ctx context.Context, cfg *rest.Config, o ctrl.Options, reconcile func(*reconciler, context.Context, *Greeting) error) error {
	o.Scheme = runtime.NewScheme()
	if err := corev1.AddToScheme(o.Scheme); err != nil {
		return err
	}
	o.Scheme.AddKnownTypes(version, &Greeting{}, &GreetingList{})
	metav1.AddToGroupVersion(o.Scheme, version)
	mgr, err := ctrl.NewManager(cfg, o)
	if err != nil {
		return err
	}
	r := &reconciler{Client: mgr.GetClient(), reconcile: reconcile}
	if err := ctrl.NewControllerManagedBy(mgr).For(&Greeting{}).Owns(&corev1.ConfigMap{}).Complete(r); err != nil {
		return err
	}
	return mgr.Start(ctx)
}

type reconciler struct {
	client.Client
	reconcile func(*reconciler, context.Context, *Greeting) error
}

func (r *reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var g Greeting
	if err := r.Get(ctx, req.NamespacedName, &g); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	return ctrl.Result{}, r.reconcile(r, ctx, &g)
}

const finalizer = "example.com/greeting"

// correct has a finalizer, an owned ConfigMap and a status.
func correct(r *reconciler, ctx context.Context, g *Greeting) error {
	if g.DeletionTimestamp != nil {
		if controllerutil.RemoveFinalizer(g, finalizer) {
			return r.Update(ctx, g)
		}
		return nil
	}
	if controllerutil.AddFinalizer(g, finalizer) {
		return r.Update(ctx, g)
	}
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: g.Namespace, Name: g.Name}}
	_, err := controllerutil.CreateOrUpdate(ctx, r, cm, func() error {
		cm.Data = map[string]string{"text": g.Spec.Text}
		return controllerutil.SetControllerReference(g, cm, r.Scheme())
	})
	if err != nil {
		return err
	}
	return r.report(ctx, g, GreetingStatus{ObservedGeneration: g.Generation, ConfigMap: cm.Name})
}

func (r *reconciler) report(ctx context.Context, g *Greeting, status GreetingStatus) error {
	if g.Status == status {
		return nil
	}
	g.Status = status
	return r.Status().Update(ctx, g)
}

// late adds its finalizer after it has made the ConfigMap, which is in a namespace where no owner reference reaches it.
func late(r *reconciler, ctx context.Context, g *Greeting) error {
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "texts", Name: g.Name}}
	if g.DeletionTimestamp != nil {
		if err := r.Delete(ctx, cm); client.IgnoreNotFound(err) != nil {
			return err
		}
		if controllerutil.RemoveFinalizer(g, finalizer) {
			return r.Update(ctx, g)
		}
		return nil
	}
	_, err := controllerutil.CreateOrUpdate(ctx, r, cm, func() error {
		cm.Data = map[string]string{"text": g.Spec.Text}
		return nil
	})
	if err != nil {
		return err
	}
	if controllerutil.AddFinalizer(g, finalizer) {
		return r.Update(ctx, g)
	}
	return nil
}

// blind makes a ConfigMap if its cache has none yet, and lets the server choose the name.
func blind(r *reconciler, ctx context.Context, g *Greeting) error {
	var owned corev1.ConfigMapList
	if err := r.List(ctx, &owned, client.InNamespace(g.Namespace)); err != nil || g.DeletionTimestamp != nil {
		return err
	}
	for _, cm := range owned.Items {
		if metav1.IsControlledBy(&cm, g) {
			return r.report(ctx, g, GreetingStatus{ObservedGeneration: g.Generation, ConfigMap: cm.Name})
		}
	}
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: g.Namespace, GenerateName: g.Name + "-"}}
	if err := controllerutil.SetControllerReference(g, cm, r.Scheme()); err != nil {
		return err
	}
	return r.Create(ctx, cm)
}

// half makes the second of two ConfigMaps only when it has just made the first one.
func half(r *reconciler, ctx context.Context, g *Greeting) error {
	for _, name := range []string{g.Name, g.Name + "-copy"} {
		cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: g.Namespace, Name: name}}
		done, err := controllerutil.CreateOrUpdate(ctx, r, cm, func() error {
			cm.Data = map[string]string{"text": g.Spec.Text}
			return controllerutil.SetControllerReference(g, cm, r.Scheme())
		})
		if err != nil || done == controllerutil.OperationResultNone {
			return err
		}
	}
	return nil
}

// hasty says of the newest generation that it is done, after it has done an older one.
func hasty(r *reconciler, ctx context.Context, g *Greeting) error {
	if g.DeletionTimestamp != nil || g.Status.ObservedGeneration == g.Generation {
		return nil
	}
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: g.Namespace, Name: g.Name}}
	_, err := controllerutil.CreateOrUpdate(ctx, r, cm, func() error {
		cm.Data = map[string]string{"text": g.Spec.Text}
		return controllerutil.SetControllerReference(g, cm, r.Scheme())
	})
	if err != nil {
		return err
	}
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		if err := r.Get(ctx, client.ObjectKeyFromObject(g), g); err != nil {
			return err
		}
		return r.report(ctx, g, GreetingStatus{ObservedGeneration: g.Generation, ConfigMap: cm.Name})
	})
}

// careless panics at each error but that of an object that is there.
func careless(r *reconciler, ctx context.Context, g *Greeting) error {
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: g.Namespace, Name: g.Name}}
	if err := controllerutil.SetControllerReference(g, cm, r.Scheme()); err != nil {
		return err
	}
	if err := r.Create(ctx, cm); err != nil && !apierrors.IsAlreadyExists(err) {
		return errors.New(cm.Annotations["why"][:1])
	}
	return nil
}

var hello, bye = kinform.Key{Namespace: "prod", Name: "hello"}, kinform.Key{Namespace: "prod", Name: "bye"}

// program is a program with users who create a Greeting and change it, and create another one and delete it.
func program(run func(context.Context, *rest.Config) error) sim.Program {
	server := fake.New(fake.Options{CollectGarbage: true})
	for _, err := range []error{
		fake.Register(server, greetings, fake.Rules{}), fake.Register(server, core.ConfigMaps, fake.Rules{}),
		fake.Register(server, coordination.Leases, fake.Rules{}), fake.Register(server, core.Events, fake.Rules{}),
	} {
		if err != nil {
			panic(err)
		}
	}
	return sim.Program{
		Server: server,
		Run:    simulated.Manager(run),
		Users: func(w *sim.World) error {
			greeting := func(key kinform.Key) error {
				_, err := fake.Create(w.Server, fake.Object(&Greeting{Spec: GreetingSpec{Text: "good morning"}}, key.Namespace, key.Name))
				return err
			}
			if err := greeting(hello); err != nil {
				return err
			}
			w.Settle()
			if _, err := fake.Patch[*Greeting](w.Server, hello, []byte(`{"spec":{"text":"good night"}}`)); err != nil {
				return err
			}
			w.Settle()
			if err := greeting(bye); err != nil {
				return err
			}
			w.Settle()
			_, err := fake.Delete[*Greeting](w.Server, bye)
			return err
		},
	}
}

func TestCorrect(t *testing.T) {
	sim.Explore(t, func() sim.Program {
		return program(func(ctx context.Context, cfg *rest.Config) error { return start(ctx, cfg, ctrl.Options{}, correct) })
	}, 300)
}

// One of two replicas leads, and both end and start again.
func TestReplicas(t *testing.T) {
	sim.Explore(t, func() sim.Program {
		p := program(func(ctx context.Context, cfg *rest.Config) error {
			return start(ctx, cfg, ctrl.Options{
				LeaderElection: true, LeaderElectionID: "greetings", LeaderElectionNamespace: "prod", LeaderElectionReleaseOnCancel: true,
			}, correct)
		})
		p.Replicas = 2
		return p
	}, 10)
}

// TestMain also checks that no schedule leaves a goroutine.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestPlanted explores controllers with a bug. Each has a process of its own, since the test that finds a bug fails.
func TestPlanted(t *testing.T) {
	for name, planted := range map[string]struct {
		reconcile func(*reconciler, context.Context, *Greeting) error
		finding   string
		schedule  string // played alone; empty explores
	}{
		"late":  {late, `rule "converges"`, ""},
		"blind": {blind, `rule "twice"`, ""},
		"half":  {half, `rule "converges"`, ""},
		"panic": {careless, `rule "panics"`, "refuse create configmaps prod/hello code=500"},
		"hasty": {hasty, `rule "converges"`, `
			users update greetings.example.com/status prod/hello
			late update greetings.example.com/status prod/hello call=2 by=1s`},
	} {
		t.Run(name, func(t *testing.T) {
			explored := func() sim.Program {
				return program(func(ctx context.Context, cfg *rest.Config) error {
					return start(ctx, cfg, ctrl.Options{}, planted.reconcile)
				})
			}
			switch {
			case os.Getenv("EXPLORE") != name:
			case planted.schedule != "":
				sim.Replay(t, explored, planted.schedule)
				return
			default:
				sim.Explore(t, explored, 300)
				return
			}
			command := exec.Command(os.Args[0], "-test.run", "^TestPlanted$/^"+name+"$")
			command.Env = append(os.Environ(), "EXPLORE="+name)
			said, err := command.CombinedOutput()
			if err == nil || !strings.Contains(string(said), planted.finding) {
				t.Fatalf("%s is not found (%v):\n%s", planted.finding, err, said)
			}
			_, schedule, _ := strings.Cut(string(said), "repeats:\n")
			lines := 0
			for line := range strings.Lines(schedule) {
				if strings.TrimSpace(line) == "" {
					break
				}
				lines++
			}
			if lines < 1 || lines > 3 {
				t.Errorf("the schedule has %d lines:\n%s", lines, said)
			}
		})
	}
}
