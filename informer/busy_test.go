package informer_test

import (
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/kind"
	"github.com/kinform/kinform/reflector"
)

// However long a server was busy that asked to come again in a second: once it answers, all informers are
// right within seconds.
func TestBusyServerAnswersAgain(t *testing.T) {
	for _, code := range []int{429, 503} {
		for _, informers := range []int{1, 4, 30, 100} {
			for _, outage := range []time.Duration{20 * time.Second, 45 * time.Second, 75 * time.Second, 6 * time.Minute} {
				t.Run(fmt.Sprint(code, "/", informers, "/", outage), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) { busyServer(t, code, informers, outage) })
				})
			}
		}
	}
}

func busyServer(t *testing.T, code, informers int, outage time.Duration) {
	server := newServer(t)
	must1(fake.Create(server, newWidget("n", "a", "")))(t)
	inner := server.Client()
	var busy atomic.Bool
	var requests atomic.Int64
	refuse := answering(code, map[int]string{429: "TooManyRequests", 503: "ServiceUnavailable"}[code], "", "Retry-After", "1")
	conn := client.Connection{URL: fake.URL, HTTP: &http.Client{Transport: trip(func(req *http.Request) (*http.Response, error) {
		if busy.Load() {
			requests.Add(1)
			return refuse(req)
		}
		return inner.Transport.RoundTrip(req)
	})}, Breaker: new(reflector.Breaker)}
	var all []*informer.Informer[key, *widget]
	for range informers {
		inf := newInformer(t, must1(client.New(conn, kind.OfResource[*widget](widgetsResource).Named("Widget"), client.Options{}))(t), informer.Options[*widget]{OnError: ignore})
		defer run(t, inf)()
		all = append(all, inf)
	}
	time.Sleep(time.Minute)
	busy.Store(true)
	server.DropWatches()
	time.Sleep(outage / 2)
	w := must1(fake.Get[*widget](server, key{Namespace: "n", Name: "a"}))(t)
	w.Spec.Size = 7
	must1(fake.Update(server, w))(t)
	time.Sleep(outage / 2)
	busy.Store(false)
	began := time.Now()
	for stale := informers; stale > 0; {
		time.Sleep(50 * time.Millisecond)
		synctest.Wait()
		stale = 0
		for _, inf := range all {
			if w, ok := inf.Store().Get(key{Namespace: "n", Name: "a"}); !ok || w.Spec.Size != 7 {
				stale++
			}
		}
	}
	if late := time.Since(began); late > 5*time.Second {
		t.Errorf("all informers are right after %v", late)
	}
	if n, most := int(requests.Load()), 100+4*informers+6*int(outage/time.Second); n > most {
		t.Errorf("%d requests in %v, not %d at most", n, outage, most)
	}
}
