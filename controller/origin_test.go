package controller_test

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/controller"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/fake/faults"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/internal/longtest"
	"github.com/kinform/kinform/queue"
)

// labelled returns a copy of g with a label.
func labelled(g *gadget, label string) *gadget {
	g = g.DeepCopy()
	g.Labels = map[string]string{"a": label}
	return g
}

// What the reconcile of a key writes does not queue that key, unless somebody else's change is in it. It queues others.
func TestOwnEvents(t *testing.T) {
	one := key{Namespace: "a", Name: "one"}
	versioned := func(g *gadget, label string) []byte {
		return fmt.Appendf(nil, `{"metadata":{"resourceVersion":%q,"labels":{"a":%q}}}`, g.ResourceVersion, label)
	}
	for name, c := range map[string]struct {
		work func(ctx context.Context, w *scene, g *gadget) // of the first reconcile of a/one
		want string                                         // the keys that are reconciled after it
	}{
		"an update": {func(ctx context.Context, w *scene, g *gadget) {
			done(w.handle.Update(ctx, labelled(g, "2"), metav1.UpdateOptions{}))
		}, ""},
		"two updates": {func(ctx context.Context, w *scene, g *gadget) {
			g = done(w.handle.Update(ctx, labelled(g, "2"), metav1.UpdateOptions{}))
			done(w.handle.Update(ctx, labelled(g, "3"), metav1.UpdateOptions{}))
		}, ""},
		"a patch of a version": {func(ctx context.Context, w *scene, g *gadget) {
			done(w.handle.Patch(ctx, one, types.MergePatchType, versioned(g, "2"), metav1.PatchOptions{}))
		}, ""},
		"a JSON patch of a version": {func(ctx context.Context, w *scene, g *gadget) {
			patch := fmt.Appendf(nil, `[{"op":"test","path":"/metadata/resourceVersion","value":%q},{"op":"add","path":"/metadata/labels","value":{"a":"6"}}]`, g.ResourceVersion)
			done(w.handle.Patch(ctx, one, types.JSONPatchType, patch, metav1.PatchOptions{}))
		}, ""},
		"a patch of whatever there is": {func(ctx context.Context, w *scene, g *gadget) {
			done(w.handle.Patch(ctx, one, types.MergePatchType, []byte(`{"metadata":{"labels":{"a":"5"}}}`), metav1.PatchOptions{}))
		}, "a/one"},
		"somebody's update": {func(ctx context.Context, w *scene, g *gadget) { done(fake.Update(w.server, labelled(g, "2"))) }, "a/one"},
		"somebody's update before an own one": {func(ctx context.Context, w *scene, g *gadget) {
			g = done(fake.Update(w.server, labelled(g, "2")))
			done(w.handle.Patch(ctx, one, types.MergePatchType, versioned(g, "4"), metav1.PatchOptions{}))
		}, "a/one"},
		"somebody's update after an own one": {func(ctx context.Context, w *scene, g *gadget) {
			g = done(w.handle.Update(ctx, labelled(g, "2"), metav1.UpdateOptions{}))
			done(fake.Update(w.server, labelled(g, "3")))
		}, "a/one"},
		"a deletion": {func(ctx context.Context, w *scene, g *gadget) {
			ok(w.t, w.handle.Delete(ctx, one, metav1.DeleteOptions{}))
		}, "a/one"},
		"another object": {func(ctx context.Context, w *scene, g *gadget) {
			done(w.handle.Create(ctx, newGadget("two", "x"), metav1.CreateOptions{}))
		}, "a/two"},
		"a write with another context": {func(_ context.Context, w *scene, g *gadget) {
			done(w.handle.Update(w.t.Context(), labelled(g, "2"), metav1.UpdateOptions{}))
		}, "a/one"},
	} {
		both(t, name, func(t *testing.T, late bool) {
			synctest.Test(t, func(t *testing.T) {
				w := newScene(t, controller.OpenOptions[*gadget]{})
				g := create(t, w.server, newGadget("one", "x"))
				if late { // the watch is slower than the answers to writes; otherwise it is mostly faster
					ok(t, w.server.Inject(faults.Fault{Verb: faults.VerbWatch, Delay: stale, Times: -1}))
				}
				var seen, others calls[key]
				first := true
				mine := controller.New("mine", func(ctx context.Context, k key) error {
					if first {
						first = false
						c.work(ctx, w, g)
						return nil
					}
					return seen.reconcile(ctx, k)
				})
				other := controller.New("other", others.reconcile)
				controller.For(mine, w.handle)
				controller.For(other, w.handle)
				stopCache := started(t, w.handle.Run)
				synctest.Wait() // otherwise a controller may be the one that runs it
				stopOther := started(t, other.Run)
				synctest.Wait()
				others.take()
				stop := started(t, mine.Run)
				time.Sleep(2 * stale)
				if got := strings.Join(slices.Compact(seen.take()), " "); got != c.want {
					t.Errorf("reconciled %q, want %q", got, c.want)
				}
				if got := others.take(); len(got) == 0 {
					t.Error("another controller was not told")
				}
				stop()
				stopOther()
				stopCache()
			})
		})
	}
}

// both runs a test with a watch that is slower than the answers to writes, and with one that is faster.
func both(t *testing.T, name string, test func(t *testing.T, late bool)) {
	t.Run(name+", then its event", func(t *testing.T) { test(t, true) })
	t.Run(name+", after its event", func(t *testing.T) { test(t, false) })
}

// With OwnEvents, a reconcile is called again after its own write.
func TestOwnEventsAreAskedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newScene(t, controller.OpenOptions[*gadget]{})
		g := create(t, w.server, newGadget("one", "x"))
		var seen calls[key]
		c := controller.New("", func(ctx context.Context, k key) error {
			if now, _ := w.handle.Cached(k); now.Labels == nil {
				done(w.handle.Update(ctx, labelled(g, "2"), metav1.UpdateOptions{}))
			}
			return seen.reconcile(ctx, k)
		}, controller.Options[key]{OwnEvents: true})
		controller.For(c, w.handle)
		stop := started(t, c.Run)
		synctest.Wait()
		if got := seen.take(); len(got) != 2 {
			t.Errorf("reconciled %q, want two calls", got)
		}
		stop()
	})
}

// An object that the reconcile of its owner makes does not queue the owner. One that it makes for another owner queues
// that one, and so does somebody else's change.
func TestOwnEventsOfOwnedObjects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, _ := setup(t)
		conn := client.Connection{URL: fake.URL, HTTP: server.Client()}
		ok(t, fake.Register(server, siteKinds, fake.Rules{}))
		mine, other := done(fake.Create(server, newSite("mine"))), done(fake.Create(server, newSite("other")))
		sites := controller.Open(conn, siteKinds)
		gadgets := controller.Open(conn, gadgetKind)
		give := func(ctx context.Context, name string, owner *site) {
			g := newGadget(name, "")
			ok(t, controller.SetController(g, owner, siteKinds))
			done(gadgets.Create(ctx, g, metav1.CreateOptions{}))
		}
		var seen calls[key]
		begun := false
		c := controller.New("", func(ctx context.Context, k key) error {
			if k.Name == "mine" && !begun {
				begun = true
				give(ctx, "for-me", mine)
				give(ctx, "for-you", other)
				return nil
			}
			return seen.reconcile(ctx, k)
		})
		controller.For(c, sites, func(ev informer.Event[key, *site]) bool { return ev.Object.Name == "mine" })
		controller.Owns(c, sites, gadgets)
		stop := started(t, c.Run)
		time.Sleep(2 * stale)
		if got := strings.Join(seen.take(), " "); got != "a/other" {
			t.Errorf("reconciled %q, want the other owner", got)
		}
		g := done(gadgets.Get(t.Context(), key{Namespace: "a", Name: "for-me"}, metav1.GetOptions{}))
		done(fake.Update(server, labelled(g, "changed")))
		time.Sleep(2 * stale)
		if got := strings.Join(seen.take(), " "); got != "a/mine" {
			t.Errorf("after somebody's change: reconciled %q", got)
		}
		stop()
	})
}

// slowly is a transport on which requests and answers take their time.
type slowly struct {
	next   http.RoundTripper
	random *rand.Rand
	mu     *sync.Mutex
}

func (s slowly) wait() {
	s.mu.Lock()
	d := time.Duration(s.random.IntN(30)) * time.Millisecond
	s.mu.Unlock()
	time.Sleep(d)
}

func (s slowly) RoundTrip(r *http.Request) (*http.Response, error) {
	s.wait()
	answer, err := s.next.RoundTrip(r)
	s.wait()
	if err == nil && r.URL.Query().Has("watch") {
		answer.Body = slowBody{answer.Body, s}
	}
	return answer, err
}

// slowBody is what a watch sends, late.
type slowBody struct {
	io.ReadCloser
	wire slowly
}

func (b slowBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.wire.wait()
	b.wire.wait()
	return n, err
}

// A reconcile that copies a field into a label has copied its last value once all is quiet, however its own
// writes and the writes of others interleave: no change by others passes for its own.
func TestOwnEventsLoseNothing(t *testing.T) {
	for seed := range longtest.N(100, 5000) {
		synctest.Test(t, func(t *testing.T) { loseNothing(t, seed) })
	}
}

func loseNothing(t *testing.T, seed int) {
	random := rand.New(rand.NewPCG(uint64(seed), 7))
	server, _ := setup(t)
	wire := slowly{server.Client().Transport, random, new(sync.Mutex)}
	gadgets := controller.Open(client.Connection{URL: fake.URL, HTTP: &http.Client{Transport: wire}}, gadgetKind)
	choose := func(n int) int {
		wire.mu.Lock()
		defer wire.mu.Unlock()
		return random.IntN(n)
	}
	c := controller.New("", func(ctx context.Context, k key) (err error) {
		g, _ := gadgets.Cached(k)
		if choose(3) == 0 {
			if g, err = gadgets.Get(ctx, k, metav1.GetOptions{}); err != nil {
				return err
			}
		}
		want := g.Owner
		if g.Labels["a"] == want {
			return nil
		}
		wire.wait()
		if choose(2) == 0 { // a write that says nothing, based on what was read
			if g, err = gadgets.Patch(ctx, k, types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"resourceVersion":%q,"annotations":{"n":"%d"}}}`, g.ResourceVersion, choose(1000)), metav1.PatchOptions{}); err != nil {
				return err
			}
		}
		if choose(2) == 0 { // a write on top of whatever there is
			_, err = gadgets.Patch(ctx, k, types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"labels":{"a":%q}}}`, want), metav1.PatchOptions{})
			return err
		}
		_, err = gadgets.Update(ctx, labelled(g, want), metav1.UpdateOptions{})
		return err
	}, controller.Options[key]{Queue: queue.Options[key]{OnError: func(key, error) {}}, Run: queue.RunOptions{Workers: 2}})
	controller.For(c, gadgets)
	names := []string{"x", "y", "z"}
	for _, name := range names {
		done(fake.Create(server, newGadget(name, "0")))
	}
	stop := started(t, c.Run)
	for range 40 {
		time.Sleep(time.Duration(choose(60)) * time.Millisecond)
		done(fake.Patch[*gadget](server, key{Namespace: "a", Name: names[choose(3)]}, fmt.Appendf(nil, `{"owner":"%d"}`, choose(1000))))
	}
	time.Sleep(20 * time.Second)
	for _, name := range names {
		if g := done(fake.Get[*gadget](server, key{Namespace: "a", Name: name})); g.Labels["a"] != g.Owner {
			t.Errorf("seed %d: %s: the owner is %s, and the label %s", seed, name, g.Owner, g.Labels["a"])
		}
	}
	stop()
}

// An object that reconcile created, that left the cache with its namespace and comes back, is no own event: the last
// call saw that it was away.
func TestOwnEventsAfterNamespaceWasAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, _ := setup(t)
		ok(t, fake.Register(server, siteKinds, fake.Rules{}))
		conn := client.Connection{URL: fake.URL, HTTP: server.Client()}
		set := informer.NewNamespaces("a", "b")
		sites := controller.Open(conn, siteKinds)
		gadgets := controller.Open(conn, gadgetKind, controller.OpenOptions[*gadget]{Namespaces: set})
		done(fake.Create(server, newSite("one")))
		last := false // whether the last call found the gadget
		c := controller.New("", func(ctx context.Context, k key) (err error) {
			if _, last = gadgets.Cached(k); !last && set.Has("a") {
				_, err = gadgets.Create(ctx, newGadget("one", "x"), metav1.CreateOptions{})
			}
			return err
		})
		controller.For(c, sites)
		controller.Watch(c, gadgets, func(dst []key, g *gadget) []key { return append(dst, key{Namespace: g.Namespace, Name: g.Name}) })
		stop := started(t, c.Run)
		time.Sleep(time.Minute)
		set.Remove("a")
		time.Sleep(10 * time.Minute)
		ok(t, set.Add("a"))
		time.Sleep(10 * time.Minute)
		_, found := gadgets.Cached(key{Namespace: "a", Name: "one"})
		stop()
		if !found || !last {
			t.Errorf("the cache has it: %v, the last call found it: %v", found, last)
		}
	})
}

// A server that was restored gives the versions of own writes to others' writes.
func TestOwnEventsAfterRestore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, _ := setup(t)
		h := controller.Open(client.Connection{URL: fake.URL, HTTP: server.Client()}, gadgetKind)
		create(t, server, newGadget("one", "0"))
		var backup *fake.Backup
		last := ""
		c := controller.New("", func(ctx context.Context, k key) error {
			g, _ := h.Cached(k)
			last = g.Owner
			if backup == nil {
				backup = server.Backup()
				done(h.Update(ctx, labelled(g, "1"), metav1.UpdateOptions{}))
			}
			return nil
		})
		controller.For(c, h)
		stop := started(t, c.Run)
		time.Sleep(time.Minute)
		synctest.Wait()
		ok(t, server.Restore(backup))
		time.Sleep(10 * time.Minute)
		g := done(fake.Get[*gadget](server, key{Namespace: "a", Name: "one"}))
		g.Owner = "changed"
		done(fake.Update(server, g))
		time.Sleep(10 * time.Minute)
		stop()
		if last != "changed" {
			t.Errorf("the last call has seen %q", last)
		}
	})
}

// A goroutine of a call that has returned is somebody else: the next call may not know what it writes.
func TestOwnEventsAfterReturn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newScene(t, controller.OpenOptions[*gadget]{})
		create(t, w.server, newGadget("one", "0"))
		calls, last := 0, ""
		var back sync.WaitGroup
		c := controller.New("", func(ctx context.Context, k key) error {
			g, _ := w.handle.Cached(k)
			if calls++; calls == 1 {
				back.Go(func() {
					time.Sleep(2 * time.Second)
					g := g.DeepCopy()
					g.Owner = "late"
					done(w.handle.Update(ctx, g, metav1.UpdateOptions{}))
				})
				return nil
			}
			time.Sleep(2 * time.Second) // it works on what it has read
			last = g.Owner
			return nil
		})
		controller.For(c, w.handle)
		stop := started(t, c.Run)
		time.Sleep(time.Second)
		c.Queue().Add(key{Namespace: "a", Name: "one"})
		time.Sleep(5 * time.Minute)
		back.Wait()
		stop()
		if last != "late" {
			t.Errorf("the last call has seen %q", last)
		}
	})
}
