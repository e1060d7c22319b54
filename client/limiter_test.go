package client_test

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/time/rate"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/internal/limited"
	"github.com/kinform/kinform/kind"
)

// A transport knows how long its request has waited for the limiter.
func TestLimiterWait(t *testing.T) {
	for _, limiter := range []*rate.Limiter{nil, rate.NewLimiter(rate.Every(time.Second), 1)} {
		synctest.Test(t, func(t *testing.T) {
			var waits []time.Duration
			limits := 0
			server := client.Connection{URL: "http://example.com", Limiter: limiter, Retries: -1, HTTP: &http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
				wait, ok := limited.Wait(r.Context())
				waits = append(waits, wait)
				if ok {
					limits++
				}
				return nil, http.ErrServerClosed
			})}}
			pods, err := client.New(server, kind.OfResource[*widget](widgets), client.Options{})
			if err != nil {
				t.Fatal(err)
			}
			for range 3 {
				if _, err := pods.Get(t.Context(), types.NamespacedName{Namespace: "a", Name: "b"}, metav1.GetOptions{}); err == nil {
					t.Error("no error")
				}
			}
			if limiter == nil && (limits != 0 || waits[2] != 0) || limiter != nil && (limits != 3 || waits[0] != 0 || waits[1] != time.Second || waits[2] != time.Second) {
				t.Errorf("limiter %v: %d of the requests were limited, waits %v", limiter != nil, limits, waits)
			}
		})
	}
}
