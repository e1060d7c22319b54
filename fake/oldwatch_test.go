package fake_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/kinform/kinform/fake"
)

// TestOldWatch watches by the paths that Kubernetes deprecated.
func TestOldWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := statusServer(t, fake.Options{})
		must(fake.Create(s, newPod("a", "p")))(t)
		must(fake.Create(s, newPod("a", "q")))(t)
		must(fake.Create(s, newPod("b", "p")))(t)
		for _, c := range []struct {
			method, path string
			code, events int
		}{
			{"GET", "/api/v1/watch/pods", 200, 3},
			{"GET", "/api/v1/watch/namespaces/a/pods", 200, 2},
			{"GET", "/api/v1/watch/namespaces/a/pods/p", 200, 1},
			{"GET", "/api/v1/watch/namespaces/a/pods/none", 200, 0},
			{"POST", "/api/v1/watch/namespaces/a/pods", 405, 0},
			{"GET", "/api/v1/watch/nothing", 404, 0},
			{"GET", "/api/v1/watch/pods/p", 404, 0},
			{"GET", "/api/v1/watch/namespaces/a/pods/p/status", 404, 0},
			{"HEAD", "/api/v1/namespaces/a/pods/p", 405, 0},
			{"HEAD", "/version", 405, 0},
			{"HEAD", "/healthz", 200, 0},
		} {
			req := must(http.NewRequestWithContext(t.Context(), c.method, fake.URL+c.path+"?timeoutSeconds=1", http.NoBody))(t)
			resp := must(s.Client().Do(req))(t)
			var b strings.Builder
			must(io.Copy(&b, resp.Body))(t)
			check(t, resp.Body.Close())
			if n := strings.Count(b.String(), `"type":"ADDED"`); resp.StatusCode != c.code || n != c.events {
				t.Errorf("%s %s: %d with %d events, want %d with %d", c.method, c.path, resp.StatusCode, n, c.code, c.events)
			}
		}
	})
}
