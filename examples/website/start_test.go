package website_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/kinform/kinform/examples/website"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/fake/faults"
	"github.com/kinform/kinform/with/kubernetes/apps"
)

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

		conn := client.Connection{URL: fake.URL, HTTP: server.Client()}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
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

		before := server.Requests()
		_, err = fake.Patch[*website.Website](server, kinform.Key{Namespace: "prod", Name: "shop"}, []byte(`{"metadata":{"labels":{"a":"b"}}}`))
		check(t, err)
		time.Sleep(time.Hour)
		synctest.Wait()
		if sent := server.Requests().Since(before); sent.Writes() > 0 {
			t.Errorf("a label made the controller send %v", sent)
		}

		stop()
		check(t, <-ended)
	})
}

// noDNS does nothing.
type noDNS struct{}

func (noDNS) Set(context.Context, *website.Website) error    { return nil }
func (noDNS) Remove(context.Context, *website.Website) error { return nil }

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
