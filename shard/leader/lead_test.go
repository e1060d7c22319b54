package leader_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/controller/manager"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/fake/faults"
	"github.com/kinform/kinform/shard/leader"
)

var _ manager.Elector = (*leader.Elector)(nil)

func pointer[T any](v T) *T { return &v }

// A candidate takes what is free at once, and waits for everything else, by its own clock.
func TestTakeover(t *testing.T) {
	yesterday := metav1.NewMicroTime(time.Now().Add(-24 * time.Hour))
	for name, test := range map[string]struct {
		spec        *leader.LeaseSpec // nil: no Lease
		min, max    time.Duration
		transitions int32
	}{
		"no Lease":                   {nil, 15 * time.Second, 15 * time.Second, 1},
		"never held":                 {&leader.LeaseSpec{}, 15 * time.Second, 15 * time.Second, 1},
		"released":                   {pointer(held("", 1)), 0, 0, 4},
		"holder removed by hand":     {pointer(held("", 15)), 15 * time.Second, 15 * time.Second, 4},
		"held":                       {pointer(held("other", 15)), 15 * time.Second, 15 * time.Second, 4},
		"held for longer":            {pointer(held("other", 40)), 40 * time.Second, 40 * time.Second, 4},
		"held for shorter":           {pointer(held("other", 3)), 15 * time.Second, 15 * time.Second, 4},
		"held, without a duration":   {&leader.LeaseSpec{HolderIdentity: pointer("other")}, 15 * time.Second, 15 * time.Second, 1},
		"held under the same name":   {pointer(held("me", 15)), 15 * time.Second, 15 * time.Second, 4},
		"held, by a clock behind":    {&leader.LeaseSpec{HolderIdentity: pointer("other"), LeaseDurationSeconds: pointer(int32(15)), RenewTime: &yesterday}, 15 * time.Second, 15 * time.Second, 1},
		"too many changes to count":  {&leader.LeaseSpec{LeaseDurationSeconds: pointer(int32(1)), LeaseTransitions: pointer(int32(1<<31 - 1))}, 0, 0, 1<<31 - 1},
		"released, long ago, by one": {&leader.LeaseSpec{LeaseDurationSeconds: pointer(int32(1)), RenewTime: &yesterday}, 0, 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScene(t)
				if test.spec != nil {
					s.create(*test.spec)
				}
				began := time.Now()
				c := s.stand("me")
				at := c.leadsWithin(time.Minute)
				if took := at.Sub(began); took < test.min || took > test.max {
					t.Errorf("led after %v", took)
				}
				l := s.lease()
				if *l.Spec.HolderIdentity != "me" || *l.Spec.LeaseDurationSeconds != 15 || *l.Spec.LeaseTransitions != test.transitions ||
					!l.Spec.AcquireTime.Time.Equal(at) || !l.Spec.RenewTime.Time.Equal(at) {
					t.Errorf("the Lease is %+v", l.Spec)
				}
				if test.spec != nil && (l.Labels["app"] != "web" || test.spec.Strategy != nil && (*l.Spec.Strategy != *test.spec.Strategy || *l.Spec.PreferredHolder != *test.spec.PreferredHolder)) {
					t.Errorf("the Lease has lost something: %+v", l)
				}
				time.Sleep(2 * time.Second)
				settle()
				if next := s.lease().Spec; !next.AcquireTime.Time.Equal(at) || !next.RenewTime.Time.Equal(at.Add(2*time.Second)) || *next.LeaseTransitions != test.transitions {
					t.Errorf("renewed to %+v", next)
				}
				if errs := c.reports(); len(errs) != 0 {
					t.Error(errs)
				}
			})
		})
	}
}

// Who holds the Lease and renews it keeps it. Others see who it is.
func TestStandby(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t)
		a := s.stand("a")
		a.leadsWithin(time.Minute)
		b := s.stand("b")
		time.Sleep(time.Hour)
		settle()
		if len(b.led) != 0 || !a.Leads() || b.Leads() || b.Leader() != "a" || a.Leader() != "a" || !slices.Equal(b.holders, []string{"a"}) {
			t.Errorf("b saw %q and thinks that %q leads", b.holders, b.Leader())
		}
		for _, c := range []*candidate{a, b} {
			must(t, c.Healthy(0)(t.Context()))
		}
		if n := len(strings.Fields(b.wire.take())); n > 1800 || n < 1500 {
			t.Errorf("b has sent %d requests", n)
		}
		if n := len(strings.Fields(a.wire.take())); n > 1820 || n < 1800 {
			t.Errorf("a has sent %d requests", n)
		}
	})
}

// The Lease is renewed until work has returned. Then it is free at once.
func TestRelease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t)
		a := s.stand("a", func(_ *leader.Options, c *candidate) { c.release = make(chan struct{}) })
		a.leadsWithin(time.Minute)
		b := s.stand("b")
		a.cancel()
		time.Sleep(time.Hour)
		settle()
		if a.cause != context.Canceled || len(b.led) != 0 || !s.lease().Spec.RenewTime.After(time.Now().Add(-3*time.Second)) {
			t.Errorf("cause %v, b led at %v", a.cause, b.led)
		}
		if a.Leads() || a.Healthy(0)(t.Context()) != nil {
			t.Error("wrong state while work returns")
		}
		close(a.release)
		must(t, a.end())
		if spec := s.lease().Spec; *spec.HolderIdentity != "" || *spec.LeaseDurationSeconds != 1 || *spec.LeaseTransitions != 1 || !spec.RenewTime.Time.Equal(time.Now()) || !spec.AcquireTime.Equal(spec.RenewTime) {
			t.Errorf("released as %+v", spec)
		}
		freed := time.Now()
		if took := b.leadsWithin(time.Minute).Sub(freed); took > 2400*time.Millisecond {
			t.Errorf("b led %v after the release", took)
		}
		if got := strings.Join(b.holders, ","); got != "a,,b" && got != "a,b" {
			t.Errorf("b saw %q", b.holders)
		}
		if len(a.reports())+len(b.reports()) != 0 {
			t.Error(a.reports(), b.reports())
		}
	})
}

// Work may return by itself, and Lead be called again.
func TestWorkReturns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t)
		c := s.stand("a")
		c.leadsWithin(time.Minute)
		if err := c.Lead(t.Context(), c.work); !errors.Is(err, leader.ErrRunning) || !strings.HasPrefix(err.Error(), "leader: prod/web: ") {
			t.Error(err)
		}
		if err := c.Lead(t.Context(), nil); !errors.Is(err, leader.ErrNoFunc) || !strings.HasPrefix(err.Error(), "leader: prod/web: ") {
			t.Error(err)
		}
		c.cancel()
		must(t, c.end())
		for range 2 {
			began := time.Now()
			must(t, c.Lead(t.Context(), func(ctx context.Context) {
				if !c.Leads() || ctx.Err() != nil {
					t.Error("does not lead")
				}
			}))
			if *s.lease().Spec.HolderIdentity != "" || !time.Now().Equal(began) || c.Leads() {
				t.Errorf("the Lease is %+v after %v", s.lease().Spec, time.Since(began))
			}
		}
		done, cancel := context.WithCancel(t.Context())
		cancel()
		must(t, c.Lead(done, func(context.Context) { t.Error("work was called") }))
	})
}

// A panic of work ends with an error, and frees the Lease.
func TestPanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t)
		s.create(held("", 1))
		c := s.stand("a", func(o *leader.Options, c *candidate) {
			o.OnLeader = func(string) { panic("in OnLeader") }
		})
		c.cancel()
		must(t, c.end())
		for want, work := range map[any]func(context.Context){
			"oh":            func(context.Context) { panic("oh") },
			"its goroutine": func(context.Context) { runtime.Goexit() },
		} {
			err := c.Lead(t.Context(), work)
			var panicked *leader.PanicError
			if !errors.As(err, &panicked) || panicked.Where != "work" || !strings.Contains(err.Error(), want.(string)) {
				t.Error(err)
			}
			if *s.lease().Spec.HolderIdentity != "" {
				t.Error("the Lease is still held")
			}
		}
		var panicked *leader.PanicError
		if errs := c.reports(); len(errs) == 0 || !errors.As(errs[0], &panicked) || panicked.Where != "OnLeader" {
			t.Errorf("reported %v", errs)
		}
	})
}

// A leader that cannot renew stops by its own clock, before anybody can take the Lease.
func TestHangingServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t)
		a := s.stand("a")
		a.leadsWithin(time.Minute)
		time.Sleep(500 * time.Millisecond)
		renewed := s.lease().Spec.RenewTime.Time
		b := s.stand("b")
		a.wire.set(true, nil)
		err := a.end()
		var lost *leader.LostError
		var failed *leader.RequestError
		if !errors.As(err, &lost) || lost.Reason != leader.ErrExpired || lost.Lease != key || !errors.Is(err, leader.ErrExpired) || !errors.As(err, &failed) ||
			failed.Verb != "patch" || !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, leader.ErrNoAnswer) {
			t.Error(err)
		}
		if a.cause != err {
			t.Errorf("the cause is %v", a.cause)
		}
		if got := a.stopped.Sub(renewed); got != 10*time.Second {
			t.Errorf("stopped %v after the last renewal", got)
		}
		if errs := a.reports(); len(errs) == 0 || !strings.Contains(errs[0].Error(), "did not answer in time") {
			t.Errorf("reported %v", errs)
		}
		if took := b.leadsWithin(time.Minute).Sub(renewed); took < 15*time.Second || took > 18*time.Second {
			t.Errorf("b led %v after the last renewal", took)
		}
	})
}

// Work that ignores the end of its context is reported, and unhealthy.
func TestStubbornWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t)
		a := s.stand("a", func(_ *leader.Options, c *candidate) { c.release = make(chan struct{}) })
		a.leadsWithin(time.Minute)
		a.wire.set(true, nil)
		check := a.Healthy(20 * time.Second)
		time.Sleep(10 * time.Second)
		settle()
		if errs := a.reports(); a.Leads() || check(t.Context()) != nil || errors.Is(errs[len(errs)-1], leader.ErrOutlived) {
			t.Errorf("10 s after the last renewal: %v, reported %v", check(t.Context()), errs)
		}
		time.Sleep(5 * time.Second)
		settle()
		if errs := a.reports(); !errors.Is(errs[len(errs)-1], leader.ErrOutlived) {
			t.Errorf("reported %v", errs)
		}
		time.Sleep(20 * time.Second)
		must(t, check(t.Context()))
		time.Sleep(time.Millisecond)
		if err := check(t.Context()); err == nil || !strings.Contains(err.Error(), "prod/web") {
			t.Error("healthy:", err)
		}
		n := len(a.wire.take())
		close(a.release)
		if err := a.end(); !errors.Is(err, leader.ErrExpired) || n == 0 || a.wire.take() != "" {
			t.Error(err) // and the Lease, which another process may have, is left alone
		}
		must(t, check(t.Context()))
	})
}

// The end of Lead's context and the loss of the Lease may come together.
func TestLostWhileWorkReturns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t)
		a := s.stand("a", func(_ *leader.Options, c *candidate) { c.release = make(chan struct{}) })
		a.leadsWithin(time.Minute)
		a.cancel()
		a.wire.set(true, nil)
		time.Sleep(time.Minute)
		close(a.release)
		must(t, a.end())
		var reasons []error
		for _, err := range a.reports() {
			var lost *leader.LostError
			if errors.As(err, &lost) {
				reasons = append(reasons, lost.Reason)
			}
		}
		if !slices.Equal(reasons, []error{leader.ErrExpired, leader.ErrOutlived}) {
			t.Errorf("reported %v", reasons)
		}
	})
}

// Whatever somebody does to the Lease by hand, the leader keeps it or stops at its next renewal.
func TestByHand(t *testing.T) {
	for name, test := range map[string]struct {
		do   func(*scene)
		want error // nil: it leads on
	}{
		"a label":       {func(s *scene) { s.edit(func(*leader.LeaseSpec) {}) }, nil},
		"duration":      {func(s *scene) { s.edit(func(l *leader.LeaseSpec) { l.LeaseDurationSeconds = pointer(int32(1)) }) }, nil},
		"other holder":  {func(s *scene) { s.edit(func(l *leader.LeaseSpec) { l.HolderIdentity = pointer("x") }) }, leader.ErrTaken},
		"no holder":     {func(s *scene) { s.edit(func(l *leader.LeaseSpec) { l.HolderIdentity = nil }) }, nil},
		"empty":         {func(s *scene) { s.edit(func(l *leader.LeaseSpec) { *l = leader.LeaseSpec{} }) }, nil},
		"deleted":       {func(s *scene) { s.delete() }, nil},
		"made again":    {func(s *scene) { s.delete(); s.create(held("x", 15)) }, leader.ErrTaken},
		"same identity": {func(s *scene) { s.edit(func(l *leader.LeaseSpec) { l.RenewTime = pointer(metav1.NowMicro()) }) }, leader.ErrIdentity},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScene(t)
				a := s.stand("a")
				acquired := a.leadsWithin(time.Minute)
				time.Sleep(500 * time.Millisecond)
				test.do(s)
				time.Sleep(1600 * time.Millisecond)
				settle()
				spec := s.lease().Spec
				if test.want == nil {
					if !a.Leads() || *spec.HolderIdentity != "a" || !spec.AcquireTime.Time.Equal(acquired) || *spec.LeaseDurationSeconds != 15 {
						t.Errorf("leads: %t; the Lease is %+v", a.Leads(), spec)
					}
					if errs := a.reports(); len(errs) > 0 {
						t.Error(errs)
					}
					return
				}
				var lost *leader.LostError
				if err := a.end(); !errors.As(err, &lost) || lost.Reason != test.want || lost.Holder != *spec.HolderIdentity {
					t.Error(err)
				}
				if time.Since(acquired) > 2200*time.Millisecond || *spec.HolderIdentity == "" {
					t.Errorf("stopped after %v, the Lease is %+v", time.Since(acquired), spec)
				}
			})
		})
	}
}

// Processes with one identity do not lead at the same time, and hear of each other.
func TestTwins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t)
		a := s.stand("me")
		a.leadsWithin(time.Minute)
		b := s.stand("me")
		time.Sleep(time.Minute)
		settle()
		if errs := b.reports(); len(b.led) > 0 || !a.Leads() || len(errs) != 1 || !errors.Is(errs[0], leader.ErrIdentity) || !strings.Contains(errs[0].Error(), "Options.Identity") {
			t.Errorf("b led at %v, reported %v", b.led, errs)
		}
		if len(a.reports()) > 0 {
			t.Error(a.reports())
		}
		one := leader.New(a.connection(), leader.Options{Namespace: "n", Name: "l"})
		two := leader.New(a.connection(), leader.Options{Namespace: "n", Name: "l"})
		must(t, one.Err())
		must(t, two.Err())
		if one.Identity() == two.Identity() || one.Identity() == "" {
			t.Errorf("both are %q", one.Identity())
		}
	})
}

// losePatches loses the answers to the next n patches.
func losePatches(n int) func(*http.Request) bool {
	return func(r *http.Request) bool {
		if r.Method != http.MethodPatch {
			return false
		}
		n--
		return n >= 0
	}
}

// A renewal whose answer was lost is found on the server.
func TestLostRenewals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t)
		a := s.stand("a")
		a.leadsWithin(time.Minute)
		a.wire.take()
		a.wire.set(false, losePatches(1))
		time.Sleep(time.Minute)
		settle()
		if got := a.wire.take(); !a.Leads() || !strings.HasPrefix(got, "PATCH PATCH GET PATCH PATCH PATCH") || len(a.reports()) != 1 {
			t.Errorf("leads: %t after %s; %v", a.Leads(), got, a.reports())
		}
	})
}

// A takeover whose answer was lost is not trusted: it could belong to a process with the same name.
func TestLostTakeover(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t)
		s.create(held("", 1))
		began := time.Now()
		a := s.stand("a", func(_ *leader.Options, c *candidate) { c.wire.lose = losePatches(1) })
		if took := a.leadsWithin(time.Minute).Sub(began); took < 15*time.Second || took > 18*time.Second {
			t.Errorf("led after %v", took)
		}
		if errs := a.reports(); len(errs) != 1 {
			t.Error(errs)
		}
	})
}

// The Lease is given up even if a request is under way, whether or not that is carried out.
func TestReleaseDuringRequest(t *testing.T) {
	for name, test := range map[string]struct {
		delay faults.Fault
		twice bool // the first renewal meets an edit
	}{
		"renewal":          {faults.Fault{Verb: faults.VerbPatch, Delay: 3 * time.Second}, false},
		"get":              {faults.Fault{Verb: faults.VerbGet, Delay: 3 * time.Second}, true},
		"second renewal":   {faults.Fault{Verb: faults.VerbPatch, Skip: 1, Delay: 3 * time.Second}, true},
		"nothing, in fact": {faults.Fault{Verb: faults.VerbCreate, Delay: 3 * time.Second}, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScene(t)
				a := s.stand("a")
				a.leadsWithin(time.Minute)
				s.inject(test.delay)
				if test.twice {
					s.edit(func(*leader.LeaseSpec) {})
				}
				time.Sleep(3 * time.Second)
				settle()
				a.cancel()
				began := time.Now()
				must(t, a.end())
				if spec := s.lease().Spec; *spec.HolderIdentity != "" || time.Since(began) > 5*time.Second || len(a.reports()) > 0 {
					t.Errorf("after %v the Lease is %+v; %v", time.Since(began), spec, a.reports())
				}
			})
		})
	}
}

// A release repeats after a conflict. It fails in bounded time, and says so.
func TestReleaseFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t)
		a := s.stand("a")
		a.leadsWithin(time.Minute)
		s.edit(func(*leader.LeaseSpec) {})
		a.cancel()
		must(t, a.end())
		if *s.lease().Spec.HolderIdentity != "" || len(a.reports()) != 0 {
			t.Errorf("the Lease is %+v; %v", s.lease().Spec, a.reports())
		}

		b := s.stand("b")
		b.leadsWithin(time.Minute)
		b.wire.set(true, nil)
		b.cancel()
		began := time.Now()
		must(t, b.end())
		if errs := b.reports(); time.Since(began) != 5*time.Second || len(errs) != 1 || *s.lease().Spec.HolderIdentity != "b" {
			t.Errorf("after %v: %v", time.Since(began), errs)
		}

		c := s.stand("c")
		c.leadsWithin(time.Minute)
		s.edit(func(l *leader.LeaseSpec) { l.HolderIdentity = pointer("x") })
		c.cancel()
		must(t, c.end())
		if *s.lease().Spec.HolderIdentity != "x" {
			t.Error("the Lease of another holder was released")
		}
	})
}

// A candidate that is cancelled while it takes the Lease gives it up.
func TestCancelDuringTakeover(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t)
		s.create(held("", 1))
		s.inject(faults.Fault{Verb: faults.VerbGet, Delay: time.Second})
		a := s.stand("a")
		a.cancel()
		began := time.Now()
		must(t, a.end())
		if time.Since(began) > 0 || len(a.led) > 0 || len(a.reports()) > 0 || *s.lease().Spec.HolderIdentity != "" {
			t.Errorf("after %v: led %v, reported %v", time.Since(began), a.led, a.reports())
		}
	})
}

// Callbacks that block hold nothing up but the end of Lead.
func TestSlowCallbacks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t)
		release := make(chan struct{})
		calls := 0
		var log strings.Builder
		a := s.stand("a", func(o *leader.Options, c *candidate) {
			o.OnLeader = func(string) { <-release }
			o.OnError = func(error) { calls++ }
			o.Logger = slog.New(slog.NewTextHandler(&log, nil))
		})
		a.leadsWithin(time.Minute)
		for range 20 {
			s.inject(faults.Fault{Verb: faults.VerbPatch, Status: faults.Refusal(503, metav1.StatusReasonServiceUnavailable, 0)})
			time.Sleep(6 * time.Second)
		}
		settle()
		if !a.Leads() || calls > 0 {
			t.Errorf("leads: %t, %d calls", a.Leads(), calls)
		}
		close(release)
		settle()
		if logged := strings.Count(log.String(), "request failed"); calls != 16 || logged != 1 { // of those that had no room, one a minute
			t.Errorf("%d calls, %d errors in the log: %s", calls, logged, log.String())
		}
	})
}

// Manager runs what is led, and with EndWithLeadership it ends when the Lease is lost.
func TestManager(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t)
		s.create(held("", 1))
		a := s.stand("a")
		a.leadsWithin(time.Minute)
		b := leader.New(a.connection(), leader.Options{Namespace: key.Namespace, Name: key.Name, Identity: "b"})
		m := manager.New(manager.Options{Elector: b, EndWithLeadership: true})
		runs := false
		m.Add("part", manager.Func(func(ctx context.Context) error { runs = true; <-ctx.Done(); runs = false; return nil }))
		ended := make(chan error)
		go func() { ended <- m.Run(t.Context()) }()
		time.Sleep(time.Minute)
		if runs {
			t.Error("two lead")
		}
		a.cancel()
		time.Sleep(3 * time.Second)
		settle()
		if !runs || b.Leader() != "b" {
			t.Error("b does not lead")
		}
		s.edit(func(l *leader.LeaseSpec) { l.HolderIdentity = pointer("x") })
		if err := <-ended; !errors.Is(err, manager.ErrLeadership) || !errors.Is(err, leader.ErrTaken) || runs {
			t.Error(err)
		}
	})
}

// A renewal that is carried out without an answer, even after the loss, is no reason to wait for longer, and no stranger.
func TestLeadsAgain(t *testing.T) {
	for name, delay := range map[string]time.Duration{"renewals without answers": 0, "a renewal after the loss": 10 * time.Second} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScene(t)
				s.create(held("", 1))
				var deaf atomic.Bool
				next := s.server.Client().Transport
				wire := roundTripper(func(r *http.Request) (*http.Response, error) {
					if r.Method != http.MethodPatch || !deaf.Load() {
						return next.RoundTrip(r)
					}
					time.AfterFunc(delay, func() {
						if answer, err := next.RoundTrip(r.WithContext(context.WithoutCancel(r.Context()))); err == nil {
							_ = answer.Body.Close()
						}
					})
					<-r.Context().Done()
					return nil, r.Context().Err()
				})
				var reports []error
				e := leader.New(client.Connection{URL: fake.URL, HTTP: &http.Client{Transport: wire}}, leader.Options{
					Namespace: key.Namespace, Name: key.Name, Identity: "me", OnError: func(err error) { reports = append(reports, err) },
				})
				must(t, e.Err())
				began := time.Now()
				time.AfterFunc(3*time.Second, func() { deaf.Store(true) }) // the last renewal with an answer is sent after two
				if err := e.Lead(t.Context(), func(ctx context.Context) { <-ctx.Done() }); !errors.Is(err, leader.ErrExpired) || time.Since(began) != 12*time.Second {
					t.Fatalf("after %v: %v", time.Since(began), err)
				}
				deaf.Store(false)
				reports = nil
				var took time.Duration
				must(t, e.Lead(t.Context(), func(context.Context) { took = time.Since(began) }))
				if renewed := s.lease().Spec.RenewTime.Time; took != 17*time.Second || len(reports) > 0 {
					t.Errorf("it leads again after %v, the Lease is of %v, and the reports are %v", took, renewed.Sub(began), reports)
				}
			})
		})
	}
}
