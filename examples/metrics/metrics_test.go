package metrics

import (
	"context"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"

	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/with/kubernetes/core"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestPage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := fake.New(fake.Options{})
		if err := fake.Register(server, core.Pods, fake.Rules{}); err != nil {
			t.Fatal(err)
		}
		if _, err := fake.Create(server, fake.Object(&corev1.Pod{}, "prod", "web")); err != nil {
			t.Fatal(err)
		}
		p, err := New(client.Connection{URL: fake.URL, HTTP: server.Client()})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- p.Run(ctx) }()
		synctest.Wait()
		answer := httptest.NewRecorder()
		p.Page.ServeHTTP(answer, httptest.NewRequest("GET", "/metrics", nil))
		for _, line := range []string{
			`kinform_informer_objects{name="pods"} 1`, `workqueue_adds_total{controller="pods",name="pods"} 1`,
			`controller_runtime_reconcile_total{controller="pods",result="success"} 1`, `rest_client_requests_total{code="200",host="fake.invalid",method="GET"} 1`,
		} {
			if !strings.Contains(answer.Body.String(), line+"\n") {
				t.Errorf("the page has no line %s", line)
			}
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}
