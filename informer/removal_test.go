package informer_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/informer"
)

// TestDrain gives a handler what was there before it leaves, and nothing more.
func TestDrain(t *testing.T) {
	for _, late := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			server := newServer(t)
			for n := range 10 {
				must1(fake.Create(server, newWidget("a", fmt.Sprint("w", n), "n")))(t)
			}
			inf := newInformer(t, source(t, server), informer.Options[*widget]{})
			if late {
				defer run(t, inf)()
			}
			goOn := make(chan struct{})
			h := newHistory(t, inf)
			reg := must1(inf.AddHandler(checked(t, inf, func(ev informer.Event[key, *widget]) {
				<-goOn
				h.Handle(ev)
			}), handlerOptions{}))(t)
			if !late {
				defer run(t, inf)()
			}
			must1(fake.Create(server, newWidget("a", "before", "n")))(t)
			synctest.Wait()
			reg.Drain()
			reg.Drain()
			must1(fake.Create(server, newWidget("a", "after", "n")))(t)
			synctest.Wait()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			if err := reg.Wait(ctx); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("Wait returned %v while the callback runs", err)
			}
			close(goOn)
			if err := reg.Wait(t.Context()); err != nil {
				t.Errorf("Wait returned %v", err)
			}
			if got := h.count(); got != 11 || h.types(key{Namespace: "a", Name: "after"}) != "" {
				t.Errorf("late %t: %d events, want the 11 from before Drain", late, got)
			}
			h.checkEvents(t, "h")
			if len(inf.Handlers()) != 0 {
				t.Error("the informer still has the handler")
			}
		})
	}
}

// TestDrainOfIdleHandler ends one that waits for something to come.
func TestDrainOfIdleHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inf := newInformer(t, source(t, newServer(t)), informer.Options[*widget]{})
		stopped := must1(inf.AddHandler(newHistory(t, inf), handlerOptions{}))(t)
		stopped.Drain() // there is nothing to wait for before Run
		<-stopped.Done()
		reg := must1(inf.AddHandler(newHistory(t, inf), handlerOptions{}))(t)
		stop := run(t, inf)
		reg.Drain()
		<-reg.Done()
		again := must1(inf.AddHandler(newHistory(t, inf), handlerOptions{}))(t)
		stop()
		again.Drain()
		<-again.Done()
		again.Remove()
		if n := len(inf.Handlers()); n != 0 {
			t.Errorf("%d handlers left", n)
		}
	})
}

// TestDrainInCallback: a handler may drain itself, and end that early.
func TestDrainInCallback(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t)
		for n := range 10 {
			must1(fake.Create(server, newWidget("a", fmt.Sprint("w", n), "n")))(t)
		}
		inf := newInformer(t, source(t, server), informer.Options[*widget]{})
		var reg *informer.Registration
		calls := 0
		reg = must1(inf.AddHandler(checked(t, inf, func(informer.Event[key, *widget]) {
			switch calls++; calls {
			case 3:
				reg.Drain()
				if err := reg.Wait(cancelled(t)); !errors.Is(err, context.Canceled) {
					t.Errorf("Wait in the callback returned %v", err)
				}
			case 5:
				reg.Remove()
			}
		}), handlerOptions{}))(t)
		stop := run(t, inf)
		defer stop()
		<-reg.Done()
		if calls != 5 {
			t.Errorf("%d calls, want 5", calls)
		}
	})
}

func cancelled(t testing.TB) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

// TestRemoveWhileStopping: client-go deadlocks when a handler is removed while
// the informer stops.
func TestRemoveWhileStopping(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t)
		must1(fake.Create(server, newWidget("a", "w", "n")))(t)
		inf := newInformer(t, source(t, server), informer.Options[*widget]{})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		regs := make([]*informer.Registration, 10)
		for n := range regs {
			regs[n] = must1(inf.AddHandler(checked(t, inf, func(informer.Event[key, *widget]) {
				cancel()
				time.Sleep(time.Second) // Run waits for the handlers now
				for _, reg := range regs {
					reg.Remove()
				}
			}), handlerOptions{}))(t)
		}
		if err := inf.Run(ctx); err != nil {
			t.Errorf("Run returned %v", err)
		}
		for _, reg := range regs {
			<-reg.Done()
		}
		if n := len(inf.Handlers()); n != 0 {
			t.Errorf("%d handlers left", n)
		}
	})
}
