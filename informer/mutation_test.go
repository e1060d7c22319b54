package informer_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/informer"
)

// mutations returns those that were heard of.
func mutations(e *errorsOf) (found []*informer.MutationError) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, err := range e.all {
		if m, ok := err.(*informer.MutationError); ok {
			found = append(found, m)
		}
	}
	return found
}

// TestMutationByHandler: the handler that writes is named, and no other, for the present
// object, the old one of an update or a deletion, and the final state of a deletion.
func TestMutationByHandler(t *testing.T) {
	if allPacked() {
		t.Skip("the handlers here share what one of them changes, and nobody looks for that in a packed cache")
	}
	k := key{Namespace: "a", Name: "w"}
	for _, when := range []informer.EventType{informer.Added, informer.Updated, informer.Deleted} {
		for _, mode := range []informer.Mutations{0, informer.MutationsSampled, informer.MutationsAll} {
			t.Run(fmt.Sprint(when, mode), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					server := newServer(t)
					w := must1(fake.Create(server, newWidget("a", "w", "n")))(t)
					var heard errorsOf
					inf := newInformer(t, source(t, server), informer.Options[*widget]{OnError: heard.add, Mutations: mode})
					must1(inf.AddHandler(newHistory(t, inf), handlerOptions{Name: "good"}))(t)
					stop := run(t, inf)
					bad := func(ev informer.Event[key, *widget]) {
						time.Sleep(time.Millisecond) // the good one has returned by then,
						inf.Handlers()               // which the race detector learns of here
						if ev.Type == when {
							ev.Object.Labels = map[string]string{"written": "yes"}
							if ev.Old != nil {
								ev.Old.Spec.Size = -1
							}
						}
					}
					must1(inf.AddHandler(checked(t, inf, bad), handlerOptions{Name: "bad"}))(t)
					synctest.Wait()
					w.Spec.Size = 7
					time.Sleep(10 * time.Millisecond)
					must1(fake.Update(server, w))(t)
					time.Sleep(10 * time.Millisecond)
					must1(fake.Delete[*widget](server, k))(t)
					time.Sleep(10 * time.Millisecond)
					stop()
					found := mutations(&heard)
					want := map[informer.EventType]int{informer.Added: 1, informer.Updated: 2, informer.Deleted: 2}[when]
					if mode == 0 {
						want = 0
					}
					if len(found) != want {
						t.Fatalf("%d mutations found, want %d: %v", len(found), want, heard.all)
					}
					for _, m := range found {
						if m.Key != "a/w" || m.Resource != "widgets.example.com" || !slices.Equal(m.Handlers, []string{"bad"}) {
							t.Errorf("wrong about who wrote to what: %v", m)
						}
						if !strings.Contains(m.Diff, "written") && !strings.Contains(m.Diff, "-1") {
							t.Errorf("the difference is %s", m.Diff)
						}
					}
				})
			})
		}
	}
}

// TestMutationLater: a write between two calls, by code that kept the object, names the
// handlers that had it, or none if none had it. Each write is reported once.
func TestMutationLater(t *testing.T) {
	for _, handlers := range []int{0, 2} {
		synctest.Test(t, func(t *testing.T) {
			server := newServer(t)
			must1(fake.Create(server, newWidget("a", "w", "n")))(t)
			var heard errorsOf
			inf := newInformer(t, source(t, server), informer.Options[*widget]{OnError: heard.add, Mutations: informer.MutationsAll})
			for range handlers {
				must1(inf.AddHandler(newHistory(t, inf), handlerOptions{}))(t)
			}
			stop := run(t, inf)
			w, _ := inf.Store().Get(key{Namespace: "a", Name: "w"})
			w.Spec.Node = "elsewhere"
			must1(fake.Create(server, newWidget("a", "other", "n")))(t) // or the race detector finds it first
			time.Sleep(5 * time.Second)
			synctest.Wait()
			stop()
			found := mutations(&heard)
			if len(found) != 1 || len(found[0].Handlers) != handlers {
				t.Fatalf("found %v, want one with %d handlers", found, handlers)
			}
			if text := found[0].Error(); !strings.Contains(text, "elsewhere") || !strings.Contains(text, `"a/w"`) {
				t.Errorf("the error says %s", text)
			}
		})
	}
}

// TestMutationAtTheEnd: the last look is before Run returns.
func TestMutationAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t)
		must1(fake.Create(server, newWidget("a", "w", "n")))(t)
		var heard errorsOf
		inf := newInformer(t, source(t, server), informer.Options[*widget]{OnError: heard.add, Mutations: informer.MutationsAll})
		stop := run(t, inf)
		w, _ := inf.Store().Get(key{Namespace: "a", Name: "w"})
		w.Spec.Size++
		stop()
		if len(mutations(&heard)) != 1 {
			t.Errorf("heard %v", heard.all)
		}
	})
}

// TestMutationSampledByTurns: every object of the store is looked at in its turn.
func TestMutationSampledByTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t)
		const n = 300
		for i := range n {
			must1(fake.Create(server, newWidget("a", fmt.Sprint("w", i), "n")))(t)
		}
		var heard errorsOf
		inf := newInformer(t, source(t, server), informer.Options[*widget]{OnError: heard.add, Mutations: informer.MutationsSampled})
		stop := run(t, inf)
		// Somebody writes to everything, all the time.
		for round := range 15 {
			time.Sleep(9 * time.Second)
			for w := range inf.Store().Values() {
				w.Spec.Size++
			}
			must1(fake.Create(server, newWidget("b", fmt.Sprint("w", round), "n")))(t) // or the race detector finds it first
			time.Sleep(time.Second)
			synctest.Wait()
		}
		stop()
		keys := map[string]bool{}
		for _, m := range mutations(&heard) {
			if strings.HasPrefix(m.Key, "a/") {
				keys[m.Key] = true
			}
		}
		if len(keys) != n {
			t.Errorf("%d of %d objects were looked at", len(keys), n)
		}
		if got := len(mutations(&heard)); got > 64*16 {
			t.Errorf("%d mutations found in 16 samples of 64", got)
		}
	})
}

// TestMutationPanicOfOnError ends Run, as at any other report.
func TestMutationPanicOfOnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t)
		must1(fake.Create(server, newWidget("a", "w", "n")))(t)
		inf := newInformer(t, source(t, server), informer.Options[*widget]{OnError: func(error) { panic("OnError") }, Mutations: informer.MutationsAll})
		must1(inf.AddHandler(checked(t, inf, func(ev informer.Event[key, *widget]) { ev.Object.Spec.Size++ }), handlerOptions{}))(t)
		if err := inf.Run(t.Context()); err == nil {
			t.Error("Run returned nil")
		}
	})
}

// TestNoMutation: without writes to objects, an informer that runs for long finds nothing.
func TestNoMutation(t *testing.T) {
	for _, mode := range []informer.Mutations{informer.MutationsSampled, informer.MutationsAll} {
		synctest.Test(t, func(t *testing.T) {
			server := newServer(t)
			var heard errorsOf
			inf := newInformer(t, source(t, server), informer.Options[*widget]{OnError: heard.add, Mutations: mode})
			must1(inf.AddHandler(newHistory(t, inf), handlerOptions{Resync: time.Minute}))(t)
			stop := run(t, inf)
			w := must1(fake.Create(server, newWidget("a", "w", "n")))(t)
			for range 60 {
				w.Spec.Size++
				w = must1(fake.Update(server, w))(t)
				time.Sleep(7 * time.Second)
			}
			stop()
			if len(heard.all) != 0 {
				t.Errorf("heard %v", heard.all)
			}
		})
	}
}
