package leader_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/fake/faults"
	"github.com/kinform/kinform/shard/leader"
)

func (c *candidate) connection() client.Connection {
	return client.Connection{URL: fake.URL, HTTP: &http.Client{Transport: c.wire}}
}

// Options are checked as client-go does, and an error names all that is wrong.
func TestOptions(t *testing.T) {
	good := leader.Options{Namespace: "n", Name: "l"}
	for want, change := range map[string]func(*leader.Options){
		"":                                 func(*leader.Options) {},
		"RenewDeadline (15s)":              func(o *leader.Options) { o.RenewDeadline = 15 * time.Second },
		"1.2 times RetryPeriod (8.34s)":    func(o *leader.Options) { o.RetryPeriod = 8340 * time.Millisecond },
		"must not be negative":             func(o *leader.Options) { o.RetryPeriod = -1 },
		"LeaseDuration (-1ns)":             func(o *leader.Options) { o.LeaseDuration = -1 },
		"less than 2³¹ seconds":            func(o *leader.Options) { o.LeaseDuration = math.MaxInt64 },
		`Options.Name ""`:                  func(o *leader.Options) { o.Name = "" },
		`Options.Name "Web"`:               func(o *leader.Options) { o.Name = "Web" },
		"no more than 253":                 func(o *leader.Options) { o.Name = strings.Repeat("a", 254) },
		`Options.Namespace ""`:             func(o *leader.Options) { o.Namespace = "" },
		"no more than 63":                  func(o *leader.Options) { o.Namespace = strings.Repeat("a", 64) },
		"Options.Identity has 254 bytes":   func(o *leader.Options) { o.Identity = strings.Repeat("a", 254) },
		"Options.Identity has 1 bytes":     func(o *leader.Options) { o.Identity = "\xff" },
		"Options.Name \"\": ":              func(o *leader.Options) { *o = leader.Options{} },
		"LeaseDuration (5s) must be more ": func(o *leader.Options) { o.LeaseDuration = 5 * time.Second },
	} {
		opts := good
		change(&opts)
		elector := leader.New(client.Connection{URL: fake.URL}, opts)
		err := elector.Err()
		if want != "" {
			lead := elector.Lead(t.Context(), func(context.Context) { t.Error("it leads") })
			if !errors.Is(lead, leader.ErrInvalid) {
				t.Errorf("%q: Lead returned %v", want, lead)
			}
		}
		if want == "" && err != nil || want != "" && (!errors.Is(err, leader.ErrInvalid) || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v", want, err)
		}
	}
	if err := leader.New(client.Connection{URL: "ftp://x"}, good).Err(); err == nil || errors.Is(err, leader.ErrInvalid) {
		t.Error(err)
	}
}

// A Lease has whole seconds, and never less than LeaseDuration.
func TestSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t)
		c := s.stand("a", func(o *leader.Options, _ *candidate) {
			o.LeaseDuration, o.RenewDeadline, o.RetryPeriod = 1500*time.Millisecond, time.Second, 100*time.Millisecond
		})
		c.leadsWithin(time.Minute)
		if got := *s.lease().Spec.LeaseDurationSeconds; got != 2 {
			t.Errorf("%d seconds", got)
		}
	})
}

// A refusal says what to do. The candidate goes on trying.
func TestRefusals(t *testing.T) {
	terminating := faults.Refusal(403, metav1.StatusReasonForbidden, 0)
	terminating.ErrStatus.Details = &metav1.StatusDetails{Causes: []metav1.StatusCause{{Type: "NamespaceTerminating"}}}
	refuse := func(verb faults.Verb, code int, reason metav1.StatusReason) faults.Fault {
		return faults.Fault{Verb: verb, Times: 3, Status: faults.Refusal(code, reason, 0)}
	}
	for name, test := range map[string]struct {
		fault  faults.Fault
		exists bool
		want   string
	}{
		"get":            {refuse(faults.VerbGet, 403, metav1.StatusReasonForbidden), true, `get of Lease prod/web failed: .*: grant the verbs get, create and patch on leases of coordination.k8s.io in the namespace "prod" ("get" is missing)`},
		"create":         {refuse(faults.VerbCreate, 403, metav1.StatusReasonForbidden), false, `("create" is missing)`},
		"patch":          {refuse(faults.VerbPatch, 403, metav1.StatusReasonForbidden), true, `("patch" is missing)`},
		"credentials":    {refuse(faults.VerbGet, 401, metav1.StatusReasonUnauthorized), true, "credentials"},
		"no namespace":   {refuse(faults.VerbCreate, 404, metav1.StatusReasonNotFound), false, `create the namespace "prod"`},
		"old namespace":  {faults.Fault{Verb: faults.VerbCreate, Times: 3, Status: terminating}, false, "is being deleted"},
		"quota conflict": {refuse(faults.VerbCreate, 409, metav1.StatusReasonConflict), false, "create of Lease prod/web failed"},
		"overload":       {refuse(faults.VerbPatch, 429, metav1.StatusReasonTooManyRequests), true, "patch of Lease prod/web failed"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScene(t)
				if test.exists {
					s.create(held("", 1))
				}
				s.inject(test.fault)
				c := s.stand("a")
				c.leadsWithin(time.Minute)
				errs := c.reports()
				if len(errs) != 3 {
					t.Fatalf("reported %v", errs)
				}
				for part := range strings.SplitSeq(test.want, ".*") {
					if !strings.Contains(errs[0].Error(), part) {
						t.Errorf("no %q in %v", part, errs[0])
					}
				}
				var failed *leader.RequestError
				if !errors.As(errs[0], &failed) || failed.Lease != key || failed.Verb != string(test.fault.Verb) {
					t.Errorf("%#v", errs[0])
				}
			})
		})
	}
}

// A server without Leases says so, and leads nobody.
func TestNoLeases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scene{t: t, server: fake.New(fake.Options{})}
		c := s.stand("a")
		time.Sleep(time.Minute)
		settle()
		if errs := c.reports(); len(errs) == 0 || len(c.led) > 0 || !strings.Contains(errs[0].Error(), "the server has no Leases of coordination.k8s.io/v1") {
			t.Errorf("reported %v", errs)
		}
	})
}

// A webhook that rewrites the holder makes nobody lead.
func TestChangedHolder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t)
		s.create(held("", 1))
		c := s.stand("a", func(_ *leader.Options, c *candidate) {
			c.wire.next = rewriting{c.wire.next, s}
		})
		time.Sleep(time.Minute)
		settle()
		if errs := c.reports(); len(c.led) > 0 || len(errs) == 0 || !errors.Is(errs[0], leader.ErrChanged) {
			t.Errorf("led at %v, reported %v", c.led, errs)
		}
	})
}

// rewriting is a server that stores another holder than it is sent.
type rewriting struct {
	next http.RoundTripper
	s    *scene
}

func (r rewriting) RoundTrip(q *http.Request) (*http.Response, error) {
	answer, err := r.next.RoundTrip(q)
	if err != nil || q.Method != http.MethodPatch {
		return answer, err
	}
	_ = answer.Body.Close()
	r.s.edit(func(l *leader.LeaseSpec) { l.HolderIdentity = pointer("webhook") })
	get, _ := http.NewRequestWithContext(q.Context(), http.MethodGet, q.URL.String(), nil)
	return r.next.RoundTrip(get)
}

// Without OnError, errors are logged with their attributes.
func TestLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t)
		var text bytes.Buffer
		s.inject(faults.Fault{Verb: faults.VerbGet, Status: faults.Refusal(403, metav1.StatusReasonForbidden, 0)})
		a := s.stand("a", func(o *leader.Options, _ *candidate) {
			o.OnError = nil
			o.Logger = slog.New(slog.NewTextHandler(&text, &slog.HandlerOptions{Level: slog.LevelDebug}))
		})
		a.leadsWithin(time.Minute)
		a.cancel()
		must(t, a.end())
		for _, want := range []string{
			`msg="leader: request failed" lease=prod/web verb=get error=`, `advice="grant the verbs get`,
			`level=DEBUG msg="leader: stands for the Lease" lease=prod/web identity=a`, `msg="leader: leads"`, `msg="leader: does not stand for the Lease any more"`,
		} {
			if !strings.Contains(text.String(), want) {
				t.Errorf("no %q in %s", want, text.String())
			}
		}
		lost := &leader.LostError{Lease: key, Reason: leader.ErrExpired, Holder: "a", Err: errors.New("why")}
		if got := fmt.Sprint(lost.LogValue()); !strings.Contains(got, "leadership is in doubt") || !strings.Contains(got, "why") {
			t.Error(got)
		}
	})
}
