package informer_test

import (
	"context"
	"fmt"
	"iter"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/informer"
)

func TestEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t)
		must1(fake.Create(server, newWidget("a", "w", "n")))(t)
		inf := newInformer(t, source(t, server), informer.Options[*widget]{})
		histories := []*history{newHistory(t, inf), newHistory(t, inf)}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		loop := func(ctx context.Context, h *history) <-chan struct{} {
			left := make(chan struct{})
			go func() {
				defer close(left)
				for ev := range inf.Events(ctx, handlerOptions{}) {
					h.Handle(ev)
				}
			}()
			synctest.Wait()
			return left
		}
		byCancel := loop(ctx, histories[0]) // before Run
		stop := run(t, inf)
		byStop := loop(context.Background(), histories[1])
		must1(fake.Create(server, newWidget("a", "new", "n")))(t)
		synctest.Wait()
		for n, h := range histories {
			h.check(t, fmt.Sprint("loop ", n))
		}
		if n := len(inf.Handlers()); n != 2 {
			t.Errorf("%d handlers, want the two loops", n)
		}
		cancel()
		<-byCancel
		stop()
		<-byStop
		for range inf.Events(context.Background(), handlerOptions{}) {
			t.Error("a loop over the events of a stopped informer")
		}
		if n := len(inf.Handlers()); n != 0 {
			t.Errorf("%d handlers left", n)
		}
	})
}

// TestEventsAgain: leaving a loop removes the handler, the next one begins anew, and a
// panic in the body comes out of it.
func TestEventsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t)
		for n := range 3 {
			must1(fake.Create(server, newWidget("a", fmt.Sprint("w", n), "n")))(t)
		}
		inf := newInformer(t, source(t, server), informer.Options[*widget]{})
		stop := run(t, inf)
		defer stop()
		events := inf.Events(t.Context(), handlerOptions{Name: "loop"})
		for range 2 {
			n := 0
			h := newHistory(t, inf)
			for ev := range events {
				h.Handle(ev)
				if !ev.Initial || ev.Type != informer.Added {
					t.Errorf("the loop begins with %+v", ev)
				}
				if s := inf.Handlers(); len(s) != 1 || s[0].Name != "loop" {
					t.Errorf("handlers %v", s)
				}
				if n++; n == 2 {
					break
				}
			}
		}
		func() {
			defer func() {
				if recover() != "body" {
					t.Error("the panic was lost")
				}
			}()
			for range events {
				panic("body")
			}
		}()
		if n := len(inf.Handlers()); n != 0 {
			t.Errorf("%d handlers left", n)
		}
	})
}

// TestEventsHoldUpTheWatch: the body of a loop is waited for as a handler is.
func TestEventsHoldUpTheWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t)
		inf := newInformer(t, source(t, server), informer.Options[*widget]{})
		stop := run(t, inf)
		defer stop()
		const n = informer.HandlerLag + 2000
		create := func() {
			for i := range n {
				must1(fake.Create(server, newWidget("a", fmt.Sprint("w", i), "n")))(t)
				if i%10 == 0 {
					synctest.Wait()
				}
			}
		}
		go func() {
			must1(fake.Create(server, newWidget("a", "first", "n")))(t)
		}()
		h := newHistory(t, inf)
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		for ev := range inf.Events(ctx, handlerOptions{}) {
			h.Handle(ev)
			if h.count() == 1 {
				create()
				synctest.Wait()
				if got := inf.Store().Len(); got > n {
					t.Errorf("the store has all %d objects while the loop's body runs", got)
				}
			}
			if h.count() == n+1 {
				break
			}
		}
		if h.count() != n+1 || ctx.Err() != nil {
			t.Errorf("the loop has seen %d objects, want %d; its context: %v", h.count(), n+1, ctx.Err())
		}
		h.check(t, "loop")
	})
}

// TestEventsPulled: a loop that is neither pulled nor stopped holds up the watch only until its
// context ends.
func TestEventsPulled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t)
		inf := newInformer(t, source(t, server), informer.Options[*widget]{})
		informer.SetLag(inf, 10)
		stop := run(t, inf)
		defer stop()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		must1(fake.Create(server, newWidget("a", "first", "n")))(t)
		synctest.Wait()
		next, leave := iter.Pull(inf.Events(ctx, handlerOptions{}))
		defer leave()
		if ev, ok := next(); !ok || ev.Key.Name != "first" {
			t.Fatalf("pulled %v, %t", ev, ok)
		}
		for n := range 100 {
			must1(fake.Create(server, newWidget("a", fmt.Sprint("w", n), "n")))(t)
			synctest.Wait()
		}
		if n := inf.Store().Len(); n == 101 {
			t.Error("the loop was not waited for")
		}
		cancel()
		synctest.Wait()
		if n := inf.Store().Len(); n != 101 {
			t.Errorf("%d objects in the store after the end of the loop's context, want 101", n)
		}
		if ev, ok := next(); ok {
			t.Errorf("pulled %v after the end of the context", ev)
		}
	})
}
