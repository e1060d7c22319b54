package informer_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/fake/faults"
	"github.com/kinform/kinform/informer"
)

// isClosed reports whether ch is closed.
func isClosed(ch <-chan struct{}) bool {
	select {
	case <-ch:
		return true
	default:
		return false
	}
}

func TestLateHandlerReplaysStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t)
		old := must1(fake.Create(server, newWidget("a", "old", "n")))(t)
		inf := newInformer(t, source(t, server), informer.Options[*widget]{})
		early := newHistory(t, inf)
		must1(inf.AddHandler(early, handlerOptions{}))(t)
		stop := run(t, inf)
		defer stop()
		must1(fake.Create(server, newWidget("a", "new", "n")))(t)
		synctest.Wait()

		late := newHistory(t, inf)
		reg := must1(inf.AddHandler(late, handlerOptions{}))(t)
		synctest.Wait()
		if !isClosed(reg.Synced()) {
			t.Error("a late handler that has seen the store is not synced")
		}
		old.Spec.Size++
		must1(fake.Update(server, old))(t)
		synctest.Wait()

		oldKey, newKey := key{Namespace: "a", Name: "old"}, key{Namespace: "a", Name: "new"}
		for _, c := range []struct {
			name string
			h    *history
			k    key
			want string
		}{
			{"early", early, oldKey, "Added(initial) Updated"},
			{"early", early, newKey, "Added"},
			{"late", late, oldKey, "Added(initial) Updated"},
			{"late", late, newKey, "Added(initial)"},
		} {
			if got := c.h.types(c.k); got != c.want {
				t.Errorf("the %s handler saw %q of %v, want %q", c.name, got, c.k, c.want)
			}
		}
		early.check(t, "early")
		late.check(t, "late")
	})
}

func TestHandlersSyncWithAnEmptyServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inf := newInformer(t, source(t, newServer(t)), informer.Options[*widget]{})
		reg := must1(inf.AddHandler(newHistory(t, inf), handlerOptions{}))(t)
		if isClosed(reg.Synced()) {
			t.Error("synced before Run")
		}
		stop := run(t, inf)
		defer stop()
		if !isClosed(inf.Synced()) || !isClosed(reg.Synced()) {
			t.Error("informer or handler not synced with an empty list")
		}
	})
}

func TestHandlerRemovesItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t)
		for n := range 10 {
			must1(fake.Create(server, newWidget("a", fmt.Sprint("w", n), "n")))(t)
		}
		inf := newInformer(t, source(t, server), informer.Options[*widget]{})
		var reg *informer.Registration
		calls := 0
		reg = must1(inf.AddHandler(checked(t, inf, func(informer.Event[key, *widget]) {
			if calls++; calls == 3 {
				reg.Remove()
				reg.Remove()
			}
		}), handlerOptions{}))(t)
		other := newHistory(t, inf)
		must1(inf.AddHandler(other, handlerOptions{}))(t)
		stop := run(t, inf)
		if !isClosed(reg.Done()) {
			t.Error("a removed handler is not done")
		}
		if calls != 3 {
			t.Errorf("%d calls, want 3", calls)
		}
		other.check(t, "other")
		stop()
	})
}

func TestRemoveBeforeRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t)
		must1(fake.Create(server, newWidget("a", "w", "n")))(t)
		inf := newInformer(t, source(t, server), informer.Options[*widget]{})
		h := newHistory(t, inf)
		reg := must1(inf.AddHandler(h, handlerOptions{}))(t)
		reg.Remove()
		<-reg.Done()
		run(t, inf)()
		if len(h.events) != 0 {
			t.Errorf("%d events after Remove", len(h.events))
		}
	})
}

func TestRemoveWhileReplaying(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t)
		for n := range 10 {
			must1(fake.Create(server, newWidget("a", fmt.Sprint("w", n), "n")))(t)
		}
		inf := newInformer(t, source(t, server), informer.Options[*widget]{})
		stop := run(t, inf)
		defer stop()
		first, goOn := make(chan struct{}), make(chan struct{})
		calls := 0
		reg := must1(inf.AddHandler(checked(t, inf, func(informer.Event[key, *widget]) {
			if calls++; calls == 1 {
				close(first)
				<-goOn
			}
		}), handlerOptions{}))(t)
		<-first
		reg.Remove()
		if isClosed(reg.Done()) {
			t.Error("done while the callback runs")
		}
		close(goOn)
		<-reg.Done()
		if calls != 1 {
			t.Errorf("%d calls, want 1", calls)
		}
		if isClosed(reg.Synced()) {
			t.Error("a handler that was removed in the middle counts as synced")
		}
	})
}

// TestSlowHandlerHoldsUpTheWatch checks that a handler which does not return costs bounded
// memory, blocks no reads, and misses nothing.
func TestSlowHandlerHoldsUpTheWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t)
		inf := newInformer(t, source(t, server), informer.Options[*widget]{Pending: 16})
		goOn := make(chan struct{})
		slow := newHistory(t, inf)
		must1(inf.AddHandler(checked(t, inf, func(ev informer.Event[key, *widget]) {
			<-goOn
			slow.Handle(ev)
		}), handlerOptions{}))(t)
		fast := newHistory(t, inf)
		must1(inf.AddHandler(fast, handlerOptions{}))(t)
		stop := run(t, inf)
		defer stop()
		const n = informer.HandlerLag + 1000
		for i := range n {
			must1(fake.Create(server, newWidget("a", fmt.Sprint("w", i), "n")))(t)
			if i%10 == 0 {
				synctest.Wait()
			}
		}
		synctest.Wait()
		if got := inf.Store().Len(); got >= n || got < informer.HandlerLag {
			t.Errorf("the store has %d objects while a handler is stuck, want at least %d and less than %d", got, informer.HandlerLag, n)
		}
		if got := inf.Stats().Pending; got > 16 {
			t.Errorf("%d changes pending, limit 16", got)
		}
		fast.check(t, "fast")
		close(goOn)
		synctest.Wait()
		if got := inf.Store().Len(); got != n {
			t.Errorf("the store ended up with %d objects, want %d", got, n)
		}
		fast.check(t, "fast")
		slow.check(t, "slow")
	})
}

func TestHandlerPanicEndsRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t)
		must1(fake.Create(server, newWidget("a", "w", "n")))(t)
		inf := newInformer(t, source(t, server), informer.Options[*widget]{})
		cause := errors.New("broken")
		bad := must1(inf.AddHandler(informer.HandlerFuncs[key, *widget]{
			Added: checked(t, inf, func(informer.Event[key, *widget]) { panic(cause) }),
		}, handlerOptions{}))(t)
		other := must1(inf.AddHandler(newHistory(t, inf), handlerOptions{}))(t)
		err := inf.Run(context.Background())
		var panicked *informer.PanicError
		if !errors.As(err, &panicked) || !errors.Is(err, cause) {
			t.Fatalf("Run returned %v", err)
		}
		if panicked.Key != "a/w" || panicked.Where != "handler" || panicked.Name != "handler 1" || panicked.Resource != "widgets.example.com" {
			t.Errorf("panic at %q, key %q, resource %q", panicked.Where, panicked.Key, panicked.Resource)
		}
		if !strings.Contains(err.Error(), "TestHandlerPanicEndsRun") {
			t.Errorf("the error has no stack of the handler: %v", err)
		}
		<-bad.Done()
		<-other.Done()
	})
}

func TestHandlerAddsAndRemovesHandlers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t)
		must1(fake.Create(server, newWidget("a", "w", "n")))(t)
		inf := newInformer(t, source(t, server), informer.Options[*widget]{})
		inner := newHistory(t, inf)
		must1(inf.AddHandler(checked(t, inf, func(ev informer.Event[key, *widget]) {
			reg := must1(inf.AddHandler(inner, handlerOptions{}))(t)
			reg.Remove()
			must1(inf.AddHandler(newHistory(t, inf), handlerOptions{}))(t)
		}), handlerOptions{}))(t)
		stop := run(t, inf)
		stop()
	})
}

// TestTombstone makes the watch miss a deletion.
func TestTombstone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t)
		must1(fake.Create(server, newWidget("a", "w", "n")))(t)
		must1(fake.Create(server, newWidget("a", "seen", "n")))(t)
		inf := newInformer(t, source(t, server), informer.Options[*widget]{OnError: ignore})
		h := newHistory(t, inf)
		must1(inf.AddHandler(h, handlerOptions{}))(t)
		stop := run(t, inf)
		defer stop()
		must1(fake.Delete[*widget](server, key{Namespace: "a", Name: "seen"}))(t)
		synctest.Wait()
		must1(struct{}{}, server.Inject(faults.Fault{Verb: faults.VerbWatch, Times: 1, Status: faults.Refusal(500, "InternalError", 0)}))(t)
		server.DropWatches()
		synctest.Wait()
		must1(fake.Delete[*widget](server, key{Namespace: "a", Name: "w"}))(t)
		if err := server.Compact(server.ResourceVersion()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		h.check(t, "h")
		if got, want := h.types(key{Namespace: "a", Name: "w"}), "Added(initial) Deleted(unknown)"; got != want {
			t.Errorf("saw %q of the object whose deletion was missed, want %q", got, want)
		}
		if got, want := h.types(key{Namespace: "a", Name: "seen"}), "Added(initial) Deleted"; got != want {
			t.Errorf("saw %q of the other, want %q", got, want)
		}
	})
}

// TestLateHandlerHoldsUpTheWatch: one that is stuck in what it found counts as any other.
func TestLateHandlerHoldsUpTheWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t)
		must1(fake.Create(server, newWidget("a", "first", "n")))(t)
		inf := newInformer(t, source(t, server), informer.Options[*widget]{})
		stop := run(t, inf)
		defer stop()
		goOn := make(chan struct{})
		late := newHistory(t, inf)
		must1(inf.AddHandler(checked(t, inf, func(ev informer.Event[key, *widget]) {
			<-goOn
			late.Handle(ev)
		}), handlerOptions{}))(t)
		const n = informer.HandlerLag + 2000
		for i := range n {
			must1(fake.Create(server, newWidget("a", fmt.Sprint("w", i), "n")))(t)
			if i%10 == 0 {
				synctest.Wait()
			}
		}
		synctest.Wait()
		if got := inf.Store().Len(); got > n {
			t.Errorf("the store has all %d objects while a handler is stuck", got)
		}
		close(goOn)
		synctest.Wait()
		if got := inf.Store().Len(); got != n+1 {
			t.Errorf("the store ended up with %d objects, want %d", got, n+1)
		}
		late.check(t, "late")
	})
}

// TestNoPanicIsLost: Run returns one panic, and OnError gets all of them.
func TestNoPanicIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t)
		must1(fake.Create(server, newWidget("a", "w", "n")))(t)
		var heard errorsOf
		inf := newInformer(t, source(t, server), informer.Options[*widget]{OnError: heard.add})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		for range 2 {
			must1(inf.AddHandler(checked(t, inf, func(informer.Event[key, *widget]) {
				cancel() // so that Run has a reason to return nil
				panic("after the end")
			}), handlerOptions{}))(t)
		}
		if err := inf.Run(ctx); err != nil {
			t.Errorf("Run returned %v", err)
		}
		if _, ok := find[*informer.PanicError](&heard); !ok {
			t.Errorf("OnError heard %v, not of the panic", heard.all)
		}
	})
}

// TestPanicWithTheContextsError: what a handler panicked with is no end of Run's context, even if
// that ends while Run waits for other handlers.
func TestPanicWithTheContextsError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t)
		must1(fake.Create(server, newWidget("a", "w", "n")))(t)
		inf := newInformer(t, source(t, server), informer.Options[*widget]{OnError: ignore})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		must1(inf.AddHandler(checked(t, inf, func(informer.Event[key, *widget]) { panic(context.Canceled) }), handlerOptions{}))(t)
		must1(inf.AddHandler(checked(t, inf, func(informer.Event[key, *widget]) {
			time.Sleep(time.Minute)
			cancel()
		}), handlerOptions{}))(t)
		var panicked *informer.PanicError
		if err := inf.Run(ctx); !errors.As(err, &panicked) {
			t.Errorf("Run returned %v", err)
		}
	})
}

// TestGoexitEndsRun: a handler that ends its goroutine would never be called again.
func TestGoexitEndsRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t)
		must1(fake.Create(server, newWidget("a", "w", "n")))(t)
		inf := newInformer(t, source(t, server), informer.Options[*widget]{OnError: ignore})
		must1(inf.AddHandler(checked(t, inf, func(informer.Event[key, *widget]) { runtime.Goexit() }), handlerOptions{}))(t)
		var panicked *informer.PanicError
		if err := inf.Run(t.Context()); !errors.As(err, &panicked) || panicked.Key != "a/w" {
			t.Errorf("Run returned %v", err)
		}
	})
}
