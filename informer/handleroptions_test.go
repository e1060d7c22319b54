package informer_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/reflector"
)

type handlerOptions = informer.HandlerOptions[*widget]

// onNode is a filter that makes sure that it is asked about objects only.
func onNode(t testing.TB, node string) func(*widget) bool {
	return func(w *widget) bool {
		if w == nil {
			t.Error("the filter is asked about nothing")
			return false
		}
		return w.Spec.Node == node
	}
}

func TestFilterTransitions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t)
		w := must1(fake.Create(server, newWidget("a", "w", "other")))(t)
		inf := newInformer(t, source(t, server), informer.Options[*widget]{})
		h := newHistory(t, inf)
		must1(inf.AddHandler(h, handlerOptions{Filter: onNode(t, "here")}))(t)
		stop := run(t, inf)
		defer stop()
		k := key{Namespace: "a", Name: "w"}
		want := ""
		for _, step := range []struct{ node, event string }{
			{"other", ""},
			{"here", "Added"},
			{"here", " Updated"},
			{"other", " Deleted"},
			{"other", ""},
			{"here", " Added"},
		} {
			w.Spec.Node = step.node
			w.Spec.Size++
			w = must1(fake.Update(server, w))(t)
			synctest.Wait()
			if want += step.event; h.types(k) != want {
				t.Fatalf("saw %q, want %q", h.types(k), want)
			}
		}
		must1(fake.Delete[*widget](server, k))(t)
		synctest.Wait()
		if want += " Deleted"; h.types(k) != want {
			t.Errorf("saw %q, want %q", h.types(k), want)
		}
		h.checkEvents(t, "h")
		for _, ev := range h.events {
			if ev.Object.Spec.Node != "here" {
				t.Errorf("%v of an object that does not pass", ev.Type)
			}
		}
	})
}

// TestFilterOfFinalState: the state that a deletion reports can be one that the handler
// never saw, and that does not pass. (client-go drops the deletion.)
func TestFilterOfFinalState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := &script{
			lists: []scriptedList{{"2", []scripted{
				ev(reflector.Added, "1", newWidget("a", "was", "here")),
				ev(reflector.Added, "2", newWidget("a", "never", "other")),
			}}},
			watches: [][]scripted{{
				ev(reflector.Deleted, "3", newWidget("a", "was", "other")),
				ev(reflector.Deleted, "4", newWidget("a", "never", "here")),
			}},
		}
		inf := newInformer(t, src, informer.Options[*widget]{OnError: ignore, Reflector: reflector.Tuning{DisableWatchList: true}})
		h := newHistory(t, inf)
		must1(inf.AddHandler(h, handlerOptions{Filter: onNode(t, "here")}))(t)
		stop := run(t, inf)
		defer stop()
		if got := h.types(key{Namespace: "a", Name: "was"}); got != "Added(initial) Deleted" {
			t.Errorf("saw %q of an object that passed", got)
		}
		if got := h.types(key{Namespace: "a", Name: "never"}); got != "" {
			t.Errorf("saw %q of an object that never passed", got)
		}
		h.checkEvents(t, "h")
	})
}

func TestPanicOfFilterEndsRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t)
		must1(fake.Create(server, newWidget("a", "w", "n")))(t)
		inf := newInformer(t, source(t, server), informer.Options[*widget]{OnError: ignore})
		must1(inf.AddHandler(newHistory(t, inf), handlerOptions{Name: "picky", Filter: func(*widget) bool { panic("filter") }}))(t)
		var panicked *informer.PanicError
		if err := inf.Run(t.Context()); !errors.As(err, &panicked) {
			t.Fatalf("Run returned %v", err)
		}
		if panicked.Where != "filter" || panicked.Name != "picky" || panicked.Key != "a/w" || !strings.Contains(panicked.Error(), `filter of "picky"`) {
			t.Errorf("panic of %s of %q on %q: %v", panicked.Where, panicked.Name, panicked.Key, panicked)
		}
	})
}

// TestPanicOfFilterThenRestart: the event that the filter panicked on is given in the next
// run, whether it is of the initial list or of what a late handler found.
func TestPanicOfFilterThenRestart(t *testing.T) {
	for _, late := range []bool{false, true} {
		t.Run(fmt.Sprint("late ", late), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := newServer(t)
				for n := range 3 {
					must1(fake.Create(server, newWidget("a", fmt.Sprint("w", n), "n")))(t)
				}
				inf := newInformer(t, source(t, server), informer.Options[*widget]{OnError: ignore})
				if late {
					run(t, inf)()
				}
				h, calls := newHistory(t, inf), 0
				must1(inf.AddHandler(h, handlerOptions{Filter: func(*widget) bool {
					if calls++; calls == 2 {
						panic("not this time")
					}
					return true
				}}))(t)
				var panicked *informer.PanicError
				if err := inf.Run(t.Context()); !errors.As(err, &panicked) {
					t.Fatalf("Run returned %v", err)
				}
				stop := run(t, inf)
				must1(fake.Delete[*widget](server, key{Namespace: "a", Name: "w1"}))(t)
				synctest.Wait()
				h.check(t, "h")
				stop()
			})
		})
	}
}

// TestPanicOfFilterOnNews: an event of the watch that the filter panicked on is given in the next
// run that gives any, once, before later events. A resync that the filter panicked on is not.
func TestPanicOfFilterOnNews(t *testing.T) {
	for _, c := range []struct {
		name   string
		resync bool
		want   []string
	}{
		{"news", false, []string{"Added a/w", "Added a/later"}},
		{"resync", true, []string{"Added a/w", "Added a/later", "Updated a/w"}}, // unchanged in the list of the next run
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := newServer(t)
				inf := newInformer(t, source(t, server), informer.Options[*widget]{OnError: ignore})
				var armed atomic.Bool
				armed.Store(!c.resync)
				opts := handlerOptions{Unchanged: true, Filter: func(*widget) bool {
					if armed.CompareAndSwap(true, false) {
						panic("not this time")
					}
					return true
				}}
				if c.resync {
					opts.Resync = time.Hour
				}
				var got []string
				must1(inf.AddHandler(checked(t, inf, func(ev informer.Event[key, *widget]) {
					if !ev.Sync || c.resync {
						got = append(got, fmt.Sprint(ev.Type, " ", ev.Key))
					}
				}), opts))(t)
				ended := make(chan error, 1)
				go func() { ended <- inf.Run(t.Context()) }()
				synctest.Wait()
				must1(fake.Create(server, newWidget("a", "w", "n")))(t)
				synctest.Wait()
				if c.resync {
					armed.Store(true)
					time.Sleep(2 * time.Hour)
				}
				var panicked *informer.PanicError
				if err := <-ended; !errors.As(err, &panicked) {
					t.Fatalf("Run returned %v", err)
				}
				over, cancel := context.WithCancel(t.Context())
				cancel()
				for range 2 {
					if err := inf.Run(over); err != nil {
						t.Error(err)
					}
				}
				must1(fake.Create(server, newWidget("a", "later", "n")))(t)
				stop := run(t, inf)
				synctest.Wait()
				stop()
				if !slices.Equal(got, c.want) {
					t.Errorf("got %v, want %v", got, c.want)
				}
			})
		})
	}
}

// TestResyncOfAgesIsNever: a period that half of it more would not fit into a Duration.
func TestResyncOfAgesIsNever(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t)
		must1(fake.Create(server, newWidget("a", "w", "n")))(t)
		inf := newInformer(t, source(t, server), informer.Options[*widget]{})
		var all []*history
		for range 20 { // the phase is random
			all = append(all, newHistory(t, inf))
			must1(inf.AddHandler(all[len(all)-1], handlerOptions{Resync: math.MaxInt64}))(t)
		}
		stop := run(t, inf)
		time.Sleep(time.Minute)
		synctest.Wait()
		for _, h := range all {
			h.check(t, "h")
			if h.count() != 1 {
				t.Errorf("%d events within a minute", h.count())
			}
		}
		stop()
	})
}

// TestUnchanged: only handlers that ask for it get the unchanged objects of a relist.
func TestUnchanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		list := scriptedList{"1", []scripted{ev(reflector.Added, "1", newWidget("a", "w", "n"))}}
		again := scriptedList{"2", []scripted{ev(reflector.Added, "1", newWidget("a", "w", "n"))}}
		src := &script{lists: []scriptedList{list, again}, watches: [][]scripted{{{err: errGone}}}}
		inf := newInformer(t, src, informer.Options[*widget]{OnError: ignore, Reflector: reflector.Tuning{DisableWatchList: true}})
		wants, not := newHistory(t, inf), newHistory(t, inf)
		must1(inf.AddHandler(wants, handlerOptions{Unchanged: true}))(t)
		must1(inf.AddHandler(not, handlerOptions{Resync: 24 * time.Hour}))(t)
		filtered := newHistory(t, inf)
		must1(inf.AddHandler(filtered, handlerOptions{Unchanged: true, Filter: onNode(t, "other")}))(t)
		stop := run(t, inf)
		defer stop()
		time.Sleep(time.Minute)
		synctest.Wait()
		k := key{Namespace: "a", Name: "w"}
		if got := wants.types(k); got != "Added(initial) Updated(sync)" {
			t.Errorf("the handler that wants unchanged objects saw %q", got)
		}
		if got := not.types(k); got != "Added(initial)" {
			t.Errorf("the one that does not saw %q", got)
		}
		if got := filtered.types(k); got != "" {
			t.Errorf("the one that does not want this one saw %q", got)
		}
		wants.check(t, "wants")
	})
}

func TestResync(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t)
		const objects, hours, handlers = 100, 10, 10
		for n := range objects {
			must1(fake.Create(server, newWidget("a", fmt.Sprint("w", n), fmt.Sprint("n", n%2))))(t)
		}
		inf := newInformer(t, source(t, server), informer.Options[*widget]{Resync: time.Hour})
		var all []*history
		for n := range handlers {
			h := newHistory(t, inf)
			must1(inf.AddHandler(h, handlerOptions{Resync: []time.Duration{time.Hour, 0}[n%2]}))(t)
			all = append(all, h)
		}
		half := newHistory(t, inf)
		must1(inf.AddHandler(half, handlerOptions{Resync: time.Hour, Filter: onNode(t, "n1")}))(t)
		none := newHistory(t, inf)
		must1(inf.AddHandler(none, handlerOptions{Resync: -1}))(t)
		stop := run(t, inf)
		defer stop()
		first := map[time.Duration]bool{}
		began := time.Now()
		for range hours * 60 {
			time.Sleep(time.Minute)
			synctest.Wait()
			for _, h := range all {
				if h.count() == 2*objects {
					first[time.Since(began)] = true
				}
			}
		}
		for _, h := range all {
			if syncs := h.count()/objects - 1; h.count()%objects != 0 || syncs < hours-1 || syncs > hours {
				t.Errorf("%d events, want %d and those of %d resyncs or one less", h.count(), objects, hours)
			}
			h.check(t, "h")
		}
		if len(first) < 3 {
			t.Errorf("%d handlers resync at %d times only", handlers, len(first))
		}
		if half.count() < objects/2*hours || half.count() > objects/2*(hours+1) {
			t.Errorf("%d events through the filter", half.count())
		}
		if none.count() != objects {
			t.Errorf("%d events for a handler that asked for no resync, want %d", none.count(), objects)
		}
	})
}

// TestResyncLetsChangesThrough: a change comes after a few objects of a resync, not after
// all of them, and is not followed by the state before.
func TestResyncLetsChangesThrough(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t)
		const objects = 2000
		var w *widget
		for n := range objects {
			w = must1(fake.Create(server, newWidget("a", fmt.Sprint("w", n), "n")))(t)
		}
		inf := newInformer(t, source(t, server), informer.Options[*widget]{Reflector: reflector.Tuning{DisableWatchList: true}})
		h := newHistory(t, inf)
		var mu sync.Mutex
		var waits []time.Duration
		var written time.Time
		must1(inf.AddHandler(checked(t, inf, func(ev informer.Event[key, *widget]) {
			h.Handle(ev)
			if ev.Sync {
				time.Sleep(time.Second)
			} else if !ev.Initial {
				mu.Lock()
				defer mu.Unlock()
				waits = append(waits, time.Since(written))
			}
		}), handlerOptions{Resync: time.Hour}))(t)
		stop := run(t, inf)
		defer stop()
		for h.count() == objects {
			time.Sleep(time.Minute)
			synctest.Wait()
		}
		syncs := h.count() // in a resync now, which takes 33 minutes
		for n := range 20 {
			w.Spec.Size++
			mu.Lock()
			written = time.Now()
			mu.Unlock()
			if n%3 == 2 {
				w = must1(fake.Create(server, newWidget("a", fmt.Sprint("new", n), "n")))(t)
			} else {
				w = must1(fake.Update(server, w))(t)
			}
			time.Sleep(time.Minute)
		}
		if h.count() < syncs+500 {
			t.Fatalf("no resync while the changes came: %d events", h.count()-syncs)
		}
		mu.Lock()
		defer mu.Unlock()
		if len(waits) != 20 {
			t.Errorf("%d changes seen, want 20", len(waits))
		}
		for _, wait := range waits {
			if wait > 40*time.Second {
				t.Errorf("a change waited for %v of a resync", wait)
			}
		}
		h.checkEvents(t, "h")
	})
}

// TestHandlerNames: names are made up where there are none, and kept where there are.
func TestHandlerNames(t *testing.T) {
	inf := newInformer(t, source(t, newServer(t)), informer.Options[*widget]{})
	for _, c := range []struct {
		opts handlerOptions
		want string
	}{
		{handlerOptions{}, "handler 1"},
		{handlerOptions{Name: "mine"}, "mine"},
		{handlerOptions{}, "handler 3"},
	} {
		if got := must1(inf.AddHandler(newHistory(t, inf), c.opts))(t).Name(); got != c.want {
			t.Errorf("the name is %q, want %q", got, c.want)
		}
	}
	var names []string
	for _, s := range inf.Handlers() {
		names = append(names, s.Name)
		if s.Synced || s.Lag != 0 || s.Overruns != 0 {
			t.Errorf("a handler of an informer that does not run is %+v", s)
		}
	}
	if got := strings.Join(names, ", "); got != "handler 1, handler 3, mine" {
		t.Errorf("handlers %s", got)
	}
}
