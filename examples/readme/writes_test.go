package main

import (
	"context"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/fake"
)

// patches counts the writes that pass through it.
type patches struct {
	http.RoundTripper
	n atomic.Int64
}

func (p *patches) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodPatch {
		p.n.Add(1)
	}
	return p.RoundTripper.RoundTrip(r)
}

// The controller of the README writes only what changed, and not to nodes that are gone.
func TestWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer("node-1", "node-2")
		newPod(server, 0, "node-1")
		newPod(server, 1, "node-3") // does not exist
		sent := &patches{RoundTripper: server.Client().Transport}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			ended <- countPods(ctx, client.Connection{URL: fake.URL, HTTP: &http.Client{Transport: sent}})
		}()
		quiet := func(after string, want int64) {
			t.Helper()
			time.Sleep(time.Hour)
			synctest.Wait()
			if n := sent.n.Load(); n != want {
				t.Errorf("%d patches after %s, want %d", n, after, want)
			}
		}
		quiet("the start", 2)
		for n := range 100 {
			pod, err := fake.Get[*corev1.Pod](server, kinform.Key{Namespace: "prod", Name: "web-0"})
			must(err)
			pod = pod.DeepCopy()
			pod.Labels = map[string]string{"version": fmt.Sprint(n)}
			_, err = fake.Update(server, pod)
			must(err)
		}
		quiet("100 unrelated updates of a pod", 2)
		_, err := fake.Delete[*corev1.Node](server, kinform.Key{Name: "node-2"})
		must(err)
		quiet("the deletion of a node", 2)
		newPod(server, 2, "node-2")
		quiet("a pod of a deleted node", 2)
		newPod(server, 3, "node-1")
		quiet("one more pod", 3)
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}
