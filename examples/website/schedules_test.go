package website_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/examples/internal/stage"
	"github.com/kinform/kinform/examples/website"
	"github.com/kinform/kinform/fake"
)

// TestSchedules runs the controller on bad days, with other writers and restarts. It then has what the
// user wants: one Deployment, and one removal of the record.
func TestSchedules(t *testing.T) {
	stage.BadDays(t, 50, 1000, func(t *testing.T, seed uint64) *stage.Stage { return schedule(t, seed).Stage })
}

// schedule is one bad day.
func schedule(t *testing.T, seed uint64) *world {
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
			_, _ = fake.Patch[*website.Website](w.Server, shop, label) // if it is there
		case 1:
			_, _ = fake.Patch[*appsv1.Deployment](w.Server, shop, label)
		case 2:
			_, _ = fake.Patch[*appsv1.Deployment](w.Server, shop, []byte(`{"spec":{"replicas":7}}`))
		case 3:
			_, _ = fake.Patch[*website.Website](w.Server, shop, fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, 1+n(5)))
		}
	}
	restart := func() {
		w.Stop()
		w.Start()
	}
	quiet := func() {
		calm.Store(true)
		w.GoodDay()
	}

	w.Stop()
	w.Before = others
	w.BadDay(seed * 1000)
	w.Start()
	first := w.create()
	for range 10 {
		time.Sleep(time.Duration(n(30_000)) * time.Millisecond)
		switch others(); n(6) {
		case 0:
			restart()
		case 1:
			_, _ = fake.Delete[*appsv1.Deployment](w.Server, shop) // if it is there
		case 2:
			w.Server.DropWatches()
		}
	}
	quiet()
	w.wantDeployment()
	w.wantReady(metav1.ConditionFalse, "Starting")
	if all, err := fake.List[*appsv1.Deployment](w.Server, fake.Selection{}); err != nil || len(all) != 1 {
		t.Errorf("%d Deployments, %v", len(all), err)
	}
	if len(w.dns.hosts) != 1 || w.dns.hosts[first.UID] != first.Spec.Host {
		t.Errorf("records %v, want one of %s", w.dns.hosts, first.UID)
	}

	// The user deletes the site, and perhaps makes a new one of the same name.
	calm.Store(false)
	w.BadDay(seed*1000 + 500)
	_, err := fake.Delete[*website.Website](w.Server, shop)
	w.Check(err)
	if n(2) == 0 {
		time.Sleep(time.Duration(n(5000)) * time.Millisecond)
		restart()
	}
	for n(3) > 0 {
		time.Sleep(time.Duration(n(20_000)) * time.Millisecond)
	}
	var second *website.Website
	if _, err := fake.Get[*website.Website](w.Server, shop); apierrors.IsNotFound(err) && n(2) == 0 {
		second = w.create()
	}
	quiet()
	if w.dns.removed[first.UID] != 1 || w.dns.hosts[first.UID] != "" || len(w.dns.late) > 0 {
		t.Errorf("records %v, removed %v, set after that %v", w.dns.hosts, w.dns.removed, w.dns.late)
	}
	if second != nil {
		w.wantDeployment()
		return w
	}
	if _, err := fake.Get[*website.Website](w.Server, shop); !apierrors.IsNotFound(err) {
		t.Errorf("the site is there: %v", err)
	}
	if _, err := fake.Get[*appsv1.Deployment](w.Server, shop); !apierrors.IsNotFound(err) {
		t.Errorf("the Deployment is there: %v", err)
	}
	return w
}
