package controllerruntime_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	metrics "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/fake/faults"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/store"
	"github.com/kinform/kinform/with/clientgo"
	"github.com/kinform/kinform/with/controllerruntime"
	"github.com/kinform/kinform/with/kubernetes/core"
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	// controller-runtime's own cache of metadata, which tests compare with, may leave a goroutine
	// when a watch ends.
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("k8s.io/apimachinery/pkg/watch.(*filteredWatch).loop"))
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func newServer(t testing.TB) *fake.Server {
	server := fake.New(fake.Options{})
	check(t, fake.Register(server, core.Nodes, fake.Rules{}))
	check(t, fake.Register(server, core.Pods, fake.Rules{}))
	return server
}

// counter writes the number of a node's pods into its annotation: nodes come from the manager's
// cache, pods from a handle.
type counter struct {
	client.Client
	pods *kinform.Handle[*corev1.Pod]
}

func (c counter) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var node corev1.Node
	if err := c.Get(ctx, req.NamespacedName, &node); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	n := 0
	for _, pod := range c.pods.List("", nil) {
		if pod.Spec.NodeName == req.Name {
			n++
		}
	}
	if node.Annotations["pods"] == strconv.Itoa(n) {
		return ctrl.Result{}, nil
	}
	patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"annotations":{"pods":"%d"}}}`, n))
	return ctrl.Result{}, client.IgnoreNotFound(c.Patch(ctx, &node, patch))
}

// TestManager: a manager with Kinform's informers, and a controller with a typed cache.
func TestManager(t *testing.T) {
	server := newServer(t)
	rc := &rest.Config{Host: fake.URL, Transport: server.Client().Transport}
	m, err := ctrl.NewManager(rc, ctrl.Options{
		Cache: cache.Options{NewInformer: clientgo.NewSharedIndexInformer}, Metrics: metrics.Options{BindAddress: "0"},
		Controller: config.Controller{SkipNameValidation: new(true)},
	})
	check(t, err)
	conn, err := clientgo.Connection(rc)
	check(t, err)
	pods := kinform.Open(conn, core.Pods)
	check(t, m.Add(controllerruntime.Runnable(pods)))
	nodeOf := handler.TypedEnqueueRequestsFromMapFunc(func(_ context.Context, pod *corev1.Pod) []reconcile.Request {
		return []reconcile.Request{{NamespacedName: types.NamespacedName{Name: pod.Spec.NodeName}}}
	})
	check(t, ctrl.NewControllerManagedBy(m).For(&corev1.Node{}).WatchesRawSource(controllerruntime.Source(pods, nodeOf)).
		WithOptions(controller.Options{NewQueue: controllerruntime.NewQueue[ctrl.Request]}).Complete(counter{m.GetClient(), pods}))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- m.Start(ctx) }()
	_, err = fake.Create(server, fake.Object(&corev1.Node{}, "", "one"))
	check(t, err)
	for _, name := range []string{"a", "b"} {
		_, err = fake.Create(server, fake.Object(&corev1.Pod{Spec: corev1.PodSpec{NodeName: "one"}}, "n", name))
		check(t, err)
	}
	nodes, err := fake.NewSource[*corev1.Node](server, fake.Selection{})
	check(t, err)
	for ev, err := range nodes.Watch(ctx, metav1.ListOptions{ResourceVersion: "0"}) {
		if check(t, err); ev.Object != nil && ev.Object.Annotations["pods"] == "2" {
			break
		}
	}
	cancel()
	check(t, <-ended)
	if got := queueNumbers(t, "node"); !strings.Contains(got, "adds_total") || !strings.Contains(got, "work_duration_seconds") {
		t.Errorf("metrics of the queue: %s", got)
	}
}

// calls are what a handler was called with.
type calls struct {
	mu  sync.Mutex
	all []string
}

func (c *calls) add(q workqueue.TypedRateLimitingInterface[string], format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all = append(c.all, fmt.Sprintf(format, args...))
	q.Add("key")
}

func (c *calls) handler() handler.TypedEventHandler[*corev1.Pod, string] {
	type queue = workqueue.TypedRateLimitingInterface[string]
	return handler.TypedFuncs[*corev1.Pod, string]{
		CreateFunc: func(_ context.Context, ev event.TypedCreateEvent[*corev1.Pod], q queue) {
			c.add(q, "create %s %v", ev.Object.Name, ev.IsInInitialList)
		},
		UpdateFunc: func(_ context.Context, ev event.TypedUpdateEvent[*corev1.Pod], q queue) {
			c.add(q, "update %s %s to %s", ev.ObjectNew.Name, ev.ObjectOld.ResourceVersion, ev.ObjectNew.ResourceVersion)
		},
		DeleteFunc: func(_ context.Context, ev event.TypedDeleteEvent[*corev1.Pod], q queue) {
			c.add(q, "delete %s %v", ev.Object.Name, ev.DeleteStateUnknown)
		},
	}
}

func TestSource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t)
		pods := fake.Object(&corev1.Pod{}, "n", "a")
		_, err := fake.Create(server, pods)
		check(t, err)
		src, err := fake.NewSource[*corev1.Pod](server, fake.Selection{})
		check(t, err)
		inf, err := informer.New(src, store.ObjectKey, informer.Options[*corev1.Pod]{})
		check(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		var heard calls
		hidden := predicate.NewTypedPredicateFuncs(func(pod *corev1.Pod) bool { return pod.Name != "hidden" })
		source := controllerruntime.Source(inf, heard.handler(), predicate.TypedPredicate[*corev1.Pod](hidden))
		queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[string]())
		defer queue.ShutDown()
		handling, stop := context.WithCancel(ctx)
		check(t, source.Start(handling, queue))
		go func() { ended <- controllerruntime.Runnable(inf).Start(ctx) }()
		check(t, source.WaitForSync(ctx))
		for _, name := range []string{"b", "hidden"} {
			_, err = fake.Create(server, fake.Object(&corev1.Pod{}, "n", name))
			check(t, err)
			synctest.Wait()
			_, err = fake.Patch[*corev1.Pod](server, types.NamespacedName{Namespace: "n", Name: name}, []byte(`{"metadata":{"labels":{"x":"y"}}}`))
			check(t, err)
			synctest.Wait()
			_, err = fake.Delete[*corev1.Pod](server, types.NamespacedName{Namespace: "n", Name: name})
			check(t, err)
			synctest.Wait()
		}
		stop()
		synctest.Wait()
		_, err = fake.Create(server, fake.Object(&corev1.Pod{}, "n", "late"))
		check(t, err)
		synctest.Wait()
		want := []string{"create a true", "create b false", "update b 3 to 4", "update b 4 to 5", "delete b false"} // a pod is marked first
		if !slices.Equal(heard.all, want) || queue.Len() != 1 {
			t.Errorf("calls %q, want %q; %d keys", heard.all, want, queue.Len())
		}
		cancel()
		check(t, <-ended)
	})
}

func TestSourceErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t)
		check(t, server.Inject(faults.Fault{Verb: faults.VerbList, Times: -1, Status: faults.Refusal(http.StatusForbidden, metav1.StatusReasonForbidden, 0)}))
		check(t, server.Inject(faults.Fault{Verb: faults.VerbWatch, Times: -1, Status: faults.Refusal(http.StatusForbidden, metav1.StatusReasonForbidden, 0)}))
		src, err := fake.NewSource[*corev1.Pod](server, fake.Selection{})
		check(t, err)
		inf, err := informer.New(src, store.ObjectKey, informer.Options[*corev1.Pod]{OnError: func(error) {}})
		check(t, err)
		var heard calls
		none := controllerruntime.Source[types.NamespacedName, *corev1.Pod](nil, heard.handler())
		if err := none.Start(t.Context(), nil); !errors.Is(err, informer.ErrInvalid) {
			t.Errorf("without an informer: %v", err)
		}
		if err := controllerruntime.Source[types.NamespacedName, *corev1.Pod, string](inf, nil).Start(t.Context(), nil); !errors.Is(err, informer.ErrInvalid) {
			t.Errorf("without a handler: %v", err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- inf.Run(ctx) }()
		source := controllerruntime.Source(inf, heard.handler())
		check(t, source.Start(ctx, nil))
		late, stop := context.WithTimeout(ctx, time.Minute)
		defer stop()
		if err := source.WaitForSync(late); err == nil || !strings.Contains(err.Error(), "pods") {
			t.Errorf("a list that is refused: %v", err)
		}
		cancel()
		if err := source.WaitForSync(ctx); err != nil {
			t.Errorf("after the end: %v", err)
		}
		check(t, <-ended)
		if names := fmt.Sprint(source, " ", none); !strings.Contains(names, "pods") || !strings.Contains(names, "without") {
			t.Errorf("the sources are called %q", names)
		}
	})
}
