package website_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/examples/website"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/fake/faults"
	"github.com/kinform/kinform/with/kubernetes/apps"
)

func TestMain(m *testing.M) {
	slog.SetLogLoggerLevel(slog.LevelError + 1) // failed reconciles are wanted here
	goleak.VerifyTestMain(m)
}

var shop = kinform.Key{Namespace: "prod", Name: "shop"}

// records is a DNS in memory.
type records struct {
	mu      sync.Mutex
	hosts   map[types.UID]string
	sets    int               // calls of Set
	removes int               // calls of Remove
	removed map[types.UID]int // records that a call of Remove took away
	late    []types.UID       // records that were set after their removal
}

func (r *records) Set(_ context.Context, site *website.Website) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.removed[site.UID] > 0 {
		r.late = append(r.late, site.UID)
	}
	r.hosts[site.UID] = site.Spec.Host
	r.sets++
	return nil
}

func (r *records) setCalls() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.sets
}

func (r *records) Remove(_ context.Context, site *website.Website) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.removes++
	if _, has := r.hosts[site.UID]; has {
		r.removed[site.UID]++
		delete(r.hosts, site.UID)
	}
	return nil
}

// world is a server in memory, a DNS, and a controller at work.
type world struct {
	t      *testing.T
	server *fake.Server
	dns    *records
	// stop ends the controller.
	stop func()

	mu       sync.Mutex
	requests []string // method and path of what the controller sent, without lists and watches
	// before runs ahead of each write, outside the lock.
	before func()
}

func newWorld(t *testing.T, opts fake.Options) *world {
	w := &world{t: t, server: fake.New(opts)}
	w.dns = &records{hosts: map[types.UID]string{}, removed: map[types.UID]int{}}
	w.check(errors.Join(fake.Register(w.server, website.Websites, fake.Rules{}), fake.Register(w.server, apps.Deployments, fake.Rules{})))
	w.start()
	t.Cleanup(func() { w.stop() })
	return w
}

func (w *world) check(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// RoundTrip notes each request of the controller.
func (w *world) RoundTrip(r *http.Request) (*http.Response, error) {
	if resource := r.URL.Path[len(r.URL.Path)-1]; r.Method != http.MethodGet || resource != 's' {
		w.mu.Lock()
		w.requests = append(w.requests, r.Method+" "+r.URL.Path)
		w.mu.Unlock()
	}
	if r.Method != http.MethodGet && w.before != nil {
		w.before()
	}
	return w.server.Client().Transport.RoundTrip(r)
}

func (w *world) start() {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- website.Run(ctx, client.Connection{URL: fake.URL, HTTP: &http.Client{Transport: w}}, w.dns)
	}()
	w.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			w.t.Error(err)
		}
	})
}

// settle waits until nothing is left to do.
func (w *world) settle() {
	time.Sleep(time.Hour)
	synctest.Wait()
}

// sent returns the requests since the last call.
func (w *world) sent() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	defer func() { w.requests = nil }()
	return w.requests
}

func (w *world) create() *website.Website {
	w.t.Helper()
	site, err := fake.Create(w.server, fake.Object(&website.Website{
		Spec: website.WebsiteSpec{Host: "shop.example.com", Image: "shop:1", Replicas: 2},
	}, shop.Namespace, shop.Name))
	w.check(err)
	return site
}

func (w *world) site() *website.Website {
	w.t.Helper()
	site, err := fake.Get[*website.Website](w.server, shop)
	w.check(err)
	return site
}

func (w *world) deployment() *appsv1.Deployment {
	w.t.Helper()
	deployment, err := fake.Get[*appsv1.Deployment](w.server, shop)
	w.check(err)
	return deployment
}

// run plays the controller of Deployments: all replicas are there.
func (w *world) run() {
	w.t.Helper()
	d := w.deployment()
	d.Status.ObservedGeneration, d.Status.AvailableReplicas = d.Generation, *d.Spec.Replicas
	_, err := fake.UpdateStatus(w.server, d)
	w.check(err)
}

// wantReady checks the condition of the site.
func (w *world) wantReady(status metav1.ConditionStatus, reason string) {
	w.t.Helper()
	site := w.site()
	got := meta.FindStatusCondition(site.Status.Conditions, "Ready")
	if got == nil || got.Status != status || got.Reason != reason || got.ObservedGeneration != site.Generation {
		w.t.Errorf("the condition is %+v, want %s, %s at generation %d", got, status, reason, site.Generation)
	}
}

// wantDeployment checks that the Deployment is as the site asks.
func (w *world) wantDeployment() {
	w.t.Helper()
	site, d := w.site(), w.deployment()
	if !metav1.IsControlledBy(d, site) || len(d.OwnerReferences) != 1 || d.OwnerReferences[0].Kind != "Website" {
		w.t.Errorf("the owners are %+v", d.OwnerReferences)
	}
	if *d.Spec.Replicas != site.Spec.Replicas || d.Spec.Template.Spec.Containers[0].Image != site.Spec.Image {
		w.t.Errorf("the Deployment does not fit %+v: %+v", site.Spec, d.Spec)
	}
}

func TestLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, fake.Options{CollectGarbage: true})
		site := w.create()
		w.settle()
		w.wantDeployment()
		w.wantReady(metav1.ConditionFalse, "Starting")
		if !slices.Equal(w.site().Finalizers, []string{"example.com/dns"}) || w.dns.hosts[site.UID] != "shop.example.com" {
			t.Errorf("finalizers %v, records %v", w.site().Finalizers, w.dns.hosts)
		}
		w.run()
		w.settle()
		w.wantReady(metav1.ConditionTrue, "Available")

		_, err := fake.Patch[*website.Website](w.server, shop, []byte(`{"spec":{"replicas":3,"image":"shop:2"}}`))
		w.check(err)
		w.settle()
		w.wantDeployment()
		w.wantReady(metav1.ConditionFalse, "Starting")

		_, err = fake.Delete[*website.Website](w.server, shop)
		w.check(err)
		w.settle()
		if _, err := fake.Get[*website.Website](w.server, shop); !apierrors.IsNotFound(err) {
			t.Errorf("the site is there: %v", err)
		}
		if _, err := fake.Get[*appsv1.Deployment](w.server, shop); !apierrors.IsNotFound(err) {
			t.Errorf("the Deployment is there: %v", err)
		}
		if len(w.dns.hosts) > 0 || w.dns.removed[site.UID] != 1 || w.dns.removes != 1 {
			t.Errorf("records %v, removed %v by %d calls", w.dns.hosts, w.dns.removed, w.dns.removes)
		}
	})
}

// A reconcile that finds nothing to change sends nothing, not even a read.
func TestSendsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, fake.Options{CollectGarbage: true})
		w.create()
		w.settle()
		if sent := w.sent(); len(sent) == 0 {
			t.Error("no request at all was seen")
		}
		sets := w.dns.setCalls()
		for n := range 100 {
			label := fmt.Appendf(nil, `{"metadata":{"labels":{"n":"%d"}}}`, n)
			_, err := fake.Patch[*website.Website](w.server, shop, label)
			w.check(err)
			w.settle()
			_, err = fake.Patch[*appsv1.Deployment](w.server, shop, label)
			w.check(err)
			w.settle()
		}
		if n := w.dns.setCalls() - sets; n < 200 {
			t.Errorf("%d reconciles after 200 events", n)
		}
		if sent := w.sent(); len(sent) > 0 {
			t.Errorf("%d requests were sent, such as %s", len(sent), sent[0])
		}
	})
}

// The watch of Deployments brings nothing, so the cache has only what the controller itself wrote. That is
// enough to see that nothing is to do. It is for two minutes, then the write counts as lost.
func TestReadsItsOwnWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, fake.Options{})
		w.stop()
		silent := faults.Fault{Silent: true, After: 1, Times: -1} // after the end of the initial list
		silent.Verb, silent.Resource = faults.VerbWatch, apps.Deployments.GroupResource()
		w.check(w.server.Inject(silent))
		w.start()
		w.create()
		time.Sleep(10 * time.Second)
		w.sent()
		sets := w.dns.setCalls()
		_, err := fake.Patch[*website.Website](w.server, shop, []byte(`{"metadata":{"labels":{"a":"b"}}}`))
		w.check(err)
		time.Sleep(10 * time.Second)
		if n, sent := w.dns.setCalls()-sets, w.sent(); n == 0 || len(sent) > 0 {
			t.Errorf("%d reconciles sent %v", n, sent)
		}
		_, err = fake.Patch[*website.Website](w.server, shop, []byte(`{"spec":{"replicas":5}}`))
		w.check(err)
		time.Sleep(10 * time.Second)
		w.wantDeployment()
		w.wantReady(metav1.ConditionFalse, "Starting")
	})
}

// The condition says that the server refuses the Deployment, and says so once.
func TestRefused(t *testing.T) {
	for _, verb := range []faults.Verb{faults.VerbCreate, faults.VerbPatch} {
		for reason, code := range map[metav1.StatusReason]int{
			metav1.StatusReasonInvalid: http.StatusUnprocessableEntity, metav1.StatusReasonForbidden: http.StatusForbidden,
		} {
			t.Run(fmt.Sprint(verb, reason), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w := newWorld(t, fake.Options{})
					w.check(w.server.Inject(faults.Fault{
						Verb: verb, Resource: apps.Deployments.GroupResource(), Times: -1, Status: faults.Refusal(code, reason, 0),
					}))
					w.create()
					w.settle()
					_, err := fake.Patch[*website.Website](w.server, shop, []byte(`{"spec":{"image":"shop:2"}}`))
					w.check(err)
					w.settle()
					w.wantReady(metav1.ConditionFalse, string(reason))
					before := w.site().ResourceVersion
					w.settle()
					if now := w.site().ResourceVersion; now != before {
						t.Error("the site was written again, with nothing new to say")
					}
					w.server.ClearFaults()
					w.settle()
					w.wantDeployment()
					w.wantReady(metav1.ConditionFalse, "Starting")
				})
			})
		}
	}
}

// A Deployment of another owner, or of none, is left alone. When it is gone, the site gets its own.
func TestNameTaken(t *testing.T) {
	yes := true
	for name, owners := range map[string][]metav1.OwnerReference{
		"of nobody":        nil,
		"of another":       {{APIVersion: "example.com/v1", Kind: "Website", Name: "shop", UID: "another", Controller: &yes}},
		"of another kind":  {{APIVersion: "example.com/v1", Kind: "Shop", Name: "shop", UID: "1", Controller: &yes}},
		"of no controller": {{APIVersion: "example.com/v1", Kind: "Website", Name: "shop", UID: "2"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, fake.Options{}) // a garbage collector would delete what has no owner that exists
				theirs := fake.Object(&appsv1.Deployment{}, shop.Namespace, shop.Name)
				theirs.OwnerReferences = owners
				theirs, err := fake.Create(w.server, theirs)
				w.check(err)
				w.create()
				w.settle()
				if now := w.deployment(); now.ResourceVersion != theirs.ResourceVersion {
					t.Errorf("the Deployment was changed: %+v", now)
				}
				w.wantReady(metav1.ConditionFalse, "NameTaken")
				_, err = fake.Delete[*appsv1.Deployment](w.server, shop)
				w.check(err)
				time.Sleep(time.Second) // the retries are minutes apart by now
				synctest.Wait()
				w.wantDeployment()
				w.wantReady(metav1.ConditionFalse, "Starting")
			})
		})
	}
}
