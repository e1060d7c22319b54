package projection_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/examples/internal/stage"
	"github.com/kinform/kinform/examples/projection"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/with/kubernetes/core"
)

func TestMain(m *testing.M) {
	slog.SetLogLoggerLevel(slog.LevelError + 1) // failed lists and reports are wanted here
	goleak.VerifyTestMain(m)
}

func TestLines(t *testing.T) { stage.AtMostLines(t, "controller.go", 25) }

// reports are the numbers that were reported last.
type reports struct {
	mu    sync.Mutex
	last  map[string]int32
	calls int
	fail  int // so many calls fail
}

func (r *reports) report(_ context.Context, key kinform.Key, restarts int32) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.calls++; r.fail > 0 {
		r.fail--
		return errors.New("no")
	}
	r.last[key.String()] = restarts
	return nil
}

func newStage(t *testing.T) (*stage.Stage, *reports) {
	r := &reports{last: map[string]int32{}}
	return stage.New(t, fake.Options{}, func(ctx context.Context, server client.Connection) error {
		return projection.Run(ctx, server, r.report, "a", "b", "c")
	}, stage.Kind(core.Pods)), r
}

func newPod(s *stage.Stage, namespace string, restarts ...int32) {
	pod := stage.Create(s, fake.Object(&corev1.Pod{}, namespace, "web"))
	for _, n := range restarts {
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{RestartCount: n})
	}
	_, err := fake.UpdateStatus(s.Server, pod)
	s.Check(err)
}

func want(t *testing.T, s *stage.Stage, r *reports, after string, want map[string]int32) {
	t.Helper()
	s.Settle()
	r.mu.Lock()
	defer r.mu.Unlock()
	if !maps.Equal(r.last, want) {
		t.Errorf("the reports are %v after %s, want %v", r.last, after, want)
	}
}

func TestReports(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, r := newStage(t)
		newPod(s, "a", 1, 2)
		newPod(s, "b")
		newPod(s, "other", 7)
		want(t, s, r, "the start", map[string]int32{"a/web": 3, "b/web": 0})

		calls := r.calls
		for n := range 100 {
			stage.Patch[*corev1.Pod](s, kinform.Key{Namespace: "a", Name: "web"}, fmt.Sprintf(`{"metadata":{"labels":{"n":"%d"}}}`, n))
			s.Breathe()
		}
		if r.calls != calls {
			t.Errorf("%d reports of 100 changes of labels", r.calls-calls)
		}
		r.fail = 3
		newPod(s, "c", 4)
		want(t, s, r, "three failures", map[string]int32{"a/web": 3, "b/web": 0, "c/web": 4})
		stage.Delete[*corev1.Pod](s, kinform.Key{Namespace: "c", Name: "web"})
		want(t, s, r, "a deletion", map[string]int32{"a/web": 3, "b/web": 0, "c/web": 0})
		s.WantWrites("all that", 0)
	})
}

// forbidden refuses requests for the namespace c.
type forbidden struct{ http.RoundTripper }

func (f forbidden) RoundTrip(r *http.Request) (*http.Response, error) {
	if strings.Contains(r.URL.Path, "/namespaces/c/") {
		return &http.Response{StatusCode: http.StatusForbidden, Body: http.NoBody, Request: r}, nil
	}
	return f.RoundTripper.RoundTrip(r)
}

func TestForbiddenNamespace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &reports{last: map[string]int32{}}
		s := stage.New(t, fake.Options{}, func(ctx context.Context, server client.Connection) error {
			server.HTTP = &http.Client{Transport: forbidden{server.HTTP.Transport}}
			return projection.Run(ctx, server, r.report, "a", "b", "c")
		}, stage.Kind(core.Pods))
		for n, namespace := range []string{"a", "b", "c"} {
			newPod(s, namespace, int32(n))
		}
		want(t, s, r, "a refusal", map[string]int32{"a/web": 0, "b/web": 1})
	})
}

func TestBadName(t *testing.T) {
	err := projection.Run(t.Context(), client.Connection{URL: fake.URL}, nil, "a", "not/a name")
	if err == nil {
		t.Error("a namespace with a slash has no error")
	}
}
