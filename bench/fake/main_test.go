// Package fake_test runs clients that know nothing of Kinform against package fake's
// server: client-go's clientset, informers, dynamic, metadata and discovery clients, and
// the manager of controller-runtime. It holds the benchmarks beside client-go's own fake
// clientset as well.
package fake_test

import (
	"context"
	"net/http/httptest"
	"testing"
	"time"

	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/kind"
	"github.com/kinform/kinform/with/kubernetes/apps"
	"github.com/kinform/kinform/with/kubernetes/core"
)

func TestMain(m *testing.M) {
	// apimachinery's watch.Filter, which controller-runtime uses, stays in a send when it
	// is stopped while an event is on its way.
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("k8s.io/apimachinery/pkg/watch.(*filteredWatch).loop"))
}

// newServer serves what the tests use, custom resources (widgets) as unstructured.
func newServer(tb testing.TB) *fake.Server {
	tb.Helper()
	s := fake.New(fake.Options{})
	check(tb, fake.Register(s, core.Namespaces, fake.Rules{}))
	check(tb, fake.Register(s, core.Pods, fake.Rules{}))
	check(tb, fake.Register(s, core.ConfigMaps, fake.Rules{}))
	check(tb, fake.Register(s, core.Events, fake.Rules{}))
	check(tb, fake.Register(s, apps.Deployments, fake.Rules{}))
	check(tb, fake.Register(s, kind.Of[*unstructured.Unstructured](schema.GroupVersion{Group: "example.com", Version: "v1"}, "widgets").Named("Widget"), fake.Rules{}))
	return s
}

// surface is a way to the server: the encoding that clients prefer, through a socket or
// without one.
type surface struct {
	name     string
	socket   bool
	protobuf bool
}

func surfaces() []surface {
	return []surface{
		{name: "memory json"},
		{name: "memory protobuf", protobuf: true},
		{name: "socket json", socket: true},
		{name: "socket protobuf", socket: true, protobuf: true},
	}
}

// config returns a configuration as client-go knows it. Nothing of it leaves the process
// unless a socket is asked for.
func (sf surface) config(t *testing.T, s *fake.Server) *rest.Config {
	t.Helper()
	c := &rest.Config{Host: fake.URL, Transport: s.Client().Transport, QPS: -1}
	if sf.socket {
		srv := httptest.NewServer(s)
		t.Cleanup(srv.Close)
		t.Cleanup(srv.CloseClientConnections)
		c.Host, c.Transport = srv.URL, srv.Client().Transport
	}
	if sf.protobuf {
		c.ContentType = "application/vnd.kubernetes.protobuf"
		c.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	} else {
		c.ContentType = "application/json"
	}
	return c
}

// everywhere runs a test on all surfaces, each on its own server.
func everywhere(t *testing.T, test func(t *testing.T, s *fake.Server, c *rest.Config)) {
	for _, sf := range surfaces() {
		t.Run(sf.name, func(t *testing.T) {
			t.Parallel() // client-go waits in real time
			s := newServer(t)
			test(t, s, sf.config(t, s))
		})
	}
}

func check(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

func must[T any](v T, err error) func(testing.TB) T {
	return func(tb testing.TB) T {
		tb.Helper()
		check(tb, err)
		return v
	}
}

// eventually waits for the work of a client's own goroutines, whose progress cannot be
// observed.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for !ok() {
		select {
		case <-ctx.Done():
			t.Fatalf("still waiting: %s", what)
		case <-time.After(2 * time.Millisecond):
		}
	}
}

func pod(namespace, name string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{"app": "web"}},
		Spec:       corev1.PodSpec{NodeName: "n1", Containers: []corev1.Container{{Name: "c", Image: "registry/web:1"}}},
	}
}
