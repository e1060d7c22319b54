package controllerruntime_test

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metrics "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/controller"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/fake/faketest"
	"github.com/kinform/kinform/fake/faults"
	"github.com/kinform/kinform/with/clientgo"
	"github.com/kinform/kinform/with/controllerruntime"
	"github.com/kinform/kinform/with/kubernetes/core"
	"github.com/kinform/kinform/with/kubernetes/fakekube"
)

// A program has a controller of each library, and both get their events from one cache of the pods. controller-runtime
// makes its own transport from the rest.Config, so the server listens on a port.
func TestBothLibraries(t *testing.T) {
	server, err := fakekube.New(fake.Options{})
	check(t, err)
	rc := &rest.Config{Host: faketest.Listen(t, server)} // for ctrl.NewManager
	conn, err := clientgo.Connection(rc)                 // for kinform.Open
	check(t, err)

	m, err := ctrl.NewManager(rc, ctrl.Options{
		NewCache: controllerruntime.NewCache, Metrics: metrics.Options{BindAddress: "0"},
		Controller: config.Controller{SkipNameValidation: new(true)},
	})
	check(t, err)
	pods := kinform.Open(conn, core.Pods)
	check(t, m.Add(controllerruntime.Runnable(pods)))
	theirs, ours := make(chan kinform.Key, 10), make(chan kinform.Key, 10)
	check(t, ctrl.NewControllerManagedBy(m).Named("theirs").
		WatchesRawSource(controllerruntime.Source(pods, &handler.TypedEnqueueRequestForObject[*corev1.Pod]{})).
		Complete(reconcile.Func(func(_ context.Context, req ctrl.Request) (ctrl.Result, error) {
			if _, ok := pods.Cached(req.NamespacedName); !ok {
				t.Errorf("the cache lacks %v", req)
			}
			theirs <- req.NamespacedName
			return ctrl.Result{}, nil
		})))
	c := controller.New("ours", func(_ context.Context, key kinform.Key) error {
		ours <- key
		return nil
	})
	controller.For(c, pods)
	check(t, m.Add(manager.RunnableFunc(c.Run)))

	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- m.Start(ctx) }()
	_, err = fake.Create(server, fake.Object(&corev1.Pod{}, "prod", "shop"))
	check(t, err)
	for _, keys := range []chan kinform.Key{theirs, ours} {
		select {
		case key := <-keys:
			if key != (kinform.Key{Namespace: "prod", Name: "shop"}) {
				t.Errorf("reconcile got %v", key)
			}
		case err := <-ended:
			t.Fatalf("the manager ended: %v", err)
		}
	}
	cancel()
	check(t, <-ended)
	watches := uint64(0)
	for request, n := range server.Requests() {
		if request.Resource.Resource == "pods" && request.Verb == faults.VerbWatch {
			watches += uint64(n)
		}
	}
	if watches != 1 {
		t.Errorf("%d watches of pods, want that of the one cache", watches)
	}
}
