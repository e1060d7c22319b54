//go:build e2e

package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/e2e/beside"
	"github.com/kinform/kinform/e2e/cluster"
	"github.com/kinform/kinform/e2e/oracle"
	"github.com/kinform/kinform/fake/faketest"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/kind"
	"github.com/kinform/kinform/reflector"
	"github.com/kinform/kinform/store"
	"github.com/kinform/kinform/with/kubernetes/core"
)

var events = core.Events

const (
	// expiring is the number of Events. The API server gives all that it stores within a
	// twentieth of eventTTL one lease of etcd, but not more than 1000.
	expiring = 400
	eventTTL = 20 * time.Second
	// together is how many Events have to expire at one version. On a busy machine, they have
	// several leases.
	together = 50
)

// TestEventsExpire has many Events expire together. etcd deletes all keys of a lease in one
// transaction, so their deletions have one resourceVersion.
func TestEventsExpire(t *testing.T) {
	c := cluster.Start(t, cluster.Options{ExtraAPIServerArgs: []string{"--event-ttl=" + eventTTL.String()}})
	conn, err := client.NewConnection(c.URL(), client.ConnectionOptions{CAFile: c.CAFile(), Token: c.Token()})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.HTTP.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	server := &oracle.Client{URL: c.URL(), HTTP: c.HTTPClient()}
	opts := client.Options{Namespace: "default"}
	typed := resource(t, conn, events, opts)
	caches := []expiringCache{
		newExpiringCache(t, "typed", expiring, typed, store.ObjectKey),
		newExpiringCache(t, "metadata", expiring, resource(t, conn, kind.As[*metav1.PartialObjectMetadata](events), opts), store.ObjectKey),
		newExpiringCache(t, "every second", expiring/2, reflector.Filter(typed, func(ev *corev1.Event) bool { return ev.Count%2 == 1 }), store.ObjectKey),
	}
	running, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, len(caches))
	for _, cache := range caches {
		go func() { ended <- cache.run(running) }()
	}
	for _, cache := range caches {
		if err := cache.synced(ctx); err != nil {
			t.Fatal(err)
		}
	}
	_, rv, err := oracle.List[metav1.PartialObjectMetadata](ctx, server, oracle.Path("events", "default", ""), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	err = oracle.Each(ctx, expiring, 0, func(ctx context.Context, i int) error {
		_, err := oracle.Create(ctx, server, oracle.Path("events", "default", ""), newEvent(i))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	most := 0
	for rv, n := range deletions(ctx, t, server, rv) {
		t.Logf("%d Events expired at resourceVersion %s", n, rv)
		most = max(most, n)
	}
	if most < together {
		t.Errorf("no more than %d Events expired at one resourceVersion, so the test shows nothing", most)
	}
	limited, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for _, cache := range caches {
		cache.check(limited, t)
	}
	stop()
	for range caches {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

func newEvent(i int) *corev1.Event {
	return &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprintf("event-%03d", i)},
		InvolvedObject: corev1.ObjectReference{Namespace: "default"},
		Count:          int32(i),
	}
}

// deletions watches the Events from rv until all are deleted, and returns the number of
// deletions by resourceVersion.
func deletions(ctx context.Context, t *testing.T, server *oracle.Client, rv string) map[string]int {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+oracle.Path("events", "default", "")+"?watch=true&resourceVersion="+rv, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := server.HTTP.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	deleted := map[string]int{}
	stream := json.NewDecoder(resp.Body)
	for n := 0; n < expiring; {
		var ev struct {
			Type   string
			Object metav1.PartialObjectMetadata
		}
		if err := stream.Decode(&ev); err != nil {
			t.Fatalf("after %d deletions: %v", n, err)
		}
		if ev.Type == "DELETED" {
			deleted[ev.Object.ResourceVersion]++
			n++
		}
	}
	return deleted
}

// expiringCache is an informer of Events in any form, with two handlers.
type expiringCache struct {
	name   string
	run    func(context.Context) error
	synced func(context.Context) error
	// check fails the test unless the store becomes empty and the handlers see every Event come
	// and go.
	check func(ctx context.Context, t *testing.T)
}

// newExpiringCache returns a cache that will have n Events.
func newExpiringCache[T any](t *testing.T, name string, n int, source reflector.Source[T], keyOf store.KeyFunc[key, T]) expiringCache {
	t.Helper()
	said := &beside.Complaints{}
	inf, err := informer.New(source, keyOf, informer.Options[T]{OnError: said.Note})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[bool]*faketest.Histories[key, T]{false: {}, true: {}}
	for coalesces, seen := range seen {
		handle := func(ev informer.Event[key, T]) { record(seen, ev) }
		if _, err := inf.AddHandler(informer.HandlerFunc[key, T](handle), informer.HandlerOptions[T]{Coalesce: coalesces}); err != nil {
			t.Fatal(err)
		}
	}
	check := func(ctx context.Context, t *testing.T) {
		t.Helper()
		if err := eventually(ctx, func() bool { return inf.Store().Len() == 0 }); err != nil {
			t.Errorf("%s: %d Events did not expire: %v; %s; %+v", name, inf.Store().Len(), err, said.Why(), inf.Stats())
			return
		}
		for coalesces, seen := range seen {
			if err := eventually(ctx, func() bool { return seen.Events() >= 2*n }); err != nil {
				t.Errorf("%s: the handler with Coalesce %t saw %d events of %d Events: %v", name, coalesces, seen.Events(), n, err)
			}
			for k := range seen.Live() {
				t.Errorf("%s: the handler with Coalesce %t did not see %v expire", name, coalesces, k)
			}
			if err := seen.Err(); err != nil {
				t.Errorf("%s: the handler with Coalesce %t: %v", name, coalesces, err)
			}
		}
		if err := beside.FalseAlarm(inf.Stats()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	return expiringCache{name: name, run: inf.Run, synced: inf.WaitForSync, check: check}
}
