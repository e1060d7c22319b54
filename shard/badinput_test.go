package shard_test

import (
	"context"
	"errors"
	"iter"
	"math"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/fake/faults"
	"github.com/kinform/kinform/kind"
	"github.com/kinform/kinform/shard"
	"github.com/kinform/kinform/shard/leader"
)

var leaseResource = schema.GroupResource{Group: "coordination.k8s.io", Resource: "leases"}

func leaseKey(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: namespace, Name: name}
}

func TestOptions(t *testing.T) {
	for want, change := range map[string]func(*shard.Options){
		"Options.Name":          func(o *shard.Options) { o.Name = "" },
		"at most 63":            func(o *shard.Options) { o.Name = strings.Repeat("n", 64) },
		"Options.Namespace":     func(o *shard.Options) { o.Namespace = "A" },
		"Options.Identity":      func(o *shard.Options) { o.Identity = strings.Repeat("n", 254) },
		"Options.Scheme":        func(o *shard.Options) { o.Scheme = "\xff" },
		"Weight (-1)":           func(o *shard.Options) { o.Weight = -1 },
		"from 1 to 1000000":     func(o *shard.Options) { o.Weight = math.MaxInt },
		"Options.LeaseDuration": func(o *shard.Options) { o.LeaseDuration = time.Second },
		"twice RetryPeriod":     func(o *shard.Options) { o.RetryPeriod = 5 * time.Second },
		"not be negative":       func(o *shard.Options) { o.Grace = -1 },
	} {
		opts := shard.Options{Namespace: namespace, Name: name}
		change(&opts)
		_, err := shard.New(client.Connection{URL: "http://localhost"}, opts)
		if !errors.Is(err, shard.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say %q", err, want)
		}
	}
	if _, err := shard.New(client.Connection{}, shard.Options{Namespace: namespace, Name: name}); err == nil {
		t.Error("no error without a URL")
	}
}

func TestDivideNil(t *testing.T) {
	r, err := shard.New(client.Connection{URL: "http://localhost"}, shard.Options{Namespace: namespace, Name: name})
	must(t, err)
	if _, err := shard.Divide(r, shard.Keys[int]{}, nil); !errors.Is(err, shard.ErrInvalid) {
		t.Error(err)
	}
}

// TestStarted: Run once, and Divide before it.
func TestStarted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t)
		defer s.end()
		p := s.start(s.options("a"))
		synctest.Wait()
		if err := p.replica.Run(t.Context()); !errors.Is(err, shard.ErrStarted) || err.Error() != "shard: "+namespace+"/"+name+": Run was called before" {
			t.Error(err)
		}
		keys := shard.Keys[int]{Hashed: func(int) string { return "" }, All: func() iter.Seq[int] { return func(func(int) bool) {} }, Add: func(int) {}}
		if _, err := shard.Divide(p.replica, keys, func(context.Context, int) error { return nil }); !errors.Is(err, shard.ErrStarted) || !strings.Contains(err.Error(), namespace+"/"+name) {
			t.Error(err)
		}
	})
}

// TestTwoControllers: of two controllers under one name, the second one waits.
func TestTwoControllers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t)
		defer s.end()
		a := s.start(s.options("a"))
		s.settled(takeover)
		opts := s.options("b")
		opts.Scheme = "namespace"
		b := s.start(opts)
		time.Sleep(time.Minute)
		if !b.reported(shard.ErrScheme) || b.share() != 0 || a.share() != s.keys {
			t.Errorf("a has %d keys, b has %d and said %v", a.share(), b.share(), b.errs)
		}
		a.leave() // and nobody uses the old scheme any more
		s.settled(2 * takeover)
		if b.share() != s.keys {
			t.Errorf("b has %d keys", b.share())
		}
	})
}

// TestTwins: the second process with an identity gets nothing before the first has ended.
func TestTwins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t)
		defer s.end()
		a := s.start(s.options("a"))
		s.settled(takeover)
		twin := s.start(s.options("a"))
		time.Sleep(30 * time.Second)
		if !twin.reported(shard.ErrIdentity) || twin.share() != 0 {
			t.Errorf("the twin has %d keys and said %v", twin.share(), twin.errs)
		}
		a.leave()
		s.settled(6 * time.Second)
		if twin.share() != s.keys {
			t.Errorf("the twin has %d keys", twin.share())
		}
	})
}

// TestForeign: the name is a leader election's.
func TestForeign(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t)
		defer s.end()
		_, err := fake.Create(s.server, &leader.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}})
		must(t, err)
		p := s.start(s.options("a"))
		time.Sleep(time.Minute)
		if !p.reported(shard.ErrForeign) || p.share() != 0 {
			t.Errorf("%d keys, %v", p.share(), p.errs)
		}
		s.delete(name)
		s.settled(takeover + 5*time.Second)
	})
}

// TestForbidden: permissions are missing, and are granted later.
func TestForbidden(t *testing.T) {
	for _, verb := range []faults.Verb{faults.VerbList, faults.VerbCreate, faults.VerbPatch} {
		t.Run(string(verb), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScene(t)
				defer s.end()
				refused := faults.Fault{Verb: verb, Resource: leaseResource, Times: -1, Status: apierrors.NewForbidden(leaseResource, "", errors.New("no RBAC"))}
				if verb == faults.VerbList {
					watch := refused
					watch.Verb = faults.VerbWatch
					must(t, s.server.Inject(watch))
				}
				must(t, s.server.Inject(refused))
				p := s.start(s.options("a"))
				time.Sleep(time.Minute)
				if p.share() != 0 || !p.said("grant the verbs get, list, watch, create, patch and delete on leases") {
					t.Errorf("%d keys, %v", p.share(), p.errs)
				}
				s.server.ClearFaults()
				s.settled(3 * takeover)
			})
		})
	}
}

// TestNoLeases: the server has no Leases.
func TestNoLeases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t)
		s.server = fake.New(fake.Options{})
		defer s.end()
		p := s.start(s.options("a"))
		time.Sleep(time.Minute)
		if p.share() != 0 || !p.said("the server has no Leases of coordination.k8s.io/v1") {
			t.Errorf("%d keys, %v", p.share(), p.errs)
		}
	})
}

// TestNoServer: nothing answers, and Run ends all the same.
func TestNoServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t)
		defer s.end()
		p := s.start(s.options("a"))
		p.cut.Store(true)
		time.Sleep(time.Minute)
		p.leave()
	})
}

// TestGate: writes end with the lease, and with the reconcile.
func TestGate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t)
		defer s.end()
		type widget = leader.Lease // any kind will do
		widgets := &kind.Kind[*widget]{GroupVersionKind: leader.Kind.GroupVersionKind, Resource: leader.Kind.Resource, Scope: leader.Kind.Scope}
		server := client.Connection{URL: fake.URL, HTTP: s.server.Client()}
		through := func(r *shard.Replica) *client.Resource[*widget] {
			c, err := client.New(r.Gate(server), widgets, client.Options{Namespace: "other"})
			must(t, err)
			return c
		}
		create := func(ctx context.Context, c *client.Resource[*widget]) error {
			_, err := c.Create(ctx, &widget{ObjectMeta: metav1.ObjectMeta{GenerateName: "w", Namespace: "other"}}, metav1.CreateOptions{})
			return err
		}
		idle, err := shard.New(server, s.options("b")) // does not run, so it has no Lease
		must(t, err)
		if err := create(t.Context(), through(idle)); !errors.Is(err, shard.ErrFenced) || !errors.Is(err, client.ErrNotSent) {
			t.Errorf("before there is a Lease: %v", err)
		}
		p := s.start(s.options("a"))
		gated := through(p.replica)
		write := func(ctx context.Context) error { return create(ctx, gated) }
		s.settled(takeover)
		must(t, write(t.Context()))
		var kept context.Context
		must(t, p.inside(func(ctx context.Context) { kept = ctx; must(t, write(ctx)) }))
		if err := write(context.WithoutCancel(kept)); !errors.Is(err, shard.ErrFenced) {
			t.Errorf("after the reconcile: %v", err)
		}
		must(t, p.inside(func(ctx context.Context) {
			p.cut.Store(true)
			<-ctx.Done()
			if cause := context.Cause(ctx); !errors.Is(cause, shard.ErrMoved) || !errors.Is(cause, shard.ErrExpired) {
				t.Errorf("cause %v", cause)
			}
			ctx = context.WithoutCancel(ctx)
			if err := write(ctx); !errors.Is(err, shard.ErrFenced) {
				t.Errorf("after the lease: %v", err)
			}
			if err := p.replica.Healthy(time.Second)(ctx); err != nil {
				t.Error(err)
			}
			time.Sleep(7 * time.Second)
			if err := p.replica.Healthy(time.Second)(ctx); err == nil {
				t.Error("healthy, although a reconcile goes on")
			}
			p.cut.Store(false)
			time.Sleep(time.Minute) // the replica must wait for this call
			if err := write(ctx); !errors.Is(err, shard.ErrFenced) {
				t.Errorf("much later: %v", err)
			}
		}))
		if _, err := gated.Get(t.Context(), types.NamespacedName{Namespace: "other", Name: "none"}, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			t.Errorf("a read: %v", err)
		}
		s.settled(takeover)
	})
}

// TestGateUnderWay: a write that waits for a connection when the lease ends is not sent later,
// whatever its context is.
func TestGateUnderWay(t *testing.T) {
	for title, over := range map[string]func(*process){
		"lost":  func(p *process) { p.cut.Store(true) },
		"leave": func(p *process) { p.stop() },
	} {
		t.Run(title, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScene(t)
				defer s.end()
				p := s.start(s.options("a"))
				s.settled(takeover)
				var begun, late atomic.Int32
				slow := s.server.Client()
				to := slow.Transport
				slow.Transport = roundTripper(func(req *http.Request) (*http.Response, error) {
					begun.Add(1)
					select {
					case <-time.After(time.Minute): // as for a connection
					case <-req.Context().Done():
						return nil, context.Cause(req.Context())
					}
					late.Add(1)
					return to.RoundTrip(req)
				})
				gated, err := client.New(p.replica.Gate(client.Connection{URL: fake.URL, HTTP: slow, Retries: -1}), shard.Kind, client.Options{Namespace: "other"})
				must(t, err)
				failed := make(chan error, 1)
				go func() {
					_, err := gated.Create(t.Context(), &leader.Lease{ObjectMeta: metav1.ObjectMeta{Name: "w"}}, metav1.CreateOptions{})
					failed <- err
				}()
				synctest.Wait()
				over(p)
				err = <-failed
				if !errors.Is(err, shard.ErrMoved) || errors.Is(err, client.ErrNotSent) || begun.Load() != 1 || late.Load() > 0 {
					t.Errorf("%v; %d requests begun and %d sent", err, begun.Load(), late.Load())
				}
			})
		})
	}
}

// TestGateUnclear: a range stays for a while if a write of a reconcile has no answer, although the
// reconcile has returned.
func TestGateUnclear(t *testing.T) {
	for title, call := range map[string]func(ctx context.Context, write func(context.Context)){
		"timeout": func(ctx context.Context, write func(context.Context)) {
			ctx, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			write(ctx)
		},
		"not waited for": func(ctx context.Context, write func(context.Context)) {
			go write(ctx)
			time.Sleep(time.Second)
		},
	} {
		t.Run(title, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScene(t)
				defer s.end()
				a := s.start(s.options("a"))
				s.settled(takeover)
				arrived := make(chan time.Time, 1)
				late := s.server.Client()
				late.Transport = roundTripper(func(req *http.Request) (*http.Response, error) {
					time.AfterFunc(5*time.Second, func() { arrived <- time.Now() })
					<-req.Context().Done()
					return nil, req.Context().Err()
				})
				gated, err := client.New(a.replica.Gate(client.Connection{URL: fake.URL, HTTP: late, Retries: -1}), shard.Kind, client.Options{Namespace: "other"})
				must(t, err)
				must(t, a.inside(func(ctx context.Context) {
					call(ctx, func(ctx context.Context) {
						if _, err := gated.Create(ctx, &leader.Lease{ObjectMeta: metav1.ObjectMeta{Name: "w"}}, metav1.CreateOptions{}); err == nil {
							t.Error("no error")
						}
					})
				}))
				a.stop()
				time.Sleep(time.Second)
				if st := a.replica.Status(); st.Running != 0 || st.Draining != 1 {
					t.Errorf("%+v", st)
				}
				<-a.ended
				select {
				case at := <-arrived:
					if time.Since(at) > 3*time.Second {
						t.Errorf("it waits for %v", time.Since(at))
					}
				default:
					t.Error("the range was free before the write arrived")
				}
			})
		})
	}
}

func TestHashed(t *testing.T) {
	key := types.NamespacedName{Namespace: "prod", Name: "web"}
	if shard.ByKey(key) != "prod/web" || shard.ByNamespace(key) != "prod" || shard.Hash("prod/web") == shard.Hash("prod/wec") {
		t.Error(shard.ByKey(key), shard.ByNamespace(key))
	}
	if _, ok := shard.Number(t.Context()); ok {
		t.Error("a context that is none of a reconcile has a number")
	}
}
