package controller_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/controller"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/fake/faults"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/internal/usercode"
	"github.com/kinform/kinform/queue"
	"github.com/kinform/kinform/reflector"
)

const patience = 2 * time.Minute

// refused returns an informer whose requests all fail with a status.
func refused(t *testing.T, code int, reason metav1.StatusReason) *informer.Informer[key, *gadget] {
	t.Helper()
	server, inf := setup(t)
	for _, verb := range []faults.Verb{faults.VerbList, faults.VerbWatch} {
		if err := server.Inject(faults.Fault{Verb: verb, Times: -1, Status: faults.Refusal(code, reason, 0)}); err != nil {
			t.Fatal(err)
		}
	}
	return inf
}

// A kind that is not the resource's does not look like an empty collection: the cache does not
// fill, and the error of Run says why, with streaming lists and without.
func TestWrongKind(t *testing.T) {
	for _, plain := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			server, _ := setup(t)
			create(t, server, newGadget("one", "x"))
			conn := client.Connection{URL: fake.URL, HTTP: server.Client()}
			opts := controller.OpenOptions[*gadget]{Informer: informer.Options[*gadget]{OnError: func(error) {}}}
			opts.Informer.Reflector.DisableWatchList = plain
			h := controller.Open(conn, gadgetKind.Named("Widget"), opts)
			c, runC := delayed("", controller.Options[key]{SyncTimeout: patience})
			controller.For(c, h)
			err := runC(t.Context(), new(calls[key]).reconcile)
			if !errors.Is(err, reflector.ErrUnusable) || !strings.Contains(err.Error(), "gadgets: list") || !strings.Contains(err.Error(), "a list of Gadget, want v1 Widget") {
				t.Errorf("Run returned %v", err)
			}
		})
	}
}

// Run gives up after SyncTimeout, and says which caches are not filled and why.
func TestSyncTimeout(t *testing.T) {
	for name, test := range map[string]struct {
		code   int
		reason metav1.StatusReason
		want   string
		is     func(error) bool
	}{
		"not installed": {404, metav1.StatusReasonNotFound, "does the server serve this resource in this API version?", apierrors.IsNotFound},
		"forbidden":     {403, metav1.StatusReasonForbidden, "gadgets", apierrors.IsForbidden},
		"busy":          {500, metav1.StatusReasonInternalError, "requests have failed for", func(err error) bool { return errors.Is(err, context.DeadlineExceeded) }},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				_, good := setup(t)
				bad := refused(t, test.code, test.reason)
				c, runC := delayed("", controller.Options[key]{SyncTimeout: patience})
				controller.For(c, good)
				controller.For(c, bad)
				controller.For(c, bad)
				began := time.Now()
				err := runC(t.Context(), new(calls[key]).reconcile)
				var late *controller.SyncError
				if !errors.As(err, &late) || len(late.Errs) != 1 || late.After != patience || time.Since(began) != patience {
					t.Fatalf("after %v Run returned %v", time.Since(began), err)
				}
				if text := err.Error(); !test.is(err) || !strings.Contains(text, "gadgets") || strings.Count(text, test.want) < 1 || strings.Count(text, "does the server serve") > 1 {
					t.Errorf("Run returned %v", err)
				}
			})
		})
	}
}

// An error names a handler that has not seen its cache. The end of the context is no error,
// with any timeout.
func TestSyncTimeoutOfHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, inf := setup(t)
		create(t, server, newGadget("one", "x"))
		release := make(chan struct{})
		slow := func(event) bool { <-release; return true }
		c, runC := delayed("", controller.Options[key]{SyncTimeout: patience})
		controller.For(c, inf, slow)
		time.AfterFunc(2*patience, func() { close(release) })
		if err := runC(t.Context(), new(calls[key]).reconcile); !strings.Contains(fmt.Sprint(err), "handler has not seen") {
			t.Errorf("Run returned %v", err)
		}
		c, runC = delayed("", controller.Options[key]{SyncTimeout: patience})
		controller.For(c, refused(t, 404, metav1.StatusReasonNotFound))
		ctx, cancel := context.WithTimeout(t.Context(), patience-1)
		defer cancel()
		if err := runC(ctx, new(calls[key]).reconcile); err != nil {
			t.Errorf("Run returned %v", err)
		}
	})
}

// A function of Watch that never returns does not keep Run: it returns the error ten seconds later.
func TestSyncTimeoutOfStuckHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, inf := setup(t)
		create(t, server, newGadget("one", "x"))
		release := make(chan struct{})
		c := controller.New("stuck", new(calls[key]).reconcile, controller.Options[key]{SyncTimeout: patience})
		controller.Watch(c, inf, func(dst []key, _ *gadget) []key { <-release; return dst })
		began := time.Now()
		if err := c.Run(t.Context()); !strings.Contains(fmt.Sprint(err), "handler has not seen") || time.Since(began) != patience+10*time.Second {
			t.Errorf("after %v Run returned %v", time.Since(began), err)
		}
		close(release)
		synctest.Wait()
		if err := c.Run(t.Context()); !errors.Is(err, controller.ErrInvalid) {
			t.Errorf("a second Run returned %v", err)
		}
	})
}

// Without a timeout, a resource that is installed late is no failure.
func TestNoSyncTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := fake.New(fake.Options{})
		if err := fake.Register(server, gadgetKind, fake.Rules{}); err != nil {
			t.Fatal(err)
		}
		late := faults.Fault{Verb: faults.VerbList, Times: 20, Status: faults.Refusal(404, metav1.StatusReasonNotFound, 0)}
		if err := server.Inject(late); err != nil {
			t.Fatal(err)
		}
		create(t, server, newGadget("one", "x"))
		inf := informerOf(t, server)
		c, runC := delayed[key]("")
		controller.For(c, inf)
		err := runC(t.Context(), func(context.Context, key) error {
			c.Queue().ShutDown()
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
}

// The result of reconcile decides when its key comes back.
func TestResults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, inf := setup(t)
		for _, name := range []string{"again", "terminal"} {
			create(t, server, newGadget(name, ""))
		}
		var reported []string
		c, runC := delayed("", controller.Options[key]{Queue: queue.Options[key]{
			OnError: func(k key, err error) { reported = append(reported, k.Name+": "+err.Error()) },
		}})
		controller.For(c, inf)
		began, counts := time.Now(), map[string]int{}
		err := runC(t.Context(), func(_ context.Context, k key) error {
			counts[k.Name]++
			if k.Name == "terminal" {
				return controller.Terminal(errors.New("no such class"))
			}
			if counts[k.Name] == 3 {
				c.Queue().ShutDown()
				return nil
			}
			return controller.Again(time.Hour)
		})
		if took := time.Since(began); err != nil || took != 2*time.Hour {
			t.Errorf("after %v Run returned %v", took, err)
		}
		if counts["again"] != 3 || counts["terminal"] != 1 || len(reported) != 1 || reported[0] != "terminal: terminal: no such class" {
			t.Errorf("calls: %v, reported: %q", counts, reported)
		}
		if controller.Terminal(nil) != nil {
			t.Error("Terminal(nil) is an error")
		}
	})
}

// The informer's own state and its log say what a 404 may mean.
func TestNotInstalled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bad := refused(t, 404, metav1.StatusReasonNotFound)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- bad.Run(ctx) }()
		synctest.Wait()
		const hint = "does the server serve this resource in this API version?"
		failing := bad.Stats().Failing
		if failing.Err == nil || !strings.Contains(failing.Err.Error(), hint) {
			t.Errorf("Failing: %v", failing.Err)
		}
		var request *reflector.RequestError
		if !errors.As(failing.Err, &request) || !strings.Contains(request.LogValue().String(), hint) {
			t.Errorf("the log has %v", request)
		}
		if err := bad.WaitForSync(ctx); err == nil || strings.Count(err.Error(), hint) != 1 {
			t.Errorf("WaitForSync: %v", err)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// A controller ends when OnError ends the goroutine of its informer.
func TestGoexitOfInformer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, _ := setup(t)
		if err := server.Inject(faults.Fault{Times: 1, Status: faults.Refusal(500, metav1.StatusReasonInternalError, 0)}); err != nil {
			t.Fatal(err)
		}
		inf := informerWith(t, server, informer.Options[*gadget]{OnError: func(error) { runtime.Goexit() }})
		c, runC := delayed[key]("")
		controller.For(c, inf)
		if err := runC(t.Context(), func(context.Context, key) error { return nil }); !errors.Is(err, usercode.ErrGoexit) {
			t.Errorf("Run returned %v", err)
		}
	})
}
