package main

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/examples/internal/stage"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/fake/faults"
	"github.com/kinform/kinform/with/kubeconfig"
	"github.com/kinform/kinform/with/kubernetes/core"
)

func TestMain(m *testing.M) {
	slog.SetLogLoggerLevel(slog.LevelError + 1) // failed lists are wanted here
	goleak.VerifyTestMain(m)
}

// page has the dashboard that runs now.
type page struct{ dashboard }

func (p *page) run(ctx context.Context, server client.Connection) (err error) {
	if p.dashboard, err = newDashboard(server); err != nil {
		return err
	}
	return p.pods.Run(ctx)
}

func (p *page) get() (int, string) {
	answer := httptest.NewRecorder()
	p.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/", nil))
	return answer.Code, answer.Body.String()
}

func want(t *testing.T, p *page, code int, body ...string) {
	t.Helper()
	gotCode, got := p.get()
	if lines := strings.Join(body, "\n") + "\n"; gotCode != code || got != lines {
		t.Errorf("the page is %d\n%swant %d\n%s", gotCode, got, code, lines)
	}
}

func newPod(s *stage.Stage, namespace, name string, phase corev1.PodPhase, ready corev1.ConditionStatus) {
	pod := stage.Create(s, fake.Object(&corev1.Pod{}, namespace, name))
	pod.Status.Phase, pod.Status.Conditions = phase, []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}}
	_, err := fake.UpdateStatus(s.Server, pod)
	s.Check(err)
}

const header = "NAMESPACE  PODS  READY  NOT READY  DONE  FAILED"

func TestPage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &page{}
		s := stage.New(t, fake.Options{}, p.run, stage.Kind(core.Pods))
		s.Settle()
		want(t, p, http.StatusOK, header)
		newPod(s, "a", "1", corev1.PodRunning, corev1.ConditionTrue)
		newPod(s, "b", "1", corev1.PodRunning, corev1.ConditionTrue)
		newPod(s, "b", "2", corev1.PodRunning, corev1.ConditionFalse)
		newPod(s, "b", "3", corev1.PodPending, "")
		newPod(s, "b", "4", corev1.PodFailed, corev1.ConditionFalse)
		newPod(s, "b", "5", corev1.PodSucceeded, corev1.ConditionFalse)
		s.Settle()
		want(t, p, http.StatusOK, header,
			"b          5     1      2          1     1",
			"a          1     1      0          0     0")
		stage.Delete[*corev1.Pod](s, kinform.Key{Namespace: "a", Name: "1"})
		s.Settle()
		want(t, p, http.StatusOK, header,
			"b          5     1      2          1     1")
		s.WantWrites("all that", 0)
	})
}

// The page of a server that refuses says so. It stays when the server is gone.
func TestOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &page{}
		s := stage.New(t, fake.Options{}, p.run, stage.Kind(core.Pods))
		s.Stop()
		newPod(s, "a", "1", corev1.PodRunning, corev1.ConditionTrue)
		refuse := faults.Fault{Times: -1, Status: faults.Refusal(http.StatusForbidden, metav1.StatusReasonForbidden, 0)}
		s.Check(s.Server.Inject(refuse))
		s.Start()
		s.Settle()
		if code, body := p.get(); code != http.StatusServiceUnavailable || !strings.Contains(body, "No news since ") || !strings.Contains(body, "pods: list") {
			t.Errorf("the page is %d %s", code, body)
		}
		s.Server.ClearFaults()
		s.Settle()
		want(t, p, http.StatusOK, header, "a          1     1      0          0     0")
		s.Check(s.Server.Inject(refuse))
		s.Server.DropWatches()
		time.Sleep(time.Minute)
		if code, body := p.get(); code != http.StatusOK || !strings.Contains(body, "No news since ") || !strings.Contains(body, "a          1") {
			t.Errorf("the page is %d %s", code, body)
		}
	})
}

// If the kubeconfig is not there, the program says which.
func TestNoKubeconfig(t *testing.T) {
	if err := run("127.0.0.1:0", kubeconfig.Options{Path: "none"}); err == nil || !strings.Contains(err.Error(), "kubeconfig") {
		t.Errorf("the error is %v", err)
	}
}
