package ops

import (
	"context"
	"fmt"
	"net/http/httptest"
	"time"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/log"
	metrics "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/kinform/kinform/bench/internal/measure"
	jointwin "github.com/kinform/kinform/bench/twins/join"
	sitetwin "github.com/kinform/kinform/bench/twins/website"
	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/examples/join"
	"github.com/kinform/kinform/examples/website"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/kind"
	"github.com/kinform/kinform/with/kubernetes/apps"
	"github.com/kinform/kinform/with/kubernetes/core"
	"github.com/kinform/kinform/with/kubernetes/discovery"
)

// example is a whole program of examples/ as its users run it, beside its twin with controller-runtime.
type example struct {
	object, started, changed string // of the titles
	ours                     func(context.Context, client.Connection) error
	twin                     func(context.Context, *rest.Config) error
	register                 func(*fake.Server) error
	create                   func(s *fake.Server, key key) error
	// change has the program write once more, and differs from round to round.
	change func(s *fake.Server, key key, round int) error
	// done reports whether the program has written all that the object needs.
	done func(s *fake.Server, key key, round int) (bool, error)
}

var examples = map[string]example{
	"join": {
		object: "Service", started: "have an annotation", changed: "removed annotation, event and reconcile with a PATCH",
		ours:     join.Run,
		twin:     jointwin.Run,
		register: registerAll(fakeKind(core.Services), fakeKind(core.Pods), fakeKind(discovery.EndpointSlices)),
		create: func(s *fake.Server, key key) error {
			service := &corev1.Service{Spec: corev1.ServiceSpec{Selector: map[string]string{"app": key.Name}}}
			if _, err := fake.Create(s, fake.Object(service, key.Namespace, key.Name)); err != nil {
				return err
			}
			_, err := fake.Create(s, fake.Object(&corev1.Pod{}, key.Namespace, key.Name, fake.Labels("app", key.Name)))
			return err
		},
		change: func(s *fake.Server, key key, _ int) error {
			return changed(s, key, func(service *corev1.Service) { delete(service.Annotations, join.Annotation) })
		},
		done: func(s *fake.Server, key key, _ int) (bool, error) {
			service, err := fake.Get[*corev1.Service](s, key)
			return err == nil && service.Annotations[join.Annotation] == "0/1", err
		},
	},
	"website": {
		object: "Website", started: "have a Deployment, a finalizer and a condition", changed: "change of the image, to the Deployment and the condition",
		ours: func(ctx context.Context, server client.Connection) error {
			return website.Run(ctx, server, noDNS[*website.Website]{})
		},
		twin: func(ctx context.Context, server *rest.Config) error {
			return sitetwin.Run(ctx, server, noDNS[*sitetwin.Website]{})
		},
		register: registerAll(fakeKind(website.Websites), fakeKind(apps.Deployments)),
		create: func(s *fake.Server, key key) error {
			site := &website.Website{Spec: website.WebsiteSpec{Host: key.Name + ".example.com", Image: "nginx:0", Replicas: 2}}
			_, err := fake.Create(s, fake.Object(site, key.Namespace, key.Name))
			return err
		},
		change: func(s *fake.Server, key key, round int) error {
			return changed(s, key, func(site *website.Website) { site.Spec.Image = imageOf(round) })
		},
		done: func(s *fake.Server, key key, round int) (bool, error) {
			site, err := fake.Get[*website.Website](s, key)
			if err != nil || len(site.Status.Conditions) == 0 || site.Status.Conditions[0].ObservedGeneration != site.Generation {
				return false, err
			}
			d, err := fake.Get[*appsv1.Deployment](s, key)
			return err == nil && d.Spec.Template.Spec.Containers[0].Image == imageOf(round), err
		},
	},
}

func imageOf(round int) string { return fmt.Sprint("nginx:", round) }

// noDNS is the DNS of Websites. It keeps nothing.
type noDNS[T any] struct{}

func (noDNS[T]) Set(context.Context, T) error    { return nil }
func (noDNS[T]) Remove(context.Context, T) error { return nil }

func fakeKind[T metav1.Object](k *kind.Kind[T]) func(*fake.Server) error {
	return func(s *fake.Server) error { return fake.Register(s, k, fake.Rules{}) }
}

func registerAll(all ...func(*fake.Server) error) func(*fake.Server) error {
	return func(s *fake.Server) error {
		for _, register := range all {
			if err := register(s); err != nil {
				return err
			}
		}
		return nil
	}
}

func changed[T metav1.Object](s *fake.Server, key key, change func(T)) error {
	_, err := fake.Change(s, key, func(obj T) error {
		change(obj)
		return nil
	})
	return err
}

// beginExample starts an example in a process that ends without stopping it.
func beginExample(ctx context.Context, what Program) error {
	is := examples[what.Example]
	if what.With != "kinform" {
		metrics.DefaultBindAddress = "0" // none
		log.SetLogger(logr.Discard())    // conflicts: its caches are behind its own writes
		go func() { _ = is.twin(ctx, &rest.Config{Host: what.URL, QPS: -1}) }()
		return nil
	}
	server, err := client.NewConnection(what.URL, client.ConnectionOptions{})
	go func() { _ = is.ours(ctx, server) }()
	return err
}

// Rest waits until the process has rested for a moment, and returns what it has used.
func (p *programs) Rest(_ int, used *Used) error {
	const moment, work = 50 * time.Millisecond, 2 * time.Millisecond
	for before := processTime(); ; {
		time.Sleep(moment)
		now := processTime()
		if now-before < work {
			return p.use(used)
		}
		before = now
	}
}

// ServeExample is Serve for the n objects of an example.
func (c *cluster) ServeExample(of Program, url *string) error {
	const each = 10 // in a namespace
	c.server, c.example = fake.New(fake.Options{}), examples[of.Example]
	if err := c.example.register(c.server); err != nil {
		return err
	}
	for i := range of.Objects {
		at := key{Namespace: fmt.Sprintf("ns-%04d", i/each), Name: fmt.Sprintf("object-%05d", i)}
		if err := c.example.create(c.server, at); err != nil {
			return err
		}
		c.nodes = append(c.nodes, at)
	}
	*url = httptest.NewServer(c.server).URL // until the process ends
	return nil
}

// ChangeExample has the program write each object once more.
func (c *cluster) ChangeExample(int, *int) error {
	c.next++
	for _, at := range c.nodes {
		if err := c.example.change(c.server, at, c.next); err != nil {
			return err
		}
	}
	return nil
}

// AwaitExample waits until the program has written all objects.
func (c *cluster) AwaitExample(int, *int) error {
	for _, at := range c.nodes {
		for {
			done, err := c.example.done(c.server, at, c.next)
			if done {
				break
			}
			if err != nil && !apierrors.IsNotFound(err) {
				return err
			}
			time.Sleep(time.Millisecond)
		}
	}
	return nil
}

// exampleOps are the operations on examples.
func exampleOps(w *World) (all []measure.Op) {
	n := max(min(w.Pods/50, 1000), 1)
	for _, name := range []string{"join", "website"} {
		is := examples[name]
		op := func(part, title string, run func(*program) (Used, error), more ...measure.Line) {
			title = name + ", beside controller-runtime: " + title
			per := " per " + is.object
			lines := []measure.Line{
				{Title: title + ", processor time" + per, Unit: measure.Nanoseconds, Goal: 3},
				{Title: title + ", allocations" + per, Unit: measure.Allocs, Goal: 3},
			}
			for _, l := range more {
				l.Title = title + l.Title
				lines = append(lines, l)
			}
			all = append(all, measure.Op{
				Name: "whole/" + name + "-" + part, Whole: true, Rounds: 6, Lines: lines,
				Setup: func() (measure.Sides, error) {
					return wholeSides("controller-runtime", Program{Example: name, Objects: n}, n, run)
				},
			})
		}
		op("start", fmt.Sprintf("start until %s %s", some(n, is.object, is.object+"s"), is.started), (*program).anew,
			measure.Line{Title: ", peak of resident memory", Unit: peakRSS, Goal: 1})
		op("change", is.changed, (*program).change)
	}
	return all
}

// anew starts the program with a new cluster, where nothing is written yet.
func (p *program) anew() (used Used, err error) {
	p.close()
	if err := p.serve(); err != nil {
		return used, err
	}
	return p.start()
}

// change returns what it takes to write each object once more.
func (p *program) change() (used Used, err error) {
	if err := p.cluster.calls.Call("Cluster.ChangeExample", 0, nil); err != nil {
		return used, err
	}
	return p.awaitExample()
}

// awaitExample waits until all objects are written.
func (p *program) awaitExample() (used Used, err error) {
	if err = p.cluster.calls.Call("Cluster.AwaitExample", 0, nil); err == nil {
		err = p.process.calls.Call("Program.Rest", 0, &used)
	}
	return used, err
}
