//go:build e2e

package e2e_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/controller"
	"github.com/kinform/kinform/controller/manager"
	"github.com/kinform/kinform/e2e/cluster"
	"github.com/kinform/kinform/shard/leader"
	"github.com/kinform/kinform/with/kubernetes/core"
)

// listed counts the lists of a program.
type listed struct {
	through http.RoundTripper
	n       atomic.Int32
}

func (l *listed) RoundTrip(r *http.Request) (*http.Response, error) {
	query := r.URL.Query()
	if strings.HasSuffix(r.URL.Path, "/configmaps") && r.Method == http.MethodGet && (!query.Has("watch") || query.Has("sendInitialEvents")) {
		l.n.Add(1)
	}
	return l.through.RoundTrip(r)
}

// TestLeaseTakenAway takes the Lease of a program away by hand, and kills the API server for longer than the lease. The
// program goes on each time, with what has changed, and not before it leads again. If only the Lease is taken away, it
// does not list again.
func TestLeaseTakenAway(t *testing.T) {
	c := cluster.Start(t, cluster.Options{})
	conn := connect(t, c)
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	own := types.NamespacedName{Namespace: "default", Name: "taken"}
	leases, err := client.New(conn, leader.Kind, client.Options{Namespace: own.Namespace})
	must(t, err)
	maps, err := client.New(conn, core.ConfigMaps, client.Options{Namespace: own.Namespace})
	must(t, err)
	change := func(value int) {
		t.Helper()
		_, err := maps.Patch(ctx, own, types.MergePatchType, []byte(`{"data":{"wanted":"`+strconv.Itoa(value)+`"}}`), metav1.PatchOptions{})
		must(t, err)
	}
	hold := func(holder string, seconds int) {
		t.Helper()
		spec := fmt.Sprintf(`{"spec":{"holderIdentity":%q,"leaseDurationSeconds":%d}}`, holder, seconds)
		_, err := leases.Patch(ctx, own, types.MergePatchType, []byte(spec), metav1.PatchOptions{})
		must(t, err)
	}
	_, err = maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: own.Name, Labels: map[string]string{"test": "taken"}}}, metav1.CreateOptions{})
	must(t, err)

	through := &listed{through: conn.HTTP.Transport}
	counted := conn
	counted.HTTP = &http.Client{Transport: through}
	quiet := slog.New(slog.DiscardHandler)
	elector := leader.New(conn, leader.Options{
		Namespace: own.Namespace, Name: own.Name, Logger: quiet, LeaseDuration: leaseDuration, RenewDeadline: renewDeadline, RetryPeriod: retryPeriod,
	})
	handle := kinform.Open(elector.Gate(counted), core.ConfigMaps, controller.OpenOptions[*corev1.ConfigMap]{Client: client.Options{Namespace: own.Namespace, LabelSelector: "test=taken"}})
	var mu sync.Mutex
	done := ""
	program := controller.New("taken", func(ctx context.Context, key kinform.Key) error {
		m, ok := handle.Cached(key)
		if !ok {
			return nil
		}
		_, err := handle.Patch(ctx, key, types.MergePatchType, []byte(`{"data":{"done":"`+m.Data["wanted"]+`"}}`), metav1.PatchOptions{})
		mu.Lock()
		defer mu.Unlock()
		if err == nil {
			done = m.Data["wanted"]
		}
		return err
	}, controller.Options[kinform.Key]{Logger: quiet})
	controller.For(program, handle)
	m := manager.New(manager.Options{Elector: elector, Logger: quiet})
	m.AddControllers(program)
	work(ctx, t, m.Run)
	has := func(value int) func() bool {
		return func() bool {
			mu.Lock()
			defer mu.Unlock()
			return done == strconv.Itoa(value)
		}
	}
	change(0)
	must(t, eventually(ctx, has(0)))
	lists := through.n.Load()
	for round := 1; round <= 3; round++ {
		if round < 3 {
			hold("somebody", 60) // seconds, in which no other process may lead
			must(t, eventually(ctx, func() bool { return !elector.Leads() }))
			change(round)
			for range 10 {
				time.Sleep(leaseDuration / 6)
				m, err := maps.Get(ctx, own, metav1.GetOptions{})
				must(t, err)
				if elector.Leads() || m.Data["wanted"] != strconv.Itoa(round) || m.Data["done"] != strconv.Itoa(round-1) {
					t.Errorf("leads: %v, and the server has %v in round %d", elector.Leads(), m.Data, round)
				}
			}
			hold("", 1) // given up
		} else {
			if n := through.n.Load() - lists; n > 0 || lists == 0 {
				t.Errorf("%d lists, and %d after the Lease was lost", lists, n)
			}
			c.APIServer.Kill() // a watch that breaks may need a list, see package reflector
			must(t, eventually(ctx, func() bool { return !elector.Leads() }))
			must(t, c.APIServer.Start(ctx))
			change(round)
		}
		must(t, eventually(ctx, elector.Leads))
		began := time.Now()
		must(t, eventually(ctx, has(round)))
		t.Logf("round %d: the first reconcile is over %v after the election", round, time.Since(began))
	}
}
