package controller_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/controller"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/queue"
)

// A write that the client itself refuses leaves nothing to catch up with.
func TestWriteThatIsNotSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newScene(t, controller.OpenOptions[*gadget]{})
		stop := w.run()
		defer stop()
		requests := 0
		count := func(*http.Request) { requests++ }
		w.wire.seen.Store(&count)
		ctx := t.Context()
		nameless := newGadget("", "")
		for name, err := range map[string]error{
			"patch without a namespace": second(w.handle.Patch(ctx, key{Name: "x"}, types.MergePatchType, []byte(`{}`), metav1.PatchOptions{})),
			"patch without a name":      second(w.handle.Patch(ctx, key{Namespace: "a"}, types.MergePatchType, []byte(`{}`), metav1.PatchOptions{})),
			"create without a name":     second(w.handle.Create(ctx, nameless, metav1.CreateOptions{})),
			"delete of a path":          w.handle.Delete(ctx, key{Namespace: "a", Name: "x/y"}, metav1.DeleteOptions{}),
			"no patch":                  second(w.handle.Patch(ctx, key{Namespace: "a", Name: "x"}, types.MergePatchType, nil, metav1.PatchOptions{})),
		} {
			if !errors.Is(err, client.ErrNotSent) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if err := w.handle.CatchUp(ctx); err != nil || requests > 0 {
			t.Errorf("CatchUp after %d requests: %v", requests, err)
		}
	})
}

// misfit is a transport whose answers to GETs of one object do not fit its type.
type misfit struct{ next http.RoundTripper }

func (m misfit) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := m.next.RoundTrip(r)
	if err == nil && r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/odd") {
		_ = answer.Body.Close()
		answer.Header.Set("Content-Type", "application/json")
		answer.ContentLength = -1
		answer.Body = http.NoBody
	}
	return answer, err
}

// An object in doubt that cannot be read does not hold the others up for ever.
func TestObjectInDoubtDoesNotFit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, _ := setup(t)
		create(t, server, newGadget("odd", ""))
		conn := client.Connection{URL: fake.URL, HTTP: &http.Client{Transport: misfit{server.Client().Transport}}}
		h := controller.Open(conn, gadgetKind)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- h.Run(ctx) }()
		synctest.Wait()
		if _, err := h.Create(ctx, newGadget("odd", ""), metav1.CreateOptions{}); err == nil {
			t.Error("the name was free")
		}
		limited, end := context.WithTimeout(ctx, 10*time.Minute)
		defer end()
		if err := h.CatchUp(limited); err != nil {
			t.Error(err)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// The name becomes free while reconcile still sees that it is taken.
func TestNameIsFreedDuringReconcile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, inf := setup(t)
		create(t, server, newGadget("child", ""))
		owner := newGadget("waits", "")
		owner.UID = "1"
		c, runC := delayed[key]("")
		controller.For(c, inf, func(event) bool { return false })
		controller.Owns(c, inf, inf, func(event) bool { return false })
		var calls atomic.Int64
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() {
			ended <- runC(ctx, func(_ context.Context, k key) error {
				calls.Add(1)
				g, ok := inf.Store().Get(key{Namespace: "a", Name: "child"})
				if !ok {
					return nil
				}
				must(fake.Delete[*gadget](server, key{Namespace: "a", Name: "child"}))(t)
				time.Sleep(time.Minute) // and the handler hears of it
				return controller.Terminal(controller.SetController(g.DeepCopy(), owner, gadgetKind))
			})
		}()
		c.Queue().Add(key{Namespace: "a", Name: "waits"})
		time.Sleep(time.Hour)
		if n := calls.Load(); n != 2 {
			t.Errorf("%d calls, want 2", n)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// A controller does not keep an informer that it no longer watches.
func TestUnwatchedIsReleased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, first := setup(t)
		c, runC := delayed[key]("")
		controller.For(c, first)
		_, stop := reconciling(t, runC)
		defer stop()
		gone := func() weak.Pointer[informer.Informer[key, *gadget]] {
			inf := informerOf(t, server)
			controller.For(c, inf)
			synctest.Wait()
			if err := controller.Unwatch(c, inf); err != nil {
				t.Error(err)
			}
			<-inf.Done()
			return weak.Make(inf)
		}()
		for range 20 {
			time.Sleep(time.Hour)
			synctest.Wait()
			runtime.GC()
			if gone.Value() == nil {
				return
			}
		}
		t.Error("the informer is still there")
	})
}

// A panic in OnError about a cache that is not filled does not end the process.
func TestPanicInOnErrorOfLateWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, first := setup(t)
		called := 0
		c, runC := delayed("", controller.Options[key]{SyncTimeout: time.Minute, Logger: slog.New(slog.DiscardHandler), OnError: func(error) { called++; panic("OnError") }})
		controller.For(c, first)
		_, stop := reconciling(t, runC)
		defer stop()
		synctest.Wait()
		controller.For(c, refused(t, 403, metav1.StatusReasonForbidden))
		time.Sleep(time.Hour)
		synctest.Wait()
		if called != 1 {
			t.Errorf("OnError was called %d times", called)
		}
	})
}

// An object in doubt whose GET fails for ever holds the reconciles up until the watch has come as
// far.
func TestObjectInDoubtCannotBeRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, _ := setup(t)
		create(t, server, newGadget("odd", ""))
		conn := client.Connection{URL: fake.URL, HTTP: &http.Client{Transport: refusing{server.Client().Transport, "/gadgets/odd", http.StatusInternalServerError}}}
		h := controller.Open(conn, gadgetKind)
		var reported, calls atomic.Int32
		c, runC := delayed("", controller.Options[key]{Queue: queue.Options[key]{OnError: func(key, error) { reported.Add(1) }}})
		controller.For(c, h)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- runC(ctx, func(context.Context, key) error { calls.Add(1); return nil }) }()
		synctest.Wait()
		before := calls.Load()
		if _, err := h.Create(ctx, newGadget("odd", ""), metav1.CreateOptions{}); err == nil {
			t.Error("the name was free")
		}
		create(t, server, newGadget("other", ""))
		time.Sleep(time.Second)
		synctest.Wait()
		if calls.Load() > before || reported.Load() == 0 {
			t.Errorf("%d reconciles after a write in doubt, %d reports", calls.Load()-before, reported.Load())
		}
		time.Sleep(time.Minute)
		server.Bookmark()
		time.Sleep(time.Minute)
		synctest.Wait()
		if calls.Load() == before {
			t.Error("no reconcile within two minutes")
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}
