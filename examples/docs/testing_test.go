package docs_test

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	appsv1 "k8s.io/api/apps/v1"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/controller/events"
	"github.com/kinform/kinform/controller/manager"
	"github.com/kinform/kinform/examples/website"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/fake/faults"
	"github.com/kinform/kinform/shard/leader"
	"github.com/kinform/kinform/with/kubernetes/apps"
)

func TestMain(m *testing.M) {
	slog.SetLogLoggerLevel(slog.LevelError + 1) // failed requests are wanted here
	goleak.VerifyTestMain(m)
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

// What the test registers is enough for a program with an elector and a recorder, and it leads within a minute.
func TestElected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := fake.New(fake.Options{})
		check(t, fake.Register(server, website.Websites, fake.Rules{}))
		check(t, fake.Register(server, leader.Kind, fake.Rules{})) // Leases
		check(t, fake.Register(server, events.Kind, fake.Rules{})) // fake.List[*events.Event] has them
		shop, err := fake.Create(server, fake.Object(&website.Website{}, "prod", "shop"))
		check(t, err)

		conn := client.Connection{URL: fake.URL, HTTP: server.Client()}
		elector := leader.New(conn, leader.Options{Namespace: "prod", Name: "websites.example.com"})
		recorder := events.New(conn, events.Options{Controller: "websites.example.com"})
		reporter := events.For(recorder, website.Websites)
		m := manager.New(manager.Options{Elector: elector})
		m.AddToAll("events", recorder)
		m.Add("websites", manager.Func(func(ctx context.Context) error {
			reporter.Normal(shop, "Led", "Lead", "this process leads")
			<-ctx.Done()
			return nil
		}))
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- m.Run(ctx) }()
		time.Sleep(time.Minute)
		synctest.Wait()

		written, err := fake.List[*events.Event](server, fake.Selection{Namespace: "prod"})
		check(t, err)
		if len(written) != 1 || written[0].Reason != "Led" {
			t.Errorf("the events are %v", written)
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
