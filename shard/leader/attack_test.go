package leader_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/fake/faults"
	"github.com/kinform/kinform/shard/leader"
)

// A panic of work after the loss of the Lease is not hidden by the loss.
func TestPanicAfterLoss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t)
		s.create(held("", 1))
		a := s.stand("a")
		a.cancel()
		must(t, a.end())
		err := a.Lead(t.Context(), func(ctx context.Context) {
			a.wire.set(true, nil)
			<-ctx.Done()
			panic("oh")
		})
		var panicked *leader.PanicError
		if !errors.As(err, &panicked) || !errors.Is(err, leader.ErrExpired) {
			t.Error(err)
		}
	})
}

// A release that meets conflicts again and again pauses between its writes, and ends.
func TestReleaseAgainstConflicts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t)
		a := s.stand("a")
		a.leadsWithin(time.Minute)
		a.wire.take()
		s.inject(faults.Fault{Verb: faults.VerbPatch, Times: 1000, Status: faults.Refusal(409, metav1.StatusReasonConflict, 0)})
		began := time.Now()
		a.cancel()
		must(t, a.end())
		if got := a.wire.take(); !strings.HasPrefix(got, "PATCH GET PATCH GET PATCH") || len(strings.Fields(got)) > 8 || time.Since(began) != 5*time.Second {
			t.Errorf("%s in %v", got, time.Since(began))
		}
	})
}

// A leader whose renewal fails tries again before the leadership ends, however long its pauses are.
func TestShortPausesAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t)
		a := s.stand("a", func(o *leader.Options, _ *candidate) { o.RetryPeriod = 8 * time.Second })
		a.leadsWithin(time.Minute)
		s.inject(faults.Fault{Verb: faults.VerbPatch, Times: 1, Status: faults.Refusal(503, metav1.StatusReasonServiceUnavailable, 0)})
		time.Sleep(time.Minute)
		settle()
		if !a.Leads() || len(a.reports()) != 1 {
			t.Error(a.reports())
		}
	})
}

// Callbacks that end their goroutine are called again.
func TestCallbacksEndTheirGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t)
		s.inject(faults.Fault{Verb: faults.VerbGet, Times: 3, Status: faults.Refusal(503, metav1.StatusReasonServiceUnavailable, 0)})
		var panicked *leader.PanicError
		calls, reports := 0, 0
		a := s.stand("a", func(o *leader.Options, c *candidate) {
			o.OnLeader = func(string) { calls++; runtime.Goexit() }
			o.OnError = func(err error) {
				if errors.As(err, &panicked) {
					reports++
				}
				runtime.Goexit()
			}
		})
		a.leadsWithin(time.Minute)
		a.cancel()
		must(t, a.end())
		if calls != 2 || reports != 2 || panicked.Where != "OnLeader" {
			t.Errorf("%d calls, %d reports: %v", calls, reports, panicked)
		}
	})
}

// blocked is a place for logs that takes none.
type blocked struct{ release chan struct{} }

func (b blocked) Write(p []byte) (int, error) {
	<-b.release
	return len(p), nil
}

// A Logger that blocks does not hold up the end of a leadership.
func TestBlockedLogger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t)
		release := make(chan struct{})
		a := s.stand("a", func(o *leader.Options, _ *candidate) {
			o.Logger = slog.New(slog.NewTextHandler(blocked{release}, &slog.HandlerOptions{Level: slog.LevelDebug}))
		})
		a.leadsWithin(time.Minute)
		time.Sleep(time.Hour)
		if !a.Leads() {
			t.Error("does not lead")
		}
		a.wire.set(true, nil)
		time.Sleep(11 * time.Second)
		settle()
		if !errors.Is(a.cause, leader.ErrExpired) {
			t.Errorf("the context of work has ended for %v", a.cause)
		}
		close(release)
		if err := a.end(); !errors.Is(err, leader.ErrExpired) {
			t.Error(err)
		}
	})
}

// answering answers each GET with a text.
type answering struct {
	next http.RoundTripper
	text string
}

func (a answering) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodGet {
		return a.next.RoundTrip(r)
	}
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Request: r,
		Body: io.NopCloser(bytes.NewReader([]byte(a.text))),
	}, nil
}

// What a server answers may be anything.
func TestAnswers(t *testing.T) {
	const lease = `"apiVersion":"coordination.k8s.io/v1","kind":"Lease"`
	good := `"metadata":{"namespace":"prod","name":"web","resourceVersion":"1"}`
	for name, test := range map[string]struct {
		text string
		fits bool
	}{
		"nothing":           {"", false},
		"null":              {"null", false},
		"empty":             {"{}", false},
		"a status":          {`{"apiVersion":"v1","kind":"Status","metadata":{"resourceVersion":"1"},"status":"Success"}`, false},
		"a page":            {"<html>", false},
		"no version":        {`{` + lease + `,"metadata":{"namespace":"prod","name":"web"},"spec":{"holderIdentity":"","leaseDurationSeconds":1}}`, false},
		"a number":          {`{` + lease + `,` + good + `,"spec":{"holderIdentity":7}}`, false},
		"a huge number":     {`{` + lease + `,` + good + `,"spec":{"leaseDurationSeconds":99999999999}}`, false},
		"no time":           {`{` + lease + `,` + good + `,"spec":{"renewTime":"soon"}}`, false},
		"no spec":           {`{` + lease + `,` + good + `,"spec":null}`, true},
		"negative":          {`{` + lease + `,` + good + `,"spec":{"holderIdentity":"x","leaseDurationSeconds":-2147483648,"leaseTransitions":-2147483648}}`, true},
		"far in the future": {`{` + lease + `,` + good + `,"spec":{"holderIdentity":"x","renewTime":"9999-12-31T23:59:59.999999Z","leaseDurationSeconds":2147483647}}`, true},
		"nulls":             {`{` + lease + `,` + good + `,"spec":{"holderIdentity":null,"renewTime":null,"acquireTime":null,"leaseDurationSeconds":null,"leaseTransitions":null,"strategy":null}}`, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScene(t)
				a := s.stand("a", func(_ *leader.Options, c *candidate) { c.wire.next = answering{c.wire.next, test.text} })
				time.Sleep(10 * time.Second)
				settle()
				if errs := a.reports(); len(a.led) > 0 || len(errs) == 0 != test.fits || strings.Contains(a.wire.take(), "P") {
					t.Errorf("led at %v, reported %v", a.led, errs)
				}
			})
		})
	}
}
