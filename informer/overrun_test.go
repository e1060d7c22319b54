package informer_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/informer"
)

// TestCoalesce: a handler that stops does not hold up the cache. When it goes on, it gets the
// difference, one event per key.
func TestCoalesce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t)
		stays := must1(fake.Create(server, newWidget("a", "stays", "n")))(t)
		must1(fake.Create(server, newWidget("a", "same", "n")))(t)
		must1(fake.Create(server, newWidget("a", "goes", "n")))(t)
		must1(fake.Create(server, newWidget("a", "again", "n")))(t)
		inf := newInformer(t, source(t, server), informer.Options[*widget]{Pending: 16})
		goOn := make(chan struct{})
		slow := newHistory(t, inf)
		reg := must1(inf.AddHandler(checked(t, inf, func(ev informer.Event[key, *widget]) {
			if !ev.Initial {
				<-goOn
			}
			slow.Handle(ev)
		}), handlerOptions{Name: "slow", Coalesce: true}))(t)
		fast := newHistory(t, inf)
		must1(inf.AddHandler(fast, handlerOptions{}))(t)
		stop := run(t, inf)
		defer stop()
		change := func() {
			stays.Spec.Size++
			stays = must1(fake.Update(server, stays))(t)
		}
		change()
		synctest.Wait() // the handler stands still in this one
		again := key{Namespace: "a", Name: "again"}
		must1(fake.Delete[*widget](server, again))(t)
		must1(fake.Delete[*widget](server, key{Namespace: "a", Name: "goes"}))(t)
		const n = informer.HandlerLag + 1000
		for i := range n {
			change()
			if i%10 == 0 {
				must1(fake.Create(server, newWidget("a", fmt.Sprint("passing", i), "n")))(t)
				synctest.Wait()
				must1(fake.Delete[*widget](server, key{Namespace: "a", Name: fmt.Sprint("passing", i)}))(t)
				synctest.Wait()
			}
		}
		must1(fake.Create(server, newWidget("a", "again", "n")))(t)
		must1(fake.Create(server, newWidget("a", "comes", "n")))(t)
		synctest.Wait()
		fast.check(t, "fast")
		if got := fast.count(); got < n {
			t.Errorf("the fast handler has seen %d events while the slow one stands still", got)
		}
		if s := inf.Handlers()[1]; s.Name != "slow" || s.Overruns != 1 || inf.Stats().Overruns != 1 || s.Lag < n || !s.Synced {
			t.Errorf("the slow handler is %+v", s)
		}
		for want := uint64(4); want > 0; want-- { // stays, goes, again and comes are news
			goOn <- struct{}{}
			synctest.Wait()
			if s := inf.Handlers()[1]; s.Lag != want {
				t.Errorf("the slow handler is told what is different and is behind by %d, want %d", s.Lag, want)
			}
		}
		close(goOn)
		synctest.Wait()
		for name, want := range map[string]string{
			"stays": "Added(initial) Updated Updated",
			"same":  "Added(initial)",
			"goes":  "Added(initial) Deleted(unknown)",
			"again": "Added(initial) Updated",
			"comes": "Added",
		} {
			if got := slow.types(key{Namespace: "a", Name: name}); got != want {
				t.Errorf("the slow handler saw %q of %s, want %q", got, name, want)
			}
		}
		slow.check(t, "slow")
		change()
		synctest.Wait()
		slow.check(t, "slow, when it has caught up")
		reg.Remove()
		<-reg.Done()
	})
}

// TestCoalesceInitialList: a handler that is left behind during the initial list gets all of
// the list, and then the difference.
func TestCoalesceInitialList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t)
		const listed, n = 100, informer.HandlerLag + 1
		for i := range listed {
			must1(fake.Create(server, newWidget("a", fmt.Sprint("w", i), "n")))(t)
		}
		inf := newInformer(t, source(t, server), informer.Options[*widget]{})
		goOn := make(chan struct{})
		h := newHistory(t, inf)
		reg := must1(inf.AddHandler(checked(t, inf, func(ev informer.Event[key, *widget]) {
			<-goOn
			h.Handle(ev)
		}), handlerOptions{Coalesce: true}))(t)
		stop := run(t, inf)
		defer stop()
		synctest.Wait()
		if s := inf.Handlers()[0]; s.Lag != listed || s.Synced {
			t.Errorf("in the initial list the handler is %+v, want it to be behind by %d", s, listed)
		}
		for i := range n {
			must1(fake.Create(server, newWidget("b", fmt.Sprint("w", i), "n")))(t)
		}
		synctest.Wait()
		must1(fake.Create(server, newWidget("b", "last", "n")))(t)
		synctest.Wait()
		if s := inf.Handlers()[0]; s.Overruns != 1 || s.Synced {
			t.Errorf("the handler is %+v", s)
		}
		close(goOn)
		synctest.Wait()
		h.check(t, "h")
		if !isClosed(reg.Synced()) {
			t.Error("the handler has not synced")
		}
		for _, ev := range h.events {
			if ev.Initial != (ev.Key.Namespace == "a") {
				t.Errorf("%v of the initial list: %t", ev.Key, ev.Initial)
			}
		}
	})
}

// TestCoalescingHandlerEnds, by Remove and by Drain, while it is left behind.
func TestCoalescingHandlerEnds(t *testing.T) {
	for _, drain := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			server := newServer(t)
			w := must1(fake.Create(server, newWidget("a", "w", "n")))(t)
			inf := newInformer(t, source(t, server), informer.Options[*widget]{})
			goOn := make(chan struct{})
			h := newHistory(t, inf)
			reg := must1(inf.AddHandler(checked(t, inf, func(ev informer.Event[key, *widget]) {
				<-goOn
				h.Handle(ev)
			}), handlerOptions{Coalesce: true}))(t)
			stop := run(t, inf)
			defer stop()
			for i := range informer.HandlerLag + 10 {
				w.Spec.Size++
				w = must1(fake.Update(server, w))(t)
				if i%100 == 0 {
					synctest.Wait()
				}
			}
			synctest.Wait()
			w.Spec.Size++
			must1(fake.Update(server, w))(t)
			synctest.Wait()
			want := "Added(initial)"
			if drain {
				reg.Drain()
				want += " Updated"
			} else {
				reg.Remove()
			}
			close(goOn)
			<-reg.Done()
			if got := h.types(key{Namespace: "a", Name: "w"}); got != want {
				t.Errorf("drain %t: saw %q, want %q", drain, got, want)
			}
			if len(inf.Handlers()) != 0 {
				t.Error("the informer still has the handler")
			}
		})
	}
}

// TestReplacedOnTheWay: an object that was deleted and made anew is one update, flagged
// Replaced, for a handler that coalesced, and as far as both objects pass its filter.
func TestReplacedOnTheWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t)
		inf := newInformer(t, source(t, server), informer.Options[*widget]{})
		informer.SetLag(inf, 2)
		goOn := make(chan struct{})
		var seen []string
		handle := func(ev informer.Event[key, *widget]) {
			<-goOn
			what := ev.Type.String() + " " + ev.Key.Name
			if ev.Replaced {
				what += " replaced"
			}
			seen = append(seen, what)
		}
		must1(inf.AddHandler(checked(t, inf, handle), handlerOptions{Coalesce: true, Filter: onNode(t, "n")}))(t)
		defer run(t, inf)()
		nodes := map[string][2]string{"both": {"n", "n"}, "before": {"n", "m"}, "after": {"m", "n"}, "none": {"m", "m"}}
		each := func(do func(name string, nodes [2]string)) {
			for _, name := range slices.Sorted(maps.Keys(nodes)) {
				do(name, nodes[name])
				synctest.Wait()
			}
		}
		must1(fake.Create(server, newWidget("a", "first", "n")))(t)
		synctest.Wait()
		each(func(name string, nodes [2]string) { must1(fake.Create(server, newWidget("a", name, nodes[0])))(t) })
		goOn <- struct{}{} // the first
		for range 2 {
			goOn <- struct{}{} // those that pass
		}
		must1(fake.Create(server, newWidget("a", "second", "n")))(t)
		synctest.Wait()
		each(func(name string, nodes [2]string) {
			must1(fake.Delete[*widget](server, key{Namespace: "a", Name: name}))(t)
			must1(fake.Create(server, newWidget("a", name, nodes[1])))(t)
		})
		close(goOn)
		synctest.Wait()
		slices.Sort(seen)
		want := []string{"Added after", "Added before", "Added both", "Added first", "Added second", "Deleted before", "Updated both replaced"}
		if !slices.Equal(seen, want) {
			t.Errorf("saw %q, want %q", seen, want)
		}
	})
}
