package informer_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"runtime"
	"testing"
	"testing/synctest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/fake/faults"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/reflector"
)

// TestRestart stops an informer, changes the server, and runs it again: the handlers that
// were there see the difference, as do those that were added in between.
func TestRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t)
		stays := must1(fake.Create(server, newWidget("a", "stays", "n")))(t)
		must1(fake.Create(server, newWidget("a", "goes", "n")))(t)
		inf := newInformer(t, source(t, server), informer.Options[*widget]{})
		early := newHistory(t, inf)
		reg := must1(inf.AddHandler(early, handlerOptions{}))(t)
		first := reg.Done()
		run(t, inf)()
		if !isClosed(first) || !isClosed(reg.Done()) {
			t.Error("a handler of a stopped informer is not done")
		}
		if err := waitForSync(inf); err != nil {
			t.Errorf("WaitForSync returned %v though it had synced", err)
		}
		if inf.Store().Len() != 2 {
			t.Error("the store cannot be read any more")
		}
		stays.Spec.Size++
		must1(fake.Update(server, stays))(t)
		must1(fake.Create(server, newWidget("a", "comes", "n")))(t)
		must1(fake.Delete[*widget](server, key{Namespace: "a", Name: "goes"}))(t)
		between := newHistory(t, inf)
		added := must1(inf.AddHandler(between, handlerOptions{}))(t)
		if !isClosed(added.Done()) {
			t.Error("a handler that a stopped informer is given is not done")
		}

		stop := run(t, inf)
		if isClosed(reg.Done()) || isClosed(added.Done()) {
			t.Error("a handler is done though the informer runs again")
		}
		if err := inf.Run(t.Context()); !errors.Is(err, informer.ErrRunning) {
			t.Errorf("Run returned %v while the informer runs", err)
		}
		for name, want := range map[string]string{
			"stays": "Added(initial) Updated",
			"goes":  "Added(initial) Deleted(unknown)",
			"comes": "Added",
		} {
			for _, h := range []*history{early, between} {
				if got := h.types(key{Namespace: "a", Name: name}); got != want {
					t.Errorf("saw %q of %s, want %q", got, name, want)
				}
			}
		}
		early.check(t, "early")
		between.check(t, "between")
		if got := inf.Stats().Lists; got != 2 {
			t.Errorf("%d lists counted, want those of both runs", got)
		}
		stop()
	})
}

// TestRestartGoesOnWhereHandlersWere: what a handler had not been given when the informer
// stopped it is given when that runs again, and nothing twice.
func TestRestartGoesOnWhereHandlersWere(t *testing.T) {
	for _, late := range []bool{false, true} {
		t.Run(fmt.Sprint("late ", late), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := newServer(t)
				for n := range 50 {
					must1(fake.Create(server, newWidget("a", fmt.Sprint("w", n), "n")))(t)
				}
				inf := newInformer(t, source(t, server), informer.Options[*widget]{})
				if late {
					run(t, inf)()
				}
				h := newHistory(t, inf)
				cancel := context.CancelFunc(func() {})
				n := 0
				reg := must1(inf.AddHandler(checked(t, inf, func(ev informer.Event[key, *widget]) {
					h.Handle(ev)
					if n++; n%20 == 0 {
						cancel()
					}
				}), handlerOptions{}))(t)
				for _, want := range []int{20, 40, 50} {
					ctx, stop := context.WithCancel(t.Context())
					cancel = stop
					ended := make(chan error, 1)
					go func() { ended <- inf.Run(ctx) }()
					synctest.Wait()
					if n != want {
						t.Errorf("%d calls, want %d", n, want)
					}
					if isClosed(reg.Synced()) != (want == 50) {
						t.Errorf("synced after %d calls of 50: %t", n, isClosed(reg.Synced()))
					}
					stop()
					if err := <-ended; err != nil {
						t.Errorf("Run returned %v", err)
					}
				}
				h.check(t, "h")
			})
		})
	}
}

// TestRestartBeforeSync: the second run brings the initial list if the first did not.
func TestRestartBeforeSync(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t)
		must1(fake.Create(server, newWidget("a", "w", "n")))(t)
		if err := server.Inject(faults.Fault{Times: -1, Status: faults.Refusal(403, metav1.StatusReasonForbidden, 0)}); err != nil {
			t.Fatal(err)
		}
		inf := newInformer(t, source(t, server), informer.Options[*widget]{OnError: ignore})
		h := newHistory(t, inf)
		must1(inf.AddHandler(h, handlerOptions{}))(t)
		run(t, inf)()
		var refused *informer.NotSyncingError
		if err := waitForSync(inf); !errors.As(err, &refused) && !errors.Is(err, informer.ErrStopped) {
			t.Errorf("WaitForSync returned %v", err)
		}
		server.ClearFaults()
		stop := run(t, inf)
		defer stop()
		if err := waitForSync(inf); err != nil {
			t.Errorf("WaitForSync returned %v", err)
		}
		if got := h.types(key{Namespace: "a", Name: "w"}); got != "Added(initial)" {
			t.Errorf("the handler saw %q", got)
		}
	})
}

// TestRestartAfterPanic: the event that a handler panicked on counts as given.
func TestRestartAfterPanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t)
		for n := range 3 {
			must1(fake.Create(server, newWidget("a", fmt.Sprint("w", n), "n")))(t)
		}
		inf := newInformer(t, source(t, server), informer.Options[*widget]{OnError: ignore})
		h := newHistory(t, inf)
		must1(inf.AddHandler(checked(t, inf, func(ev informer.Event[key, *widget]) {
			h.Handle(ev)
			if len(h.events) == 2 {
				panic("second call")
			}
		}), handlerOptions{}))(t)
		var panicked *informer.PanicError
		if err := inf.Run(t.Context()); !errors.As(err, &panicked) {
			t.Fatalf("Run returned %v", err)
		}
		run(t, inf)()
		h.check(t, "h")
	})
}

// TestWaitsEndWithTheInformer: so that a handler may wait, though it has no context to
// know that the informer stops.
func TestWaitsEndWithTheInformer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t)
		must1(fake.Create(server, newWidget("a", "w", "n")))(t)
		inf := newInformer(t, source(t, server), informer.Options[*widget]{})
		var inHandler error
		must1(inf.AddHandler(checked(t, inf, func(informer.Event[key, *widget]) {
			inHandler = inf.WaitForRV(context.Background(), "1000")
		}), handlerOptions{}))(t)
		waited := make(chan error)
		wait := func() {
			waited <- inf.WaitFor(context.Background(), key{Name: "never"}, func(_ *widget, exists bool) bool { return exists })
		}
		go wait() // already before Run
		synctest.Wait()
		run(t, inf)()
		if err := <-waited; !errors.Is(err, informer.ErrStopped) || !errors.Is(inHandler, informer.ErrStopped) {
			t.Errorf("the waits ended with %v and %v", err, inHandler)
		}
		go wait()
		if err := <-waited; !errors.Is(err, informer.ErrStopped) {
			t.Errorf("a wait on a stopped informer ended with %v", err)
		}
		if err := inf.WaitForRV(t.Context(), inf.Store().ResourceVersion()); err != nil {
			t.Errorf("a wait for what is there returned %v", err)
		}
		stop := run(t, inf)
		defer stop()
		go func() {
			waited <- inf.WaitFor(context.Background(), key{Namespace: "a", Name: "new"}, func(_ *widget, exists bool) bool { return exists })
		}()
		synctest.Wait()
		must1(fake.Create(server, newWidget("a", "new", "n")))(t)
		if err := <-waited; err != nil {
			t.Errorf("WaitFor returned %v", err)
		}
	})
}

// TestDone: one channel for each run, closed when the informer can be run again.
func TestDone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t)
		must1(fake.Create(server, newWidget("a", "w", "n")))(t)
		inf := newInformer(t, source(t, server), informer.Options[*widget]{})
		goOn := make(chan struct{})
		must1(inf.AddHandler(checked(t, inf, func(informer.Event[key, *widget]) { <-goOn }), handlerOptions{}))(t)
		before := inf.Done()
		ctx, cancel := context.WithCancel(t.Context())
		first := make(chan error, 1)
		go func() { first <- inf.Run(ctx) }()
		synctest.Wait()
		if during := inf.Done(); before != during || isClosed(before) {
			t.Error("the first run ends another channel than the one from before, or it is closed")
		}
		// A second one, which has its turn when the first has ended.
		again, stop := context.WithCancel(t.Context())
		second := make(chan error, 1)
		go func() {
			if err := inf.Run(again); err != informer.ErrRunning {
				t.Errorf("Run beside another returned %v", err)
			}
			<-inf.Done()
			second <- inf.Run(again)
		}()
		cancel()
		synctest.Wait()
		if isClosed(before) {
			t.Error("closed while a handler is being called")
		}
		close(goOn)
		if err := <-first; err != nil || !isClosed(before) {
			t.Errorf("Run returned %v, closed %t", err, isClosed(before))
		}
		synctest.Wait()
		if now := inf.Done(); now == before || isClosed(now) {
			t.Error("the second run has no channel of its own, or it is closed")
		}
		stop()
		if err := <-second; err != nil || !isClosed(inf.Done()) {
			t.Errorf("the second Run returned %v, closed %t", err, isClosed(inf.Done()))
		}
	})
}

// stubborn is a source whose watch goes on until the test ends it, whatever its context says.
type stubborn struct {
	manual
	end chan struct{}
}

func (s *stubborn) Watch(context.Context, metav1.ListOptions) iter.Seq2[reflector.Event[*widget], error] {
	return func(func(reflector.Event[*widget], error) bool) { <-s.end }
}

// TestStopDespiteSource: handlers and waits end with the context, even if the source does not.
func TestStopDespiteSource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := &stubborn{end: make(chan struct{})}
		inf := newInformer(t, src, informer.Options[*widget]{Reflector: reflector.Tuning{DisableWatchList: true}})
		reg := must1(inf.AddHandler(newHistory(t, inf), handlerOptions{}))(t)
		ctx, cancel := context.WithCancel(t.Context())
		ran, waited := make(chan error, 1), make(chan error, 1)
		go func() { ran <- inf.Run(ctx) }()
		go func() { waited <- inf.WaitForRV(t.Context(), "2") }()
		synctest.Wait()
		cancel()
		synctest.Wait()
		if !isClosed(reg.Done()) || len(waited) == 0 || len(ran) > 0 {
			t.Errorf("while the source goes on, the handler is done: %t, WaitForRV: %t, Run: %t", isClosed(reg.Done()), len(waited) > 0, len(ran) > 0)
		}
		close(src.end)
		if err := <-ran; err != nil {
			t.Errorf("Run returned %v", err)
		}
		if err := <-waited; !errors.Is(err, informer.ErrStopped) {
			t.Errorf("WaitForRV returned %v", err)
		}
	})
}

// TestDoneDespiteGoexit: Done is closed and Run can be called again, even if OnError ends the
// goroutine of Run when the informer looks for mutations for the last time, or if the logger does so
// when Run ends.
func TestDoneDespiteGoexit(t *testing.T) {
	for name, end := range map[string]func(){"goexit": runtime.Goexit, "panic": func() { panic("end") }} {
		for _, logs := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/logger %t", name, logs), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					server := newServer(t)
					w := must1(fake.Create(server, newWidget("a", "w", "n")))(t)
					var heard errorsOf
					over := false
					strike := func() {
						if over {
							over = false
							end()
						}
					}
					opts := informer.Options[*widget]{Mutations: informer.MutationsAll, OnError: func(err error) {
						heard.add(err)
						if !logs {
							strike()
						}
					}}
					if logs {
						opts.Logger = slog.New(onRecord{slog.DiscardHandler, strike})
					}
					inf := newInformer(t, source(t, server), opts)
					ctx, cancel := context.WithCancel(t.Context())
					ended := make(chan struct{})
					go func() {
						defer close(ended)
						_ = inf.Run(ctx)
					}()
					synctest.Wait()
					stored, _ := inf.Store().Get(key{Namespace: w.Namespace, Name: w.Name})
					stored.Spec.Size++
					over = true
					done := inf.Done()
					cancel()
					<-ended
					if !isClosed(done) {
						t.Fatal("Done is open after the end of Run")
					}
					if over {
						t.Error("nothing was called at the end")
					}
					if _, ok := find[*informer.PanicError](&heard); name == "goexit" && !ok {
						t.Errorf("OnError got %v", heard.all)
					}
					run(t, inf)()
				})
			})
		}
	}
}

// onRecord is a handler of a logger that calls a function for each record.
type onRecord struct {
	slog.Handler
	call func()
}

func (onRecord) Enabled(context.Context, slog.Level) bool { return true }

func (h onRecord) Handle(context.Context, slog.Record) error {
	h.call()
	return nil
}

func (h onRecord) WithAttrs([]slog.Attr) slog.Handler { return h }
