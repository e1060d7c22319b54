package debug_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/controller"
	"github.com/kinform/kinform/controller/manager"
	"github.com/kinform/kinform/debug"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/kind"
	"github.com/kinform/kinform/queue"
	"github.com/kinform/kinform/shard/leader"
)

// Without the leadership, the page and the story of a key that waits say so, and who leads. With it they do not.
func TestBetweenTerms(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := fake.New(fake.Options{})
		secrets := kind.Of[*Secret](schema.GroupVersion{Version: "v1"}, "secrets")
		if err := errors.Join(fake.Register(server, secrets, fake.Rules{}), fake.Register(server, leader.Kind, fake.Rules{})); err != nil {
			t.Fatal(err)
		}
		conn := client.Connection{URL: fake.URL, HTTP: server.Client()}
		quiet := slog.New(slog.DiscardHandler)
		elector := func(identity string) *leader.Elector {
			return leader.New(conn, leader.Options{Namespace: "a", Name: "web", Identity: identity, Logger: quiet})
		}
		c := controller.New("sync", func(_ context.Context, k key) error {
			if k.Name == "later" {
				return controller.Again(time.Hour)
			}
			return nil
		})
		controller.For(c, controller.Open(conn, secrets))
		m := manager.New(manager.Options{Elector: elector("web-0"), Logger: quiet})
		m.AddControllers(c)
		tasks := queue.New(queue.Options[key]{})
		tasks.Add(key{Namespace: "a", Name: "task"})
		m.Show("tasks", tasks)
		served := queue.New(queue.Options[key]{}) // in all processes
		m.Show("served", served)
		m.AddToAll("served", manager.Func(func(ctx context.Context) error { _, err := served.Get(ctx); return err }))
		m.Add("tasks", manager.Func(func(ctx context.Context) error {
			return queue.Run(ctx, tasks, queue.RunOptions{}, func(context.Context, key) error { return nil })
		}))
		p := &program{t: t, server: server, page: debug.New(debug.Options{Reconciles: 8})}
		p.page.AddManager(m)
		p.run = m.Run
		want := func(when, name, why, noWorkers string) {
			t.Helper()
			if got := p.story("a/" + name).Controllers[0]; !strings.HasSuffix(got.Why, why) {
				t.Errorf("%s, the story of %s says %q, want %q", when, name, got.Why, why)
			}
			time.Sleep(time.Second) // viewers share a state
			s := p.state("/state.json")
			if got := s.Controllers[0].NoWorkers; got != noWorkers {
				t.Errorf("%s, the page says %q, want %q", when, got, noWorkers)
			}
			if got := s.Queues[0].NoWorkers; got != noWorkers {
				t.Errorf("%s, the page says %q of a queue alone, want %q", when, got, noWorkers)
			}
			if got := s.Queues[1].NoWorkers; when != "before the start" && got != "" {
				t.Errorf("%s, the page says %q of a queue that somebody waits in", when, got)
			}
			tasks.Add(key{Namespace: "a", Name: "task"})
			synctest.Wait()
			story := p.story("a/task")
			if noWorkers != "" && (len(story.Queues) != 1 || !strings.HasSuffix(story.Queues[0].Why, " No worker runs: "+noWorkers+".")) {
				t.Errorf("%s, the story of a key in a queue alone is %+v", when, story.Queues)
			}
		}
		hold := func(holder string) { // gives it the Lease
			t.Helper()
			lease, err := fake.Get[*leader.Lease](server, key{Namespace: "a", Name: "web"})
			if err != nil {
				t.Fatal(err)
			}
			lease.Spec.HolderIdentity = &holder
			if _, err := fake.Update(server, lease); err != nil {
				t.Fatal(err)
			}
			time.Sleep(5 * time.Second)
		}
		c.Queue().Add(key{Namespace: "a", Name: "early"})
		const nobody, other = "this process does not lead, and knows of none that does", "this process does not lead; web-1 does"
		want("before the start", "early", "Keys queued before it: 0. Keys running: 0. No worker runs: "+nobody+".", nobody)
		stop := p.start("good", "later")
		time.Sleep(time.Minute)
		want("in the term", "good", "succeeded", "")

		hold("web-1")
		if _, err := fake.Create(server, newSecret("new")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		want("after the loss", "new", "Keys queued before it: 0. Keys running: 0. No worker runs: "+other+".", other)
		want("after the loss", "later", ". No worker runs: "+other+".", other)

		hold("web-0")
		const own = "this process does not lead; the lease still has its name, from an earlier term"
		want("with a lease of the same name", "new", ". No worker runs: "+own+".", own)
		time.Sleep(time.Minute)
		want("in the next term", "new", "succeeded", "")
		stop()
	})
}

// A page that does not know the Elector says what a controller without workers waits for, or may wait for.
func TestNotStarted(t *testing.T) {
	p := newProgram(t, debug.Options{})
	p.control.Queue().Add(key{Namespace: "a", Name: "one"})
	const want = "No worker runs: the cache of secrets is not filled: never started."
	if got := p.story("a/one").Controllers[0].Why; !strings.HasSuffix(got, want) {
		t.Errorf("got %s", got)
	}
	unknown := debug.New(debug.Options{})
	if err := unknown.AddController("sync", p.control); err != nil {
		t.Fatal(err)
	}
	p.page = unknown
	const may = "No worker runs: the controller was not started, is paused by RunOptions.Resize, or waits for its caches or for the leadership."
	if got := p.story("a/one").Controllers[0].Why; !strings.HasSuffix(got, may) {
		t.Errorf("got %s", got)
	}
}
