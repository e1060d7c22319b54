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
	"github.com/kinform/kinform/examples/internal/stage"
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
	fail    int               // so many calls of Set fail
	removes int               // calls of Remove
	removed map[types.UID]int // records that a call of Remove took away
}

func (r *records) Set(_ context.Context, site *website.Website) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fail > 0 {
		r.fail--
		return errors.New("no")
	}
	if _, gone := r.removed[site.UID]; gone { // a cache is behind
		return nil
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
	r.removed[site.UID] += 0 // also if there is no record yet
	if _, has := r.hosts[site.UID]; has {
		r.removed[site.UID]++
		delete(r.hosts, site.UID)
	}
	return nil
}

// world is a server in memory, a DNS, and a controller at work.
type world struct {
	*stage.Stage
	t   *testing.T
	dns *records
	// seen are the requests up to the last call of sent.
	seen fake.Requests
}

func newWorld(t *testing.T, opts fake.Options) *world {
	w := &world{t: t, dns: &records{hosts: map[types.UID]string{}, removed: map[types.UID]int{}}}
	w.Stage = stage.New(t, opts, func(ctx context.Context, server client.Connection) error {
		return website.Run(ctx, server, w.dns)
	}, stage.Kind(website.Websites), stage.Kind(apps.Deployments))
	return w
}

// sent returns the requests since the last call, without lists and watches.
func (w *world) sent() fake.Requests {
	now := w.Server.Requests()
	sent := now.Since(w.seen)
	w.seen = now
	for request := range sent {
		if request.Verb == faults.VerbList || request.Verb == faults.VerbWatch {
			delete(sent, request)
		}
	}
	return sent
}

func (w *world) create() *website.Website {
	w.t.Helper()
	site, err := fake.Create(w.Server, fake.Object(&website.Website{
		Spec: website.WebsiteSpec{Host: "shop.example.com", Image: "shop:1", Replicas: 2},
	}, shop.Namespace, shop.Name))
	w.Check(err)
	return site
}

func (w *world) site() *website.Website {
	w.t.Helper()
	site, err := fake.Get[*website.Website](w.Server, shop)
	w.Check(err)
	return site
}

func (w *world) deployment() *appsv1.Deployment {
	w.t.Helper()
	deployment, err := fake.Get[*appsv1.Deployment](w.Server, shop)
	w.Check(err)
	return deployment
}

// run plays the controller of Deployments: it is so many generations behind, and so many replicas are missing.
func (w *world) run(behind int64, missing int32) {
	w.t.Helper()
	d := w.deployment()
	d.Status.ObservedGeneration, d.Status.AvailableReplicas = d.Generation-behind, *d.Spec.Replicas-missing
	_, err := fake.UpdateStatus(w.Server, d)
	w.Check(err)
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
	stage.NoWarnings(t)
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, fake.Options{CollectGarbage: true})
		site := w.create()
		w.Settle()
		w.wantDeployment()
		w.wantReady(metav1.ConditionFalse, "Starting")
		if !slices.Equal(w.site().Finalizers, []string{"example.com/dns"}) || w.dns.hosts[site.UID] != "shop.example.com" {
			t.Errorf("finalizers %v, records %v", w.site().Finalizers, w.dns.hosts)
		}
		w.run(0, 1) // one replica is missing
		w.Settle()
		w.wantReady(metav1.ConditionFalse, "Starting")
		w.run(0, 0)
		w.Settle()
		w.wantReady(metav1.ConditionTrue, "Available")
		w.run(1, 0) // the numbers are of an older spec
		w.Settle()
		w.wantReady(metav1.ConditionFalse, "Starting")
		w.run(0, 0)
		w.Settle()
		w.wantReady(metav1.ConditionTrue, "Available")

		_, err := fake.Patch[*website.Website](w.Server, shop, []byte(`{"spec":{"replicas":3,"image":"shop:2"}}`))
		w.Check(err)
		w.Settle()
		w.wantDeployment()
		w.wantReady(metav1.ConditionFalse, "Starting")

		_, err = fake.Delete[*website.Website](w.Server, shop)
		w.Check(err)
		w.Settle()
		if _, err := fake.Get[*website.Website](w.Server, shop); !apierrors.IsNotFound(err) {
			t.Errorf("the site is there: %v", err)
		}
		if _, err := fake.Get[*appsv1.Deployment](w.Server, shop); !apierrors.IsNotFound(err) {
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
		w.Settle()
		if sent := w.sent(); len(sent) == 0 {
			t.Error("no request at all was seen")
		}
		sets := w.dns.setCalls()
		for n := range 100 {
			label := fmt.Appendf(nil, `{"metadata":{"labels":{"n":"%d"}}}`, n)
			_, err := fake.Patch[*website.Website](w.Server, shop, label)
			w.Check(err)
			w.Settle()
			_, err = fake.Patch[*appsv1.Deployment](w.Server, shop, label)
			w.Check(err)
			w.Settle()
		}
		if n := w.dns.setCalls() - sets; n < 200 {
			t.Errorf("%d reconciles after 200 events", n)
		}
		if sent := w.sent(); len(sent) > 0 {
			t.Errorf("the requests are %v", sent)
		}
	})
}

// As long as there is no record, there is no Deployment.
func TestNoRecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, fake.Options{})
		w.dns.fail = 10
		site := w.create()
		synctest.Wait()
		if all, err := fake.List[*appsv1.Deployment](w.Server, fake.Selection{}); err != nil || len(all) > 0 {
			t.Errorf("%d Deployments without a record, %v", len(all), err)
		}
		w.Settle()
		w.wantDeployment()
		if w.dns.hosts[site.UID] != "shop.example.com" {
			t.Errorf("the records are %v", w.dns.hosts)
		}
	})
}

// The watch of Deployments brings nothing, so the cache has only what the controller itself wrote. That is
// enough to see that nothing is to do. It is for two minutes, then the write counts as lost.
func TestReadsItsOwnWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, fake.Options{})
		w.Stop()
		silent := faults.Fault{Silent: true, After: 1, Times: -1} // after the end of the initial list
		silent.Verb, silent.Resource = faults.VerbWatch, apps.Deployments.GroupResource()
		w.Check(w.Server.Inject(silent))
		w.Start()
		w.create()
		time.Sleep(10 * time.Second)
		w.sent()
		sets := w.dns.setCalls()
		_, err := fake.Patch[*website.Website](w.Server, shop, []byte(`{"metadata":{"labels":{"a":"b"}}}`))
		w.Check(err)
		time.Sleep(10 * time.Second)
		if n, sent := w.dns.setCalls()-sets, w.sent(); n == 0 || len(sent) > 0 {
			t.Errorf("%d reconciles sent %v", n, sent)
		}
		_, err = fake.Patch[*website.Website](w.Server, shop, []byte(`{"spec":{"replicas":5}}`))
		w.Check(err)
		time.Sleep(10 * time.Second)
		w.wantDeployment()
		w.wantReady(metav1.ConditionFalse, "Starting")
	})
}

// A status that the server does not take is written again.
func TestStatusRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, fake.Options{})
		w.create()
		w.Settle()
		w.Check(w.Server.Inject(faults.Fault{
			Verb: faults.VerbPatch, Resource: website.Websites.GroupResource(), Times: 3,
			Status: faults.Refusal(http.StatusForbidden, metav1.StatusReasonForbidden, 0),
		}))
		w.run(0, 0) // only the status of the site must change
		w.Settle()
		w.wantReady(metav1.ConditionTrue, "Available")
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
					w.Check(w.Server.Inject(faults.Fault{
						Verb: verb, Resource: apps.Deployments.GroupResource(), Times: -1, Status: faults.Refusal(code, reason, 0),
					}))
					w.create()
					w.Settle()
					_, err := fake.Patch[*website.Website](w.Server, shop, []byte(`{"spec":{"image":"shop:2"}}`))
					w.Check(err)
					w.Settle()
					w.wantReady(metav1.ConditionFalse, string(reason))
					before := w.site().ResourceVersion
					w.Settle()
					if now := w.site().ResourceVersion; now != before {
						t.Error("the site was written again, with nothing new to say")
					}
					w.Server.ClearFaults()
					w.Settle()
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
				theirs, err := fake.Create(w.Server, theirs)
				w.Check(err)
				w.create()
				w.Settle()
				if now := w.deployment(); now.ResourceVersion != theirs.ResourceVersion {
					t.Errorf("the Deployment was changed: %+v", now)
				}
				w.wantReady(metav1.ConditionFalse, "NameTaken")
				_, err = fake.Delete[*appsv1.Deployment](w.Server, shop)
				w.Check(err)
				time.Sleep(time.Second) // the retries are minutes apart by now
				synctest.Wait()
				w.wantDeployment()
				w.wantReady(metav1.ConditionFalse, "Starting")
			})
		})
	}
}
