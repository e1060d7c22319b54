package docs_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/controller"
	"github.com/kinform/kinform/controller/events"
	"github.com/kinform/kinform/controller/manager"
	"github.com/kinform/kinform/examples/website"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/fake/faults"
	"github.com/kinform/kinform/with/kubernetes/core"
)

// The recipe of a copy works for a pod without labels.
func TestCopyRecipe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := fake.New(fake.Options{})
		check(t, fake.Register(s, core.Pods, fake.Rules{}))
		_, err := fake.Create(s, fake.Object(&corev1.Pod{}, "prod", "web"))
		check(t, err)
		pods = kinform.Open(client.Connection{URL: fake.URL, HTTP: s.Client()}, core.Pods)
		var stop func()
		ctx, stop = context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- pods.Run(ctx) }()
		check(t, pods.WaitForSync(ctx))
		key = kinform.Key{Namespace: "prod", Name: "web"}
		Example_copy()
		pod, err := fake.Get[*corev1.Pod](s, key)
		check(t, err)
		if pod.Labels["seen"] != "yes" {
			t.Errorf("the labels are %v", pod.Labels)
		}
		stop()
		check(t, <-ended)
	})
}

// The recipe of events writes what is recorded just before the end.
func TestEventsRecipe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := fake.New(fake.Options{})
		check(t, fake.Register(s, website.Websites, fake.Rules{}))
		check(t, fake.Register(s, events.Kind, fake.Rules{}))
		check(t, s.Inject(faults.Fault{Verb: faults.VerbCreate, Delay: time.Second})) // so the end does not wait by chance
		_, err := fake.Create(s, fake.Object(&website.Website{}, "prod", "shop"))
		check(t, err)
		server = client.Connection{URL: fake.URL, HTTP: s.Client()}
		sites = kinform.Open(server, website.Websites)
		var stop func()
		ctx, stop = context.WithCancel(t.Context())
		c = controller.New("websites", func(ctx context.Context, key kinform.Key) error {
			defer stop()
			return reconcile(ctx, key)
		})
		controller.For(c, sites)
		m = manager.New(manager.Options{})
		m.AddControllers(c)
		Example_events()
		check(t, m.Run(ctx))
		if n := s.Requests().Writes(); n != 1 {
			t.Errorf("%d requests wrote, want 1 for the event", n)
		}
	})
}

// The recipes of references queue the websites that name a Secret or a ConfigMap.
func TestReferencesRecipe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := fake.New(fake.Options{})
		check(t, fake.Register(s, website.Websites, fake.Rules{}))
		check(t, fake.Register(s, core.Secrets, fake.Rules{}))
		check(t, fake.Register(s, core.ConfigMaps, fake.Rules{}))
		for name, notes := range map[string]map[string]string{
			"shop": {"example.com/secret": "key", "example.com/configs": "one two"},
			"blog": nil,
		} {
			site := fake.Object(&website.Website{}, "prod", name)
			site.Annotations = notes
			_, err := fake.Create(s, site)
			check(t, err)
		}
		server = client.Connection{URL: fake.URL, HTTP: s.Client()}
		sites = kinform.Open(server, website.Websites)
		secrets = kinform.Open(server, core.Secrets)
		configMaps = kinform.Open(server, core.ConfigMaps)
		var called []string
		c = controller.New("websites", func(_ context.Context, key kinform.Key) error {
			called = append(called, key.Name)
			return nil
		})
		Example_references()
		Example_manyReferences()
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- c.Run(ctx) }()
		synctest.Wait()
		called = nil
		_, err := fake.Create(s, fake.Object(&corev1.Secret{}, "prod", "key"))
		check(t, err)
		synctest.Wait()
		_, err = fake.Create(s, fake.Object(&corev1.ConfigMap{}, "prod", "two"))
		check(t, err)
		synctest.Wait()
		if want := []string{"shop", "shop"}; !slices.Equal(called, want) {
			t.Errorf("reconcile was called for %v, want %v", called, want)
		}
		stop()
		check(t, <-ended)
	})
}
