package leader_test

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/shard/leader"
)

// gated is an elector whose work the test controls, and a client behind its gate.
type gated struct {
	*leader.Elector
	wire    *wire
	slow    atomic.Bool // writes through the gate wait for a connection for ever
	client  *client.Resource[*leader.Lease]
	terms   chan context.Context
	release chan struct{} // work returns
	end     context.CancelFunc
	ended   chan error
}

func (s *scene) gated(identity string) *gated {
	g := &gated{wire: &wire{next: s.server.Client().Transport}, terms: make(chan context.Context), release: make(chan struct{}), ended: make(chan error, 10)}
	server := client.Connection{URL: fake.URL, HTTP: &http.Client{Transport: g.wire}}
	g.Elector = leader.New(server, leader.Options{Namespace: key.Namespace, Name: key.Name, Identity: identity, OnError: func(error) {}})
	must(s.t, g.Err())
	server.HTTP = &http.Client{Transport: roundTripper(func(req *http.Request) (*http.Response, error) {
		if g.slow.Load() {
			<-req.Context().Done()
			return nil, req.Context().Err()
		}
		return s.server.Client().Transport.RoundTrip(req)
	})}
	var err error
	g.client, err = client.New(g.Gate(server), leader.Kind, client.Options{Namespace: "other"}) // any kind will do
	must(s.t, err)
	ctx, end := context.WithCancel(context.Background())
	g.end = end
	go func() {
		for ctx.Err() == nil {
			g.ended <- g.Lead(ctx, func(ctx context.Context) {
				g.terms <- ctx
				<-g.release
			})
		}
	}()
	return g
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func (g *gated) write(ctx context.Context) error {
	_, err := g.client.Create(ctx, &leader.Lease{ObjectMeta: metav1.ObjectMeta{GenerateName: "w"}}, metav1.CreateOptions{})
	return err
}

// wantRefused checks that a write is not sent.
func (g *gated) wantRefused(t *testing.T, when string, ctx context.Context) {
	t.Helper()
	if err := g.write(ctx); !errors.Is(err, client.ErrNotSent) {
		t.Errorf("%s: %v", when, err)
	}
}

// Writes pass while the process holds the Lease, and those of a term in that term only.
func TestGate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t)
		g := s.gated("a")
		plain := t.Context()
		g.wantRefused(t, "before it leads", plain)
		if _, err := g.client.Get(plain, types.NamespacedName{Namespace: "other", Name: "none"}, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			t.Errorf("a read: %v", err)
		}
		first := <-g.terms
		settle()
		must(t, g.write(plain))
		must(t, g.write(first))
		time.Sleep(time.Second)
		g.wire.set(true, nil) // the last renewal is one second old
		time.Sleep(9*time.Second - time.Nanosecond)
		must(t, g.write(first))
		time.Sleep(time.Nanosecond)
		stubborn := context.WithoutCancel(first)
		g.wantRefused(t, "after the lease", plain)
		g.wantRefused(t, "after the lease, without a cancel", stubborn)
		settle()
		if err := g.write(first); !errors.Is(err, client.ErrNotSent) || !errors.Is(err, leader.ErrExpired) {
			t.Errorf("after the lease, in the term: %v", err)
		}
		g.wire.set(false, nil)
		g.release <- struct{}{}
		second := <-g.terms
		settle()
		must(t, g.write(plain))
		must(t, g.write(second))
		g.wantRefused(t, "in the next term", stubborn)

		g.end()
		settle()
		must(t, g.write(plain)) // it holds the Lease until work has returned
		must(t, g.write(context.WithoutCancel(second)))
		g.release <- struct{}{}
		settle()
		g.wantRefused(t, "after the end", plain)
		g.wantRefused(t, "after the end, without a cancel", context.WithoutCancel(second))
	})
}

// The end of the lease ends a write that is under way, whatever its context is.
func TestGateUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t)
		g := s.gated("a")
		<-g.terms
		g.slow.Store(true)
		failed := make(chan error, 1)
		go func() { failed <- g.write(t.Context()) }()
		s.edit(func(l *leader.LeaseSpec) { l.HolderIdentity = pointer("somebody") })
		began := time.Now()
		if err := <-failed; err == nil || errors.Is(err, client.ErrNotSent) || time.Since(began) > 2*time.Second {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
		g.end()
		g.release <- struct{}{}
	})
}

// A write of work that has no answer keeps the Lease for as long as others wait after the end of a lease. If the Lease is
// lost, work that has returned is over at once.
func TestGateUnclear(t *testing.T) {
	for name, test := range map[string]struct {
		lost bool
		want time.Duration
	}{"stop": {false, 5 * time.Second}, "lost": {true, 0}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScene(t)
				g := s.gated("a")
				ctx := <-g.terms
				g.slow.Store(true)
				failed := make(chan error, 1)
				go func() { failed <- g.write(ctx) }()
				settle()
				if test.lost {
					g.wire.set(true, nil)
				} else {
					g.end()
				}
				if err := <-failed; err == nil {
					t.Error("no error")
				}
				began := time.Now()
				g.release <- struct{}{}
				<-g.ended
				if took := time.Since(began); took != test.want {
					t.Errorf("Lead returned after %v", took)
				}
				if holder := *s.lease().Spec.HolderIdentity; holder == "" == test.lost {
					t.Errorf("the holder is %q", holder)
				}
				g.end()
			})
		})
	}
}

// A write that is under way when work returns is not sent later, whatever its context is: the Lease may be given up by
// then.
func TestGateAfterWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t)
		g := s.gated("a")
		ctx := <-g.terms
		g.slow.Store(true)
		failed := make(chan error, 1)
		go func() { failed <- g.write(context.WithoutCancel(ctx)) }()
		settle()
		g.end()
		g.release <- struct{}{}
		began := time.Now()
		if err := <-failed; err == nil || errors.Is(err, client.ErrNotSent) || time.Since(began) != 0 {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
		<-g.ended
		if took := time.Since(began); took != 5*time.Second {
			t.Errorf("Lead returned after %v", took)
		}
	})
}
