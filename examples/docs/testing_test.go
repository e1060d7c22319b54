package docs_test

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/controller/events"
	"github.com/kinform/kinform/controller/manager"
	"github.com/kinform/kinform/examples/website"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/shard/leader"
)

func TestMain(m *testing.M) {
	slog.SetLogLoggerLevel(slog.LevelError + 1) // failed requests are wanted here
	goleak.VerifyTestMain(m)
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
