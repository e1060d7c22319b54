//go:build e2e

package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/controller"
	"github.com/kinform/kinform/e2e/cluster"
	"github.com/kinform/kinform/with/kubernetes/core"
)

// lossy does not send creations while it is on.
type lossy struct {
	next http.RoundTripper
	on   atomic.Bool
}

func (l *lossy) RoundTrip(r *http.Request) (*http.Response, error) {
	if l.on.Load() && r.Method == http.MethodPost {
		return nil, errors.New("connection reset by peer")
	}
	return l.next.RoundTrip(r)
}

// TestLostCreation: a creation by generateName is lost, and then nothing changes in the collection.
// Reads are as new as the server soon, with and without bookmarks.
func TestLostCreation(t *testing.T) {
	for _, cached := range []bool{true, false} {
		t.Run(fmt.Sprint("watch cache ", cached), func(t *testing.T) {
			c := cluster.Start(t, cluster.Options{ExtraAPIServerArgs: []string{fmt.Sprint("--watch-cache=", cached)}})
			conn, err := client.NewConnection(c.URL(), client.ConnectionOptions{CAFile: c.CAFile(), Token: c.Token()})
			must(t, err)
			defer conn.HTTP.CloseIdleConnections()
			wire := &lossy{next: conn.HTTP.Transport}
			lost := conn
			lost.HTTP = &http.Client{Transport: wire}
			for _, size := range []int{10, 600} {
				testLostCreation(t, lost, wire, size)
			}
		})
	}
}

func testLostCreation(t *testing.T, conn client.Connection, wire *lossy, size int) {
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	label := map[string]string{"test": fmt.Sprint("lost-", size)}
	handle := controller.Open(conn, core.ConfigMaps, controller.OpenOptions[*corev1.ConfigMap]{
		Client: client.Options{Namespace: "default", LabelSelector: "test=" + label["test"]},
	})
	for n := range size {
		_, err := handle.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("lost-%d-%d", size, n), Labels: label}}, metav1.CreateOptions{})
		must(t, err)
	}
	running, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- handle.Run(running) }()
	must(t, handle.WaitForSync(ctx))
	others := resource(t, conn, core.ConfigMaps, client.Options{Namespace: "default"})
	fastest := time.Hour
	for round := range 3 {
		// The version moves, and no event says so.
		_, err := others.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("other-%d-%d", size, round), Namespace: "default"}}, metav1.CreateOptions{})
		must(t, err)
		wire.on.Store(true)
		_, err = handle.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "lost-", Labels: label}}, metav1.CreateOptions{})
		wire.on.Store(false)
		if err == nil {
			t.Fatal("the creation was not lost")
		}
		began := time.Now()
		must(t, handle.CatchUp(ctx))
		caughtUp := time.Since(began)
		began = time.Now()
		must(t, handle.WaitForNow(ctx))
		now := time.Since(began)
		t.Logf("%d objects: CatchUp took %v, WaitForNow %v", size, caughtUp, now)
		fastest = min(fastest, max(caughtUp, now))
	}
	// At most half a second until the server is asked, two seconds until a watch has had no bookmark, and a list.
	// A busy machine may hold up one round, and hardly all.
	if fastest > 3*time.Second {
		t.Errorf("%d objects: the fastest round took %v", size, fastest)
	}
	stop()
	must(t, <-ended)
}
