package controller

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/kind"
)

// page is an object of the tests of this file.
type page struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
}

var pages = kind.Of[*page](schema.GroupVersion{Group: "example.com", Version: "v1"}, "pages")

// TestListAllOfPart: a list of a part of a large collection says nothing about the other objects, and
// does not count all that reads have, which would cost as much as the collection is large. Nor does one
// that fails.
func TestListAllOfPart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := fake.New(fake.Options{})
		if err := fake.Register(server, pages, fake.Rules{}); err != nil {
			t.Fatal(err)
		}
		const size = fewObjects + 100
		for n := range size {
			if _, err := fake.Create(server, &page{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: fmt.Sprint("p", n)}}); err != nil {
				t.Fatal(err)
			}
		}
		away := false
		transport := tripper(func(r *http.Request) (*http.Response, error) {
			if away {
				return nil, errors.New("connection reset by peer")
			}
			return server.Client().Transport.RoundTrip(r)
		})
		h := Open(client.Connection{URL: fake.URL, HTTP: &http.Client{Transport: transport}}, pages)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- h.Run(ctx) }()
		synctest.Wait()
		if n := len(h.List("", nil)); n != size {
			t.Fatalf("the cache has %d objects, want %d", n, size)
		}
		r := h.engine.(*requests[*page])
		l := nowLook[*page]{from: r.cache.version(), cache: r.cache, recorder: r.recorder, sources: sourcesWithin(r, nil, nil)}
		for _, c := range []struct {
			limit    int64
			away     bool
			complete bool
		}{{fewObjects, false, false}, {0, false, true}, {0, true, true}} {
			away = c.away
			lacks, complete, err := listAll(ctx, &l, c.limit)
			if (err != nil) != c.away || complete != c.complete || len(lacks) > 0 {
				t.Errorf("limit %d, away %t: lacks %d objects, complete %t, %v", c.limit, c.away, len(lacks), complete, err)
			}
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// tripper is a function as a RoundTripper.
type tripper func(*http.Request) (*http.Response, error)

func (f tripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
