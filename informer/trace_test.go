package informer_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/internal/tracing"
)

// traced returns the kept events of a key, the newest first, with the seconds since began.
func traced(inf informer.Untyped, began time.Time, key string) string {
	var all []string
	for _, e := range inf.Traced(key) {
		one := fmt.Sprintf("%v@%v", e.Type, e.Committed.Sub(began).Seconds())
		if e.Initial {
			one += " initial"
		}
		for _, turn := range e.Turns {
			switch {
			case turn.Missed:
				one += " " + turn.Handler + "=missed"
			case turn.Began.IsZero():
				one += " " + turn.Handler + "=waits"
			default:
				one += fmt.Sprintf(" %s=%v", turn.Handler, turn.Began.Sub(began).Seconds())
			}
		}
		all = append(all, one)
	}
	return strings.Join(all, ", ")
}

// Handlers of each kind, and what they had when.
func TestTrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		server := newServer(t)
		for _, name := range []string{"x", "y", "z"} {
			must1(fake.Create(server, newWidget("a", name, "n")))(t)
		}
		inf := newInformer(t, source(t, server), informer.Options[*widget]{})
		handle := func(takes time.Duration) informer.HandlerFunc[key, *widget] {
			return func(informer.Event[key, *widget]) { time.Sleep(takes) }
		}
		must1(inf.AddHandler(handle(0), handlerOptions{Name: "fast", Filter: func(w *widget) bool { return w.Name != "z" }}))(t)
		must1(inf.AddHandler(handle(10*time.Second), handlerOptions{Name: "slow"}))(t)
		if got := inf.Traced("a/x"); got != nil {
			t.Errorf("%v without Trace", got)
		}
		inf.Trace(5)
		inf.Trace(0) // does nothing
		defer run(t, inf)()
		change := func(name string) {
			w, _ := inf.Store().Get(key{Namespace: "a", Name: name})
			changed := *w
			changed.Spec.Size++
			must1(fake.Update(server, &changed))(t)
			synctest.Wait()
		}
		expect := func(when, name, want string) {
			t.Helper()
			if got := traced(inf.Untyped(), began, name); got != want {
				t.Errorf("%s: %s\n%s, want\n%s", when, name, got, want)
			}
		}
		synctest.Wait()
		first := time.Since(began).Seconds()
		if first != 0 {
			t.Fatalf("the list took %v s", first)
		}
		time.Sleep(time.Second)
		begins := map[string]string{}
		for _, name := range []string{"a/x", "a/y", "a/z"} {
			begins[traced(inf, began, name)] = name
		}
		// The order of a snapshot is its own.
		if begins["Added@0 initial fast=0 slow=0"] == "" || len(begins) != 2 {
			t.Errorf("after the list: %v", begins)
		}
		time.Sleep(29 * time.Second)
		synctest.Wait() // slow has had three objects
		must1(inf.AddHandler(handle(0), handlerOptions{Name: "late"}))(t)
		change("x")
		time.Sleep(5 * time.Second)
		synctest.Wait()
		change("y") // at 35, while slow has x until 40
		expect("in the middle", "a/x", "Updated@30 fast=30 late=30 slow=30, "+trimmed(traced(inf, began, "a/x")))
		expect("in the middle", "a/y", "Updated@35 fast=35 late=35 slow=waits, "+trimmed(traced(inf, began, "a/y")))
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if got := traced(inf, began, "a/y"); !strings.HasPrefix(got, "Updated@35 fast=35 late=35 slow=40, Added@0 initial fast=0 slow=") {
			t.Errorf("in the end: %s", got)
		}
		for range 4 {
			change("z")
		}
		expect("after four more", "a/x", "") // five are kept
		if got := traced(inf, began, "a/z"); strings.Count(got, "fast=40") != 4 || strings.Count(got, "slow=waits") != 4 {
			t.Errorf("after four more: %s", got)
		}
		time.Sleep(time.Minute)
		inf.Trace(6)
		expect("after a larger one", "a/z", "")
		change("y")
		expect("after a larger one", "a/y", "Updated@100 fast=100 late=100 slow=100")
		time.Sleep(time.Minute)
	})
}

// trimmed returns what is behind the first event.
func trimmed(all string) string {
	_, rest, _ := strings.Cut(all, ", ")
	return rest
}

// A handler that was left behind misses events, and has turns again later.
func TestTraceOfOverrun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		server := newServer(t)
		obj := must1(fake.Create(server, newWidget("a", "x", "n")))(t)
		inf := newInformer(t, source(t, server), informer.Options[*widget]{})
		goOn := make(chan struct{})
		must1(inf.AddHandler(informer.HandlerFunc[key, *widget](func(ev informer.Event[key, *widget]) {
			if !ev.Initial {
				<-goOn
			}
		}), handlerOptions{Name: "slow", Coalesce: true}))(t)
		inf.Trace(2)
		defer run(t, inf)()
		change := func() {
			obj.Spec.Size++
			obj = must1(fake.Update(server, obj))(t)
			synctest.Wait()
		}
		for range informer.HandlerLag + 10 {
			change()
		}
		if got := traced(inf, began, "a/x"); got != "Updated@0 slow=waits, Updated@0 slow=waits" {
			t.Errorf("while it stands: %s", got)
		}
		for range 2 { // the event that it stands in, and the difference
			goOn <- struct{}{}
			synctest.Wait()
		}
		if got := traced(inf, began, "a/x"); got != "Updated@0 slow=missed, Updated@0 slow=missed" {
			t.Errorf("after the difference: %s", got)
		}
		change()
		if got := traced(inf, began, "a/x"); got != "Updated@0 slow=0, Updated@0 slow=missed" {
			t.Errorf("after one more: %s", got)
		}
		close(goOn)
	})
}

func TestLookup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t)
		obj := must1(fake.Create(server, newWidget("a", "x", "n")))(t)
		inf := newInformer(t, source(t, server), informer.Options[*widget]{})
		defer run(t, inf)()
		synctest.Wait()
		if got := inf.Lookup("a/x"); !got.Cached || got.Version != obj.ResourceVersion || got.Object.(*widget).Name != "x" || got.PendingWrite != "" {
			t.Errorf("%+v", got)
		}
		for _, none := range []string{"a/y", "", "a/b/c", `a/\x00`} {
			if got := inf.Lookup(none); got != (tracing.Found{}) {
				t.Errorf("%q: %+v", none, got)
			}
		}
		inf.Trace(10)
		inf.RecordWrite(newWidget("a", "y", "n"), "99")
		if got := inf.Lookup("a/y"); !got.Cached || got.PendingWrite != "99" {
			t.Errorf("%+v", got)
		}
		must1(fake.Create(server, newWidget("a", "z", "n")))(t)
		synctest.Wait()
		if own, other := inf.Traced("a/y"), inf.Traced("a/z"); len(own) != 1 || !own[0].Own || len(other) != 1 || other[0].Own {
			t.Errorf("of this process: %+v; of another: %+v", own, other)
		}
	})
}
