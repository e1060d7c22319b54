package controller_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/controller"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/store"
)

// informerOf returns an informer of a server's gadgets.
func informerOf(t testing.TB, server *fake.Server) *informer.Informer[key, *gadget] {
	t.Helper()
	return informerWith(t, server, informer.Options[*gadget]{OnError: func(error) {}})
}

// informerWith returns an informer of a server's gadgets with options.
func informerWith(t testing.TB, server *fake.Server, opts informer.Options[*gadget]) *informer.Informer[key, *gadget] {
	t.Helper()
	source, err := fake.NewSource[*gadget](server, fake.Selection{})
	if err != nil {
		t.Fatal(err)
	}
	inf, err := informer.New(source, store.ObjectKey, opts)
	if err != nil {
		t.Fatal(err)
	}
	return inf
}

// hasEnded reports whether the informer's run has ended.
func hasEnded(inf *informer.Informer[key, *gadget]) bool {
	select {
	case <-inf.Done():
		return true
	default:
		return false
	}
}

// Watches come and go while the controller runs.
func TestWatchesChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, first := setup(t)
		second := informerOf(t, server)
		g := create(t, server, newGadget("one", "x"))
		c, runC := delayed[key]("")
		controller.For(c, first)
		got, stop := reconciling(t, runC)
		expect := func(step string, want ...string) {
			t.Helper()
			synctest.Wait()
			// Two watches may queue a key before and after its reconcile.
			if keys := slices.Compact(got.take()); !slices.Equal(keys, want) {
				t.Errorf("%s: reconciled %q, want %q", step, keys, want)
			}
		}
		touch := func() {
			t.Helper()
			g.Labels = map[string]string{"n": g.ResourceVersion}
			g = must(fake.Update(server, g))(t)
		}
		byOwner := func(dst []key, g *gadget) []key { return append(dst, key{Name: g.Owner}) }
		expect("start", "a/one")
		for range 2 {
			controller.Watch(c, second, byOwner)
			controller.Watch(c, second, byOwner)
			expect("a late watch sees what is there", "/x")
			touch()
			expect("both watches", "/x", "a/one")
			if err := controller.Unwatch(c, second); err != nil {
				t.Fatal(err)
			}
			if err := controller.Unwatch(c, second); !errors.Is(err, controller.ErrNotWatched) {
				t.Error(err)
			}
			touch()
			expect("one watch", "a/one")
			if !hasEnded(second) || hasEnded(first) {
				t.Error("the wrong informer runs")
			}
		}
		// Removed and added again at once: the informer runs on, or again.
		ok(t, controller.Unwatch(c, first))
		controller.Watch(c, first, byOwner)
		expect("another watch of the informer", "/x")
		touch()
		expect("the other watch", "/x")
		stop()
		if !hasEnded(first) {
			t.Error("the informer runs on")
		}
		ok(t, c.Err())
		controller.For(c, first)
		if err := c.Err(); !errors.Is(err, controller.ErrStopped) || !strings.Contains(err.Error(), "For of gadgets") {
			t.Errorf("For after Run: %v", err)
		}
		if err := controller.Unwatch(c, first); !errors.Is(err, controller.ErrNotWatched) {
			t.Errorf("Unwatch after Run: %v", err)
		}
		var none *informer.Informer[key, *gadget]
		if err := controller.Unwatch(c, none); !errors.Is(err, controller.ErrNoInformer) || !strings.HasPrefix(err.Error(), "controller: Unwatch of *controller_test.gadget: ") {
			t.Errorf("Unwatch of nil: %v", err)
		}
	})
}

// Keys that are queued when their watch is removed are reconciled.
func TestUnwatchKeepsKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, inf := setup(t)
		for _, name := range []string{"one", "two", "three"} {
			create(t, server, newGadget(name, ""))
		}
		c, runC := delayed[key]("")
		controller.For(c, inf)
		var seen []string
		err := runC(t.Context(), func(_ context.Context, k key) error {
			synctest.Wait() // all keys are queued
			seen = append(seen, k.Name)
			if len(seen) == 1 {
				return controller.Unwatch(c, inf) // from reconcile, which Unwatch does not wait for
			}
			if len(seen) == 3 {
				c.Queue().ShutDown()
			}
			return nil
		})
		if slices.Sort(seen); err != nil || !slices.Equal(seen, []string{"one", "three", "two"}) {
			t.Errorf("reconciled %q: %v", seen, err)
		}
	})
}

// A watch that is removed before Run, or before its list, holds nothing up.
func TestUnwatchUnsynced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, good := setup(t)
		create(t, server, newGadget("one", ""))
		never, early := refused(t, 404, metav1.StatusReasonNotFound), refused(t, 404, metav1.StatusReasonNotFound)
		c, runC := delayed("", controller.Options[key]{SyncTimeout: patience})
		controller.For(c, never)
		controller.For(c, early)
		controller.For(c, good)
		if err := controller.Unwatch(c, early); err != nil {
			t.Fatal(err)
		}
		got, stop := reconciling(t, runC)
		time.Sleep(patience / 2)
		if keys := got.take(); len(keys) > 0 {
			t.Errorf("reconciled %q before the caches are filled", keys)
		}
		if err := controller.Unwatch(c, never); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if keys := got.take(); !slices.Equal(keys, []string{"a/one"}) {
			t.Errorf("reconciled %q", keys)
		}
		time.Sleep(patience)
		stop()
	})
}

// Whoever runs an informer himself may stop it after Unwatch.
func TestUnwatchFollowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, first := setup(t)
		_, second := setup(t)
		ctx, cancel := context.WithCancel(t.Context())
		go second.Run(ctx)
		synctest.Wait()
		c, runC := delayed[key]("")
		controller.For(c, first)
		controller.For(c, second)
		_, stop := reconciling(t, runC)
		synctest.Wait()
		if err := controller.Unwatch(c, second); err != nil {
			t.Fatal(err)
		}
		if hasEnded(second) {
			t.Error("Unwatch stopped an informer with another runner")
		}
		cancel()
		synctest.Wait()
		if hasEnded(first) {
			t.Error("the controller stopped with the informer")
		}
		stop()
	})
}

// A late watch that is not ready in time is reported, and Run goes on.
func TestLateSyncTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, good := setup(t)
		bad, gone := refused(t, 404, metav1.StatusReasonNotFound), refused(t, 404, metav1.StatusReasonNotFound)
		_, late := setup(t)
		reported := make(chan error, 10)
		c, runC := delayed("", controller.Options[key]{SyncTimeout: patience, OnError: func(err error) { reported <- err }})
		controller.For(c, good)
		_, stop := reconciling(t, runC)
		time.Sleep(patience)
		controller.For(c, bad)
		controller.For(c, gone)
		controller.For(c, late)
		time.Sleep(patience - 1)
		if err := controller.Unwatch(c, gone); err != nil || len(reported) > 0 {
			t.Errorf("%d reports: %v", len(reported), err)
		}
		time.Sleep(10 * patience)
		synctest.Wait()
		if len(reported) != 1 {
			t.Fatalf("%d reports", len(reported))
		}
		err, missing := <-reported, new(controller.SyncError)
		if !errors.As(err, &missing) || len(missing.Errs) != 1 || missing.After != patience ||
			!strings.Contains(err.Error(), "does the server serve this resource in this API version?") {
			t.Errorf("reported %v", err)
		}
		stop()
	})
}

// An informer that fails ends Run, even if it was added late.
func TestLateInformerFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, first := setup(t)
		second := informerOf(t, server)
		c, runC := delayed[key]("")
		controller.For(c, first)
		result := make(chan error)
		go func() { result <- runC(t.Context(), new(calls[key]).reconcile) }()
		synctest.Wait()
		controller.For(c, second, func(event) bool { panic("oh") })
		create(t, server, newGadget("one", ""))
		var panicked *informer.PanicError
		if err := <-result; !errors.As(err, &panicked) {
			t.Errorf("Run returned %v", err)
		}
		if !hasEnded(first) {
			t.Error("the other informer runs on")
		}
	})
}

// After any sequence of watches added and removed, the watched informers run, the others do not,
// and an event is reconciled if and only if it is watched.
func TestRandomWatches(t *testing.T) {
	for seed := range uint64(50) {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 0))
			server, _ := setup(t)
			g := create(t, server, newGadget("one", ""))
			c, runC := delayed[string]("")
			var infs [3]*informer.Informer[key, *gadget]
			for n := range infs {
				infs[n] = informerOf(t, server)
			}
			var watched [len(infs)]bool
			got, stop := reconciling(t, runC)
			for step := range 30 {
				n := random.IntN(len(infs))
				if watched[n] {
					watched[n] = false
					if err := controller.Unwatch(c, infs[n]); err != nil {
						t.Fatal(err)
					}
				} else {
					watched[n] = true
					keys := func(dst []string, _ *gadget) []string { return append(dst, fmt.Sprint(n)) }
					controller.Watch(c, infs[n], keys)
				}
				if random.IntN(3) > 0 {
					continue // the next change follows at once
				}
				synctest.Wait()
				got.take()
				g.Labels = map[string]string{"n": fmt.Sprint(step)}
				g = must(fake.Update(server, g))(t)
				synctest.Wait()
				var want []string
				for n := range infs {
					if watched[n] {
						want = append(want, fmt.Sprint(n))
					}
				}
				if keys := got.take(); !slices.Equal(keys, want) {
					t.Fatalf("seed %d, step %d: reconciled %q, want %q", seed, step, keys, want)
				}
			}
			stop()
		})
	}
}
