package controllerruntime_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metrics "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	kinformclient "github.com/kinform/kinform/client"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/shard"
	"github.com/kinform/kinform/with/clientgo"
	"github.com/kinform/kinform/with/controllerruntime"
)

// fleet is replicas, each a manager, that annotate nodes with their names.
type fleet struct {
	t      *testing.T
	server *fake.Server

	mu    sync.Mutex
	runs  map[string]string // who works on a node
	calls map[string]int    // by replica
}

type replica struct {
	f       *fleet
	name    string
	client  client.Client
	shard   *controllerruntime.Shard[ctrl.Request]
	replica *shard.Replica
	stop    func()
}

func (f *fleet) start(name string) *replica {
	f.t.Helper()
	rc := &rest.Config{Host: fake.URL, Transport: f.server.Client().Transport, QPS: -1}
	conn, err := clientgo.Connection(rc)
	check(f.t, err)
	r := &replica{f: f, name: name}
	r.replica, err = shard.New(conn, shard.Options{Namespace: "prod", Name: "nodes", Identity: name, OnError: func(err error) { f.t.Log(name, err) }})
	check(f.t, err)
	m, err := ctrl.NewManager(rc, ctrl.Options{
		NewClient: controllerruntime.GatedClient(r.replica), Metrics: metrics.Options{BindAddress: "0"},
		Controller: config.Controller{SkipNameValidation: new(true)},
		NewCache:   controllerruntime.NewCache,
	})
	check(f.t, err)
	r.client = m.GetClient()
	r.shard, err = controllerruntime.Divide(r.replica, controllerruntime.ShardKeys[ctrl.Request]{
		Hashed: controllerruntime.ByKey, All: controllerruntime.Listed(m.GetCache(), &corev1.NodeList{}),
	}, r)
	check(f.t, err)
	check(f.t, m.Add(controllerruntime.Replica(r.replica, r.shard)))
	check(f.t, ctrl.NewControllerManagedBy(m).For(&corev1.Node{}, builder.WithPredicates(controllerruntime.Predicate(r.shard))).
		WatchesRawSource(r.shard.Source()).Complete(r.shard))
	ctx, cancel := context.WithCancel(f.t.Context())
	ended := make(chan error, 1)
	go func() { ended <- m.Start(ctx) }()
	r.stop = func() {
		cancel()
		check(f.t, <-ended)
	}
	return r
}

// Reconcile annotates a node.
func (r *replica) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	f := r.f
	f.mu.Lock()
	if other := f.runs[req.Name]; other != "" {
		f.t.Errorf("%s and %s work on %s", r.name, other, req.Name)
	}
	f.runs[req.Name] = r.name
	f.calls[r.name]++
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.runs, req.Name)
	}()
	number, ok := shard.Number(ctx)
	if !ok {
		f.t.Error("there is no fencing number")
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: req.Name}}
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{"by":%q,"number":"%d"}}}`, r.name, number)
	return ctrl.Result{RequeueAfter: time.Hour}, r.client.Patch(ctx, node, client.RawPatch(types.MergePatchType, patch))
}

// by returns how many nodes each replica has annotated last.
func (f *fleet) by() map[string]int {
	f.t.Helper()
	counts := map[string]int{}
	source, err := fake.NewSource[*corev1.Node](f.server, fake.Selection{})
	check(f.t, err)
	for ev, err := range source.Watch(f.t.Context(), metav1.ListOptions{ResourceVersion: "0"}) {
		check(f.t, err)
		counts[ev.Object.Annotations["by"]]++
		if ev.Idle {
			break
		}
	}
	return counts
}

// count returns the number of a replica's reconciles.
func (f *fleet) count(name string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls[name]
}

const nodes = 40

// TestShards: two managers divide the nodes, and each gets the other's nodes when the other leaves.
func TestShards(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fleet{t: t, server: newServer(t), runs: map[string]string{}, calls: map[string]int{}}
		check(t, fake.Register(f.server, shard.Kind, fake.Rules{}))
		for n := range nodes {
			_, err := fake.Create(f.server, fake.Object(&corev1.Node{}, "", fmt.Sprint("node-", n)))
			check(t, err)
		}
		a := f.start("a")
		time.Sleep(time.Minute)
		if got := f.by(); got["a"] != nodes {
			t.Errorf("alone: %v", got)
		}
		b := f.start("b")
		time.Sleep(time.Minute)
		got := f.by()
		if got["a"]+got["b"] != nodes || got["a"] < nodes/5 || got["b"] < nodes/5 {
			t.Errorf("both: %v", got)
		}
		for n := range nodes {
			req := ctrl.Request{NamespacedName: types.NamespacedName{Name: fmt.Sprint("node-", n)}}
			if controllerruntime.ByNamespace(req) != "" || a.shard.Has(req) == b.shard.Has(req) {
				t.Errorf("%v: %v, %v", req, a.shard.Has(req), b.shard.Has(req))
			}
		}
		calls := f.count("b")
		for n := range nodes { // events come to their owners only
			_, err := fake.Patch[*corev1.Node](f.server, types.NamespacedName{Name: fmt.Sprint("node-", n)}, []byte(`{"metadata":{"labels":{"x":"y"}}}`))
			check(t, err)
		}
		time.Sleep(time.Minute)
		if f.count("b") == calls {
			t.Error("b got no events")
		}
		a.stop()
		time.Sleep(time.Minute)
		if got := f.by(); got["b"] != nodes {
			t.Errorf("b alone: %v", got)
		}
		err := a.client.Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "late"}})
		if !errors.Is(err, shard.ErrFenced) {
			t.Errorf("a write after the end: %v", err)
		}
		b.stop()
	})
}

// TestShardParts: one replica, whose controller is this test.
func TestShardParts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := fake.New(fake.Options{})
		check(t, fake.Register(server, shard.Kind, fake.Rules{}))
		r, err := shard.New(kinformclient.Connection{URL: fake.URL, HTTP: server.Client()}, shard.Options{Namespace: "prod", Name: "words"})
		check(t, err)
		lists := 0
		caughtUp := false
		keys := controllerruntime.ShardKeys[string]{
			Hashed: func(word string) string { return word },
			All: func(context.Context) ([]string, error) {
				if lists++; lists <= 3 || lists == 5 {
					return nil, errors.New("no list")
				}
				return []string{"x", "y"}, nil
			},
			CatchUp: func(context.Context) error { caughtUp = true; return nil },
		}
		failed := errors.New("failed")
		words := reconcile.TypedFunc[string](func(_ context.Context, word string) (reconcile.Result, error) {
			return reconcile.Result{RequeueAfter: time.Duration(len(word))}, failed
		})
		if _, err := controllerruntime.Divide(r, controllerruntime.ShardKeys[string]{Hashed: keys.Hashed}, words); !errors.Is(err, controllerruntime.ErrNoList) {
			t.Error(err)
		}
		if _, err := controllerruntime.Divide(r, controllerruntime.ShardKeys[string]{All: keys.All}, words); !errors.Is(err, shard.ErrInvalid) {
			t.Error(err)
		}
		work, err := controllerruntime.Divide(r, keys, words)
		check(t, err)
		soon, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := work.WaitForSync(soon); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("before the controller has begun: %v", err)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- controllerruntime.Replica(r, work).Start(ctx) }()
		time.Sleep(time.Hour)
		synctest.Wait()
		if lists != 0 || r.Status().ID != "" {
			t.Errorf("%d lists, status %+v, before the controller has begun", lists, r.Status())
		}
		queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[string]())
		defer queue.ShutDown()
		check(t, work.Source().Start(ctx, queue))
		if err := work.Source().Start(ctx, queue); !errors.Is(err, controllerruntime.ErrSourceStarted) {
			t.Error(err)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if lists != 4 || queue.Len() != 1 || r.Status().ID != "" {
			t.Errorf("%d lists, %d keys, status %+v, before the workers have begun", lists, queue.Len(), r.Status())
		}
		word, _ := queue.Get()
		queue.Done(word)
		if result, err := work.Reconcile(ctx, word); result != (reconcile.Result{}) || err != nil || work.Has(word) {
			t.Errorf("%v, %v for a word of nobody", result, err)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if !caughtUp || queue.Len() != 2 || !work.Has("x") || !work.Has("abc") {
			t.Errorf("caught up: %v; %d keys; status %+v", caughtUp, queue.Len(), r.Status())
		}
		if result, err := work.Reconcile(ctx, "abc"); result.RequeueAfter != 3 || !errors.Is(err, failed) {
			t.Errorf("%v, %v", result, err)
		}
		stop()
		check(t, <-ended)
		if err := controllerruntime.Replica(r, never{}).Start(t.Context()); !errors.Is(err, errNever) {
			t.Error(err)
		}
		check(t, controllerruntime.Replica(r, never{}).Start(ctx)) // the manager ends before it is ready
	})
}

// TestGrace: when the context of a running call ends, after the controller's.
func TestGrace(t *testing.T) {
	for _, c := range []struct {
		grace, deadline, want time.Duration // since the controller's context was cancelled
	}{{0, 0, 0}, {time.Minute, 0, time.Minute}, {-1, 0, 10 * time.Minute}, {-1, 5 * time.Minute, 5 * time.Minute}, {time.Minute, 30 * time.Second, 30 * time.Second}} {
		synctest.Test(t, func(t *testing.T) {
			server := fake.New(fake.Options{})
			check(t, fake.Register(server, shard.Kind, fake.Rules{}))
			r, err := shard.New(kinformclient.Connection{URL: fake.URL, HTTP: server.Client()}, shard.Options{Namespace: "prod", Name: "words"})
			check(t, err)
			var took time.Duration
			ctx, stop := context.WithCancel(t.Context())
			work, err := controllerruntime.Divide(r, controllerruntime.ShardKeys[string]{
				Hashed: func(word string) string { return word }, All: func(context.Context) ([]string, error) { return nil, nil }, Grace: c.grace,
			}, reconcile.TypedFunc[string](func(ctx context.Context, _ string) (reconcile.Result, error) {
				stop()
				begun := time.Now()
				select {
				case <-ctx.Done():
				case <-time.After(10 * time.Minute):
				}
				took = time.Since(begun)
				return reconcile.Result{}, nil
			}))
			check(t, err)
			queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[string]())
			defer queue.ShutDown()
			check(t, work.Source().Start(ctx, queue))
			running, end := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- r.Run(running) }()
			time.Sleep(time.Minute)
			if c.deadline > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, c.deadline)
				defer cancel()
			}
			_, err = work.Reconcile(ctx, "x")
			check(t, err)
			if took != c.want {
				t.Errorf("Grace %v, deadline %v: it ended after %v", c.grace, c.deadline, took)
			}
			end()
			check(t, <-ended)
		})
	}
}

var errNever = errors.New("never")

// never is a cache that does not fill.
type never struct{}

func (never) WaitForSync(context.Context) error { return errNever }

// TestGatedClient: a separate client.
func TestGatedClient(t *testing.T) {
	server := newServer(t)
	r, err := shard.New(kinformclient.Connection{URL: fake.URL, HTTP: server.Client()}, shard.Options{Namespace: "prod", Name: "words"})
	check(t, err)
	c, err := controllerruntime.GatedClient(r)(&rest.Config{Host: fake.URL, Transport: server.Client().Transport}, client.Options{})
	check(t, err)
	check(t, c.List(t.Context(), &corev1.NodeList{}))
	if err := c.Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}); !errors.Is(err, shard.ErrFenced) {
		t.Error(err)
	}
	if _, err := controllerruntime.GatedClient(r)(&rest.Config{Host: "::"}, client.Options{}); err == nil {
		t.Error("no error for a config that is not valid")
	}
}
