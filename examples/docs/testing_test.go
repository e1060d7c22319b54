package docs_test

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	appsv1 "k8s.io/api/apps/v1"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/examples/website"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/fake/faults"
	"github.com/kinform/kinform/with/kubernetes/apps"
)

func TestMain(m *testing.M) {
	slog.SetLogLoggerLevel(slog.LevelError + 1) // failed requests are wanted here
	goleak.VerifyTestMain(m)
}

// requests passes requests on and notes those that write.
type requests struct {
	to     http.RoundTripper
	mu     sync.Mutex
	writes []string
}

func (r *requests) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.Method != http.MethodGet {
		r.mu.Lock()
		r.writes = append(r.writes, request.Method+" "+request.URL.Path)
		r.mu.Unlock()
	}
	return r.to.RoundTrip(request)
}

type noDNS struct{}

func (noDNS) Set(context.Context, *website.Website) error    { return nil }
func (noDNS) Remove(context.Context, *website.Website) error { return nil }

func TestWebsite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := fake.New(fake.Options{CollectGarbage: true})
		check(t, fake.Register(server, website.Websites, fake.Rules{}))
		check(t, fake.Register(server, apps.Deployments, fake.Rules{}))
		bad, err := faults.Parse(`
			refuse patch websites.example.com code=500 call=1   # the first finalizer
			truncate create deployments.apps bytes=1 call=1     # created, and the answer is lost
			drop watch deployments.apps after=1 chance=0.5 seed=7`)
		check(t, err)
		check(t, server.Inject(bad...))

		sent := &requests{to: server.Client().Transport}
		conn := client.Connection{URL: fake.URL, HTTP: &http.Client{Transport: sent}}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- website.Run(ctx, conn, noDNS{}) }()

		shop := fake.Object(&website.Website{Spec: website.WebsiteSpec{Image: "shop:1", Replicas: 2}}, "prod", "shop")
		_, err = fake.Create(server, shop)
		check(t, err)
		time.Sleep(time.Hour) // in no time: retries and relists are done by then
		synctest.Wait()

		deployment, err := fake.Get[*appsv1.Deployment](server, kinform.Key{Namespace: "prod", Name: "shop"})
		check(t, err)
		if *deployment.Spec.Replicas != 2 {
			t.Errorf("%d replicas", *deployment.Spec.Replicas)
		}

		before := len(sent.writes)
		_, err = fake.Patch[*website.Website](server, kinform.Key{Namespace: "prod", Name: "shop"}, []byte(`{"metadata":{"labels":{"a":"b"}}}`))
		check(t, err)
		time.Sleep(time.Hour)
		synctest.Wait()
		if more := sent.writes[before:]; len(more) > 0 {
			t.Errorf("a label made the controller send %v", more)
		}

		stop()
		check(t, <-ended)
	})
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
