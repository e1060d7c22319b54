package clientgo_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/flowcontrol"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/with/clientgo"
)

// seen is a transport that keeps the headers of the last request.
type seen struct {
	next   http.RoundTripper
	header http.Header
}

func (s *seen) RoundTrip(r *http.Request) (*http.Response, error) {
	s.header = r.Header.Clone()
	return s.next.RoundTrip(r)
}

func TestConnection(t *testing.T) {
	server, _ := newServer(t)
	_, err := fake.Create(server, newMap("one", "1"))
	check(t, err)
	requests := func(t *testing.T, rc *rest.Config, n int) time.Duration {
		conn, err := clientgo.Connection(rc)
		check(t, err)
		maps, err := client.New(conn, configMaps, client.Options{})
		check(t, err)
		began := time.Now()
		for range n {
			_, err := maps.Get(t.Context(), types.NamespacedName{Namespace: "n", Name: "one"}, metav1.GetOptions{})
			check(t, err)
		}
		return time.Since(began)
	}
	wire := &seen{next: server.Client().Transport}
	base := rest.Config{Host: fake.URL, Transport: wire}
	t.Run("headers", func(t *testing.T) {
		rc := base
		rc.BearerToken, rc.UserAgent = "secret", "me"
		rc.Impersonate = rest.ImpersonationConfig{UserName: "jane", Groups: []string{"ops"}}
		rc.Wrap(func(next http.RoundTripper) http.RoundTripper { return wrapped{next} })
		requests(t, &rc, 1)
		for name, want := range map[string]string{
			"Authorization": "Bearer secret", "User-Agent": "me", "Impersonate-User": "jane", "Impersonate-Group": "ops", "Wrapped": "yes",
		} {
			if got := wire.header.Get(name); got != want {
				t.Errorf("%s is %q, want %q", name, got, want)
			}
		}
	})
	for name, test := range map[string]struct {
		change func(*rest.Config)
		want   time.Duration // of 20 requests
	}{
		"default": {func(*rest.Config) {}, 2 * time.Second},
		"QPS":     {func(rc *rest.Config) { rc.QPS, rc.Burst = 1, 5 }, 15 * time.Second},
		"none":    {func(rc *rest.Config) { rc.QPS = -1 }, 0},
		"limiter": {func(rc *rest.Config) { rc.RateLimiter = flowcontrol.NewTokenBucketRateLimiter(2, 4) }, 8 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				rc := base
				test.change(&rc)
				if took := requests(t, &rc, 20); took.Round(time.Second/10) != test.want {
					t.Errorf("20 requests took %v, want %v", took, test.want)
				}
			})
		})
	}
}

type wrapped struct{ http.RoundTripper }

func (w wrapped) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Wrapped", "yes")
	return w.RoundTripper.RoundTrip(r)
}

func TestConnectionRefuses(t *testing.T) {
	for name, rc := range map[string]*rest.Config{
		"nil":     nil,
		"no host": {Host: "http://%zz"},
		"no file": {Host: "https://server", TLSClientConfig: rest.TLSClientConfig{CAFile: "missing.pem"}},
	} {
		if _, err := clientgo.Connection(rc); err == nil || !strings.HasPrefix(err.Error(), "clientgo: ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A request that waits for a limiter of client-go ends with its context.
func TestConnectionLimiterEnds(t *testing.T) {
	server, _ := newServer(t)
	conn, err := clientgo.Connection(&rest.Config{Host: fake.URL, Transport: server.Client().Transport, RateLimiter: flowcontrol.NewTokenBucketRateLimiter(0.0001, 1)})
	check(t, err)
	maps, err := client.New(conn, configMaps, client.Options{})
	check(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	_, _ = maps.Get(ctx, types.NamespacedName{Namespace: "n", Name: "one"}, metav1.GetOptions{})
	cancel()
	if _, err := maps.Get(ctx, types.NamespacedName{Namespace: "n", Name: "one"}, metav1.GetOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}
