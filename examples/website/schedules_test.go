package website_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/examples/website"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/fake/faults"
	"github.com/kinform/kinform/internal/longtest"
)

// badDay lets requests fail, before or after the server has carried them out, and watches break and lag.
func badDay(seed uint64) []faults.Fault {
	chance := func(p float64, f faults.Fault) faults.Fault {
		seed++
		f.Chance, f.Seed = p, seed
		return f
	}
	day := []faults.Fault{
		chance(0.1, faults.Fault{Verb: faults.VerbGet, Status: faults.Refusal(http.StatusInternalServerError, metav1.StatusReasonInternalError, 0)}),
		chance(0.2, faults.Fault{Verb: faults.VerbWatch, CutEvents: 3}),
		chance(0.4, faults.Fault{Verb: faults.VerbWatch, Delay: 20 * time.Second, After: 1}),
		chance(0.1, faults.Fault{Verb: faults.VerbList, CutBytes: 20}),
	}
	for _, verb := range []faults.Verb{faults.VerbCreate, faults.VerbPatch} {
		day = append(day,
			chance(0.15, faults.Fault{Verb: verb, Status: faults.Refusal(http.StatusInternalServerError, metav1.StatusReasonInternalError, 0)}),
			chance(0.1, faults.Fault{Verb: verb, Status: faults.Refusal(http.StatusConflict, metav1.StatusReasonConflict, 0)}),
			chance(0.2, faults.Fault{Verb: verb, CutBytes: 1}), // carried out, and the answer is lost
		)
	}
	return day
}

// TestSchedules runs the controller on bad days, with other writers and restarts. It then has what the
// user wants: one Deployment, and one removal of the record.
func TestSchedules(t *testing.T) {
	var failed, conflicts, lost int
	for seed := range longtest.N[uint64](50, 1000) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				for _, f := range schedule(t, seed) {
					switch read := f.Verb == faults.VerbList || f.Verb == faults.VerbWatch; {
					case f.Status != nil && apierrors.IsConflict(f.Status):
						conflicts++
					case f.Status != nil:
						failed++
					case f.CutBytes > 0 && !read:
						lost++
					}
				}
			})
		})
	}
	t.Logf("%d requests failed, %d had a conflict, %d answers to writes were lost", failed, conflicts, lost)
	if failed < 50 || conflicts < 20 || lost < 20 {
		t.Error("the days were not bad enough")
	}
}

// schedule is one bad day. It returns the faults that struck.
func schedule(t *testing.T, seed uint64) []faults.Fault {
	w := newWorld(t, fake.Options{CollectGarbage: true})
	var mu sync.Mutex
	random := rand.New(rand.NewPCG(seed, 0))
	n := func(max int) int {
		mu.Lock()
		defer mu.Unlock()
		return random.IntN(max)
	}
	// others write between a read of the controller and its write.
	var calm atomic.Bool
	others := func() {
		if calm.Load() {
			return
		}
		label := fmt.Appendf(nil, `{"metadata":{"labels":{"others":"%d"}}}`, n(1000))
		switch n(8) {
		case 0:
			_, _ = fake.Patch[*website.Website](w.server, shop, label) // if it is there
		case 1:
			_, _ = fake.Patch[*appsv1.Deployment](w.server, shop, label)
		case 2:
			_, _ = fake.Patch[*appsv1.Deployment](w.server, shop, []byte(`{"spec":{"replicas":7}}`))
		case 3:
			_, _ = fake.Patch[*website.Website](w.server, shop, fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, 1+n(5)))
		}
	}
	restart := func() {
		w.stop()
		w.start()
	}
	quiet := func() {
		calm.Store(true)
		w.server.ClearFaults()
		w.server.DropWatches()
		w.settle()
	}

	w.stop()
	w.before = others
	w.check(w.server.Inject(badDay(seed * 1000)...))
	w.start()
	first := w.create()
	for range 10 {
		time.Sleep(time.Duration(n(30_000)) * time.Millisecond)
		switch others(); n(6) {
		case 0:
			restart()
		case 1:
			_, _ = fake.Delete[*appsv1.Deployment](w.server, shop) // if it is there
		case 2:
			w.server.DropWatches()
		}
	}
	quiet()
	w.wantDeployment()
	w.wantReady(metav1.ConditionFalse, "Starting")
	if all, err := fake.List[*appsv1.Deployment](w.server, fake.Selection{}); err != nil || len(all) != 1 {
		t.Errorf("%d Deployments, %v", len(all), err)
	}
	if len(w.dns.hosts) != 1 || w.dns.hosts[first.UID] != first.Spec.Host {
		t.Errorf("records %v, want one of %s", w.dns.hosts, first.UID)
	}

	// The user deletes the site, and perhaps makes a new one of the same name.
	calm.Store(false)
	w.check(w.server.Inject(badDay(seed*1000 + 500)...))
	_, err := fake.Delete[*website.Website](w.server, shop)
	w.check(err)
	if n(2) == 0 {
		time.Sleep(time.Duration(n(5000)) * time.Millisecond)
		restart()
	}
	for n(3) > 0 {
		time.Sleep(time.Duration(n(20_000)) * time.Millisecond)
	}
	var second *website.Website
	if _, err := fake.Get[*website.Website](w.server, shop); apierrors.IsNotFound(err) && n(2) == 0 {
		second = w.create()
	}
	quiet()
	if w.dns.removed[first.UID] != 1 || w.dns.hosts[first.UID] != "" || len(w.dns.late) > 0 {
		t.Errorf("records %v, removed %v, set after that %v", w.dns.hosts, w.dns.removed, w.dns.late)
	}
	if second != nil {
		w.wantDeployment()
		return w.server.Struck()
	}
	if _, err := fake.Get[*website.Website](w.server, shop); !apierrors.IsNotFound(err) {
		t.Errorf("the site is there: %v", err)
	}
	if _, err := fake.Get[*appsv1.Deployment](w.server, shop); !apierrors.IsNotFound(err) {
		t.Errorf("the Deployment is there: %v", err)
	}
	return w.server.Struck()
}
