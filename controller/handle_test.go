package controller_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/controller"
	"github.com/kinform/kinform/controller/manager"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/fake/faults"
	"github.com/kinform/kinform/index"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/queue"
	"github.com/kinform/kinform/reflector"
	"github.com/kinform/kinform/store"
)

// A handle is taken wherever a client, a cache or an informer is.
var (
	_ controller.Client[*gadget]      = (*controller.Handle[*gadget])(nil)
	_ controller.Client[*gadget]      = (*controller.Projected[*gadget, *bare])(nil)
	_ applier[*gadget]                = (*controller.Handle[*gadget])(nil)
	_ controller.Cache                = (*controller.Handle[*gadget])(nil)
	_ informer.Informed[key, *gadget] = (*controller.Handle[*gadget])(nil)
	_ informer.Informed[key, *bare]   = (*controller.Projected[*gadget, *bare])(nil)
)

var ownedBy = index.New("owner", owner)

// wire is a transport that can lose answers to writes.
type wire struct {
	next  http.RoundTripper
	lose  atomic.Bool            // the next write's answer
	delay atomic.Pointer[func()] // called before the answer to the next GET of an object is passed on
	seen  atomic.Pointer[func(*http.Request)]
}

func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	if see := w.seen.Load(); see != nil {
		(*see)(r)
	}
	answer, err := w.next.RoundTrip(r)
	switch {
	case err != nil:
	case r.Method != http.MethodGet:
		if w.lose.Swap(false) {
			_ = answer.Body.Close()
			return nil, errors.New("connection reset by peer")
		}
	case !strings.HasSuffix(r.URL.Path, "/gadgets"):
		if wait := w.delay.Swap(nil); wait != nil {
			(*wait)()
		}
	}
	return answer, err
}

// scene is a server, a handle whose informer runs, and the means to hold its watch up.
type scene struct {
	t      *testing.T
	server *fake.Server
	wire   *wire
	handle *controller.Handle[*gadget]
	owned  informer.Index[key, *gadget, string]
}

// stale is how long the watch brings nothing. It is less than the informer's patience with writes.
const stale = time.Minute

func newScene(t *testing.T, opts controller.OpenOptions[*gadget]) *scene {
	server, _ := setup(t)
	w := &scene{t: t, server: server, wire: &wire{next: server.Client().Transport}}
	conn := client.Connection{URL: fake.URL, HTTP: &http.Client{Transport: w.wire}}
	opts.Informer.OnError = func(error) {}
	opts.Informer.Reflector.DisableWatchList = true
	opts.Informer.Reflector.IdleTimeout = cmp.Or(opts.Informer.Reflector.IdleTimeout, -1)
	w.handle = controller.Open(conn, gadgetKind, opts)
	w.owned = informer.AddIndex(w.handle, ownedBy)
	ok(t, w.handle.Err())
	return w
}

// everySource runs a test with one source and with a set of namespaces.
func everySource(t *testing.T, test func(t *testing.T, opts controller.OpenOptions[*gadget])) {
	t.Run("one source", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) { test(t, controller.OpenOptions[*gadget]{}) })
	})
	t.Run("namespaces", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			test(t, controller.OpenOptions[*gadget]{Namespaces: informer.NewNamespaces("a", "b")})
		})
	})
}

// run runs the informer with a watch that brings nothing for a time. stop ends it.
func (w *scene) run() (stop func()) {
	w.t.Helper()
	if err := w.server.Inject(faults.Fault{Verb: faults.VerbWatch, Delay: stale, After: 1, Times: -1}); err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(w.t.Context())
	ended := make(chan error, 1)
	go func() { ended <- w.handle.AsInformer().Run(ctx) }()
	synctest.Wait()
	return func() {
		cancel()
		if err := <-ended; err != nil {
			w.t.Error(err)
		}
	}
}

// expect compares all reads of one object with want: the version, or "".
func (w *scene) expect(when, name, want string) {
	w.t.Helper()
	k, got := key{Namespace: "a", Name: name}, ""
	if g, ok := w.handle.Cached(k); ok {
		got = g.ResourceVersion
	}
	if got != want {
		w.t.Errorf("%s: Get has %s at %q, want %q", when, name, got, want)
	}
	for read, objs := range map[string][]*gadget{"List": w.handle.List("a", nil), "the index": w.owned.Get("x")} {
		got := ""
		for _, g := range objs {
			if g.Name == name {
				got += g.ResourceVersion
			}
		}
		if got != want {
			w.t.Errorf("%s: %s has %s at %q, want %q", when, read, name, got, want)
		}
	}
}

func done[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func finalized(g *gadget) *gadget {
	g.Finalizers = []string{"example.com/cleanup"}
	return g
}

// Every read sees every write, while the watch brings nothing.
func TestHandleReadsItsWrites(t *testing.T) {
	everySource(t, func(t *testing.T, opts controller.OpenOptions[*gadget]) {
		ctx := t.Context()
		w := newScene(t, opts)
		old := create(t, w.server, newGadget("old", "x"))
		stop := w.run()
		h := w.handle
		w.expect("listed", "old", old.ResourceVersion)
		g := done(h.Create(ctx, finalized(newGadget("one", "x")), metav1.CreateOptions{}))
		w.expect("created", "one", g.ResourceVersion)
		g.Labels = map[string]string{"a": "b"}
		g = done(h.Update(ctx, g, metav1.UpdateOptions{}))
		w.expect("updated", "one", g.ResourceVersion)
		g = done(h.Patch(ctx, key{Namespace: "a", Name: "one"}, types.MergePatchType, []byte(`{"metadata":{"labels":{"c":"d"}}}`), metav1.PatchOptions{}))
		w.expect("patched", "one", g.ResourceVersion)
		done(h.Create(ctx, newGadget("dry", "x"), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}))
		w.expect("a dry run", "dry", "")
		if err := h.Delete(ctx, key{Namespace: "a", Name: "one"}, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		g, _ = h.Cached(key{Namespace: "a", Name: "one"})
		if g == nil || g.DeletionTimestamp == nil {
			t.Fatalf("an object that waits for its finalizer reads as %v", g)
		}
		g = g.DeepCopy()
		g.Finalizers = nil
		done(h.Update(ctx, g, metav1.UpdateOptions{}))
		w.expect("the last finalizer is removed", "one", "")
		if err := h.Delete(ctx, key{Namespace: "a", Name: "old"}, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		w.expect("deleted", "old", "")
		g = done(h.Create(ctx, newGadget("old", "x"), metav1.CreateOptions{}))
		w.expect("made anew", "old", g.ResourceVersion)
		time.Sleep(20 * stale)
		w.server.Bookmark()
		synctest.Wait()
		w.expect("caught up", "old", g.ResourceVersion)
		w.expect("caught up", "one", "")
		stop()
	})
}

// What a request returned is the caller's: changes of it do not reach the cache or its indexes.
func TestHandleKeepsACopy(t *testing.T) {
	everySource(t, func(t *testing.T, opts controller.OpenOptions[*gadget]) {
		ctx := t.Context()
		w := newScene(t, opts)
		stop := w.run()
		spoil := func(g *gadget) {
			g.Labels["spoilt"], g.Owner = "", "spoilt"
		}
		check := func(when string) {
			t.Helper()
			got, ok := w.handle.Cached(key{Namespace: "a", Name: "one"})
			if _, spoilt := got.GetLabels()["spoilt"]; !ok || spoilt || len(w.owned.Get("x")) != 1 || got.Owner != "x" {
				t.Errorf("%s: the cache has %+v", when, got)
			}
		}
		one := newGadget("one", "x")
		one.Labels = map[string]string{"a": "b"}
		g := done(w.handle.Create(ctx, one, metav1.CreateOptions{}))
		was := g.DeepCopy()
		spoil(g)
		check("created")
		g = done(w.handle.Get(ctx, key{Namespace: "a", Name: "one"}, metav1.GetOptions{}))
		spoil(g)
		check("asked for")
		was.Finalizers = []string{"example.com/cleanup"}
		g = done(w.handle.Update(ctx, was, metav1.UpdateOptions{}))
		spoil(g)
		check("updated")
		time.Sleep(2 * stale)
		check("caught up")
		stop()
	})
}

// Changes of others that the watch has not brought do not bring a deleted object back, and an
// object that reads never had stays away.
func TestHandleDeletesWhatOthersChange(t *testing.T) {
	everySource(t, func(t *testing.T, opts controller.OpenOptions[*gadget]) {
		w := newScene(t, opts)
		old := create(t, w.server, newGadget("old", "x"))
		stop := w.run()
		old.Labels = map[string]string{"a": "b"}
		done(fake.Update(w.server, old))
		create(t, w.server, newGadget("unseen", "x"))
		for _, name := range []string{"old", "unseen"} {
			if err := w.handle.Delete(t.Context(), key{Namespace: "a", Name: name}, metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			w.expect("deleted", name, "")
		}
		for range 10 {
			time.Sleep(stale + time.Second)
			w.expect("later", "old", "")
			w.expect("later", "unseen", "")
		}
		anew := create(t, w.server, newGadget("old", "x"))
		time.Sleep(2 * stale)
		w.expect("made anew by another", "old", anew.ResourceVersion)
		stop()
	})
}

// A write whose answer is lost, and a write that a conflict refuses, leave reads behind until
// CatchUp has asked the server.
func TestHandleCatchesUp(t *testing.T) {
	everySource(t, func(t *testing.T, opts controller.OpenOptions[*gadget]) {
		ctx := t.Context()
		w := newScene(t, opts)
		old := create(t, w.server, finalized(newGadget("old", "x")))
		stop := w.run()
		catchUp := func() {
			t.Helper()
			if err := w.handle.CatchUp(ctx); err != nil {
				t.Fatal(err)
			}
		}
		w.wire.lose.Store(true)
		if _, err := w.handle.Create(ctx, newGadget("one", "x"), metav1.CreateOptions{}); err == nil {
			t.Fatal("no answer, no error")
		}
		catchUp()
		one := done(fake.Get[*gadget](w.server, key{Namespace: "a", Name: "one"}))
		w.expect("the answer to a creation was lost", "one", one.ResourceVersion)
		w.wire.lose.Store(true)
		_ = w.handle.Delete(ctx, key{Namespace: "a", Name: "one"}, metav1.DeleteOptions{})
		catchUp()
		w.expect("the answer to a deletion was lost", "one", "")
		now := old.DeepCopy()
		now.Labels = map[string]string{"a": "b"}
		now = done(fake.Update(w.server, now))
		if _, err := w.handle.Update(ctx, old, metav1.UpdateOptions{}); !apierrors.IsConflict(err) {
			t.Fatalf("Update of an old version: %v", err)
		}
		catchUp()
		w.expect("after a conflict", "old", now.ResourceVersion)
		if err := w.handle.Delete(ctx, key{Namespace: "a", Name: "old"}, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		now = done(fake.Get[*gadget](w.server, key{Namespace: "a", Name: "old"}))
		now.Finalizers = nil
		done(fake.Update(w.server, now))
		if _, err := w.handle.Update(ctx, now, metav1.UpdateOptions{}); !apierrors.IsNotFound(err) {
			t.Fatalf("Update of what is gone: %v", err)
		}
		w.expect("the server has no such object", "old", "")
		stop()
	})
}

// A write that is lost while CatchUp asks for its object is not taken for settled.
func TestHandleIsBehindAgain(t *testing.T) {
	everySource(t, func(t *testing.T, opts controller.OpenOptions[*gadget]) {
		ctx := t.Context()
		w := newScene(t, opts)
		stop := w.run()
		k := key{Namespace: "a", Name: "one"}
		w.wire.lose.Store(true)
		if _, err := w.handle.Create(ctx, newGadget("one", "x"), metav1.CreateOptions{}); err == nil {
			t.Fatal("no answer, no error")
		}
		w.wire.delay.Store(new(func() {
			w.wire.lose.Store(true)
			g := done(fake.Get[*gadget](w.server, k)).DeepCopy()
			g.Labels = map[string]string{"a": "b"}
			if _, err := w.handle.Update(ctx, g, metav1.UpdateOptions{}); err == nil {
				t.Error("no answer, no error")
			}
		}))
		for range 2 {
			if err := w.handle.CatchUp(ctx); err != nil {
				t.Fatal(err)
			}
		}
		now := done(fake.Get[*gadget](w.server, k))
		if len(now.Labels) == 0 {
			t.Fatal("nothing was written while CatchUp asked")
		}
		w.expect("written during CatchUp", "one", now.ResourceVersion)
		stop()
	})
}

// Writes before the informer runs, and before a restart, are waited for.
func TestHandleCatchesUpAfterStart(t *testing.T) {
	everySource(t, func(t *testing.T, opts controller.OpenOptions[*gadget]) {
		w := newScene(t, opts)
		w.handle.CatchUp(t.Context()) // nothing to do
		g := done(w.handle.Create(t.Context(), newGadget("one", "x"), metav1.CreateOptions{}))
		late, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := w.handle.CatchUp(late); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("before Run: %v", err)
		}
		stop := w.run()
		if err := w.handle.CatchUp(t.Context()); err != nil {
			t.Error(err)
		}
		w.expect("started", "one", g.ResourceVersion)
		g.Labels = map[string]string{"a": "b"}
		g = done(w.handle.Update(t.Context(), g, metav1.UpdateOptions{}))
		w.expect("updated", "one", g.ResourceVersion)
		stop()
		w.server.ClearFaults()
		stop = w.run()
		w.server.ClearFaults()
		if err := w.handle.CatchUp(t.Context()); err != nil {
			t.Error(err)
		}
		w.expect("started again", "one", g.ResourceVersion)
		stop()
	})
}

// A handle of one namespace completes keys, and one of some labels has no objects of others,
// although its requests reach them.
func TestHandleOfSelection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		w := newScene(t, controller.OpenOptions[*gadget]{Client: client.Options{Namespace: "a", LabelSelector: "app=web"}})
		stop := w.run()
		web := newGadget("web", "x")
		web.Labels = map[string]string{"app": "web"}
		web.Namespace = ""
		g := done(w.handle.Create(ctx, web, metav1.CreateOptions{}))
		w.expect("created", "web", g.ResourceVersion)
		if _, ok := w.handle.Cached(key{Name: "web"}); !ok {
			t.Error("a key without a namespace does not find it")
		}
		done(w.handle.Create(ctx, newGadget("other", "x"), metav1.CreateOptions{}))
		w.expect("of other labels", "other", "")
		g.Labels = nil
		g = done(w.handle.Update(ctx, g, metav1.UpdateOptions{}))
		w.expect("its labels changed", "web", "")
		g.Labels = map[string]string{"app": "web"}
		g = done(w.handle.Update(ctx, g, metav1.UpdateOptions{}))
		w.expect("and changed back", "web", g.ResourceVersion)
		stop()
	})
}

// A projection without metadata sees writes and deletions as well.
func TestProjectedHandle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		server, _ := setup(t)
		old := create(t, server, newGadget("old", "x"))
		conn := client.Connection{URL: fake.URL, HTTP: server.Client()}
		h := controller.OpenProjected(conn, gadgetKind, bareOf, (*bare).key,
			controller.OpenOptions[*bare]{Informer: informer.Options[*bare]{Reflector: reflector.Tuning{DisableWatchList: true}}})
		if err := server.Inject(faults.Fault{Verb: faults.VerbWatch, Delay: stale, After: 1, Times: -1}); err != nil {
			t.Fatal(err)
		}
		c, runC := delayed[key]("")
		controller.For(c, h)
		_, stop := reconciling(t, runC)
		synctest.Wait()
		expect := func(when, name, want string) {
			t.Helper()
			if b, _ := h.Cached(key{Namespace: "a", Name: name}); b.owner() != want {
				t.Errorf("%s: %q, want %q", when, b.owner(), want)
			}
			if listed := slices.ContainsFunc(h.List(), func(b *bare) bool { return b.g.Name == name && b.owner() == want }); listed != (want != "") {
				t.Errorf("%s: the list is %v, want %q", when, h.List(), want)
			}
		}
		expect("listed", "old", "x")
		done(h.Create(ctx, newGadget("one", "y"), metav1.CreateOptions{}))
		expect("created", "one", "y")
		old.Owner = "z"
		done(fake.Update(server, old))
		if err := h.Delete(ctx, key{Namespace: "a", Name: "old"}, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		expect("deleted", "old", "")
		time.Sleep(stale + time.Minute)
		expect("a change from before has come", "old", "")
		create(t, server, newGadget("old", "new"))
		time.Sleep(10 * stale)
		expect("made anew", "old", "new")
		// Without the version of the deletion, reads are right once CatchUp has returned.
		if err := server.Inject(faults.Fault{Verb: faults.VerbList, Status: faults.Refusal(503, metav1.StatusReasonServiceUnavailable, 0), Times: 1}); err != nil {
			t.Fatal(err)
		}
		if err := h.Delete(ctx, key{Namespace: "a", Name: "old"}, metav1.DeleteOptions{}); err != nil {
			t.Errorf("the deletion was carried out: %v", err)
		}
		if err := h.CatchUp(ctx); err != nil {
			t.Fatal(err)
		}
		expect("deleted at an unknown version", "old", "")
		stop()
	})
}

// A reconcile waits while its handle cannot tell what the writes were, even if the handle was given
// to the controller while it ran.
func TestReconcileWaitsForItsWrites(t *testing.T) {
	for name, late := range map[string]bool{"before Run": false, "while it runs": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { testWaits(t, late) })
		})
	}
}

func testWaits(t *testing.T, late bool) {
	w := newScene(t, controller.OpenOptions[*gadget]{})
	create(t, w.server, newGadget("one", "x"))
	var seen []string
	c, runC := delayed[key]("")
	add := func() {
		controller.For(c, w.handle)
	}
	if !late {
		add()
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- runC(ctx, func(ctx context.Context, k key) error {
			g, _ := w.handle.Cached(k)
			if seen = append(seen, fmt.Sprint(len(g.Labels))); len(seen) > 1 {
				return nil
			}
			return w.writeInTheDark(ctx, g)
		})
	}()
	if late {
		synctest.Wait()
		add()
	}
	time.Sleep(time.Minute)
	synctest.Wait()
	if len(seen) < 2 || seen[0] != "0" || slices.Contains(seen[1:], "0") {
		t.Errorf("reconciles saw %q labels, want 0 and then their own", seen)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// writeInTheDark sets a label, and loses the answer, the watch, and for a time the server.
func (w *scene) writeInTheDark(ctx context.Context, g *gadget) error {
	g = g.DeepCopy()
	g.Labels = map[string]string{"a": "b"}
	w.wire.lose.Store(true)
	_, err := w.handle.Update(ctx, g, metav1.UpdateOptions{})
	refusal := faults.Refusal(500, metav1.StatusReasonInternalError, 0)
	for _, fault := range []faults.Fault{{Verb: faults.VerbGet, Status: refusal, Times: 3}, {Verb: faults.VerbWatch, Delay: stale, Times: -1}} {
		if err := w.server.Inject(fault); err != nil {
			w.t.Error(err)
		}
	}
	w.server.DropWatches()
	return err
}

// The helpers write through a handle, so that the next read sees it. A manager runs its cache.
func TestHandleIsClientAndCache(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newScene(t, controller.OpenOptions[*gadget]{})
		if err := w.server.Inject(faults.Fault{Verb: faults.VerbWatch, Delay: stale, After: 1, Times: -1}); err != nil {
			t.Fatal(err)
		}
		m := manager.New(manager.Options{})
		m.AddCaches(w.handle)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- m.Run(ctx) }()
		if err := w.handle.WaitForSync(ctx); err != nil {
			t.Fatal(err)
		}
		for _, label := range []string{"made", "changed"} {
			edit := func(g *gadget) error {
				g.Labels = map[string]string{"a": label}
				return nil
			}
			g, _, err := controller.CreateOrUpdate(ctx, w.handle, newGadget("one", "x"), edit)
			if err != nil {
				t.Fatal(err)
			}
			w.expect(label, "one", g.ResourceVersion)
		}
		g, _ := w.handle.Cached(key{Namespace: "a", Name: "one"})
		if err := controller.Delete(ctx, w.handle, g, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		w.expect("deleted", "one", "")
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// DeepCopy returns a copy.
func (g *gadget) DeepCopy() *gadget {
	c := *g
	c.ObjectMeta = *g.ObjectMeta.DeepCopy()
	return &c
}

// silence has the watch bring nothing, and returns the number of GETs and LISTs.
func (w *scene) silence() (gets *atomic.Int64) {
	gets = new(atomic.Int64)
	w.wire.seen.Store(new(func(r *http.Request) {
		if r.Method == http.MethodGet && r.URL.Query().Get("watch") == "" {
			gets.Add(1)
		}
	}))
	w.inject(faults.Fault{Verb: faults.VerbWatch, Silent: true, Times: -1})
	return gets
}

func (w *scene) inject(f faults.Fault) {
	w.t.Helper()
	if err := w.server.Inject(f); err != nil {
		w.t.Fatal(err)
	}
}

// A watch that brings nothing after a write holds no reconcile up, and reads still have the write.
// Each written object costs one request in two minutes.
func TestSilentWatchHoldsNothingUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newScene(t, controller.OpenOptions[*gadget]{})
		create(t, w.server, newGadget("old", "x"))
		c, runC := delayed("", controller.Options[key]{Run: queue.RunOptions{Workers: 4}})
		controller.For(c, w.handle)
		gets := w.silence()
		got, stop := reconciling(t, runC)
		synctest.Wait()
		one := done(w.handle.Create(t.Context(), newGadget("one", "x"), metav1.CreateOptions{}))
		if err := w.handle.Delete(t.Context(), key{Namespace: "a", Name: "old"}, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		gets.Store(0)
		for round := range int64(10) {
			time.Sleep(2*time.Minute + time.Second)
			got.take()
			for _, name := range []string{"one", "two", "three"} {
				c.Queue().Add(key{Namespace: "a", Name: name})
			}
			synctest.Wait()
			if keys := slices.Compact(got.take()); !slices.Equal(keys, []string{"a/one", "a/three", "a/two"}) { // a/one again if it has changed
				t.Fatalf("round %d: reconciled %q at once", round, keys)
			}
			w.expect("silent", "one", one.ResourceVersion)
			w.expect("silent", "old", "")
			if n := gets.Load(); n != 2*(round+1) {
				t.Fatalf("round %d: %d requests, %d lost", round, n, w.handle.AsInformer().LostWrites())
			}
			one.Labels = map[string]string{"round": fmt.Sprint(round)}
			one = done(fake.Update(w.server, one))
		}
		stop()
	})
}

// What was written before the informer ran is asked for if the list takes long.
func TestSlowListHoldsNothingUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newScene(t, controller.OpenOptions[*gadget]{})
		one := done(w.handle.Create(t.Context(), newGadget("one", "x"), metav1.CreateOptions{}))
		w.inject(faults.Fault{Verb: faults.VerbList, Delay: time.Hour, Times: 1})
		stop := w.run()
		began := time.Now()
		if err := w.handle.CatchUp(t.Context()); err != nil || time.Since(began) > 5*time.Second {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
		w.expect("recorded", "one", one.ResourceVersion)
		stop()
	})
}

// If GET is forbidden, the watch has to bring what is in doubt.
func TestDoubtWithoutGet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newScene(t, controller.OpenOptions[*gadget]{})
		stop := w.run()
		w.inject(faults.Fault{Verb: faults.VerbGet, Status: faults.Refusal(403, metav1.StatusReasonForbidden, 0), Times: -1})
		w.wire.lose.Store(true)
		if _, err := w.handle.Create(t.Context(), newGadget("one", "x"), metav1.CreateOptions{}); err == nil {
			t.Fatal("no answer, no error")
		}
		if err := w.handle.CatchUp(t.Context()); err != nil {
			t.Error(err)
		}
		w.expect("brought by the watch", "one", done(fake.Get[*gadget](w.server, key{Namespace: "a", Name: "one"})).ResourceVersion)
		stop()
	})
}

// CreateOrUpdate on a handle starts from its cache, and asks the server only if it was wrong.
func TestCreateOrUpdateFromCache(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		w := newScene(t, controller.OpenOptions[*gadget]{})
		edit := func(label string) func(*gadget) error {
			return func(g *gadget) error { g.Labels = map[string]string{"a": label}; return nil }
		}
		call := func(when, label, want string) {
			t.Helper()
			sent := w.requests()
			g, _, err := controller.CreateOrUpdate(ctx, w.handle, newGadget("one", "x"), edit(label))
			if err != nil || sent() != want {
				t.Errorf("%s: sent %q, want %q: %v", when, sent(), want, err)
			}
			now := done(fake.Get[*gadget](w.server, key{Namespace: "a", Name: "one"}))
			w.expect(when, "one", now.ResourceVersion)
			if g.ResourceVersion != now.ResourceVersion || now.Labels["a"] != label {
				t.Errorf("%s: returned %v, stored %v", when, g, now)
			}
			sent = w.requests()
			if err := w.handle.CatchUp(ctx); err != nil || sent() != "" {
				t.Errorf("%s: then sent %q: %v", when, sent(), err)
			}
		}
		foreign := func(do func(*gadget)) {
			do(done(fake.Get[*gadget](w.server, key{Namespace: "a", Name: "one"})).DeepCopy())
		}
		remove := func(g *gadget) { done(fake.Delete[*gadget](w.server, key{Namespace: "a", Name: g.Name})) }
		stop := w.run()
		call("missing", "1", "POST")
		call("there", "1", "")
		call("different", "2", "PATCH")
		foreign(func(g *gadget) { g.Labels["b"] = "x"; done(fake.Update(w.server, g)) })
		call("changed unseen", "3", "PATCH GET PATCH")
		foreign(remove)
		call("deleted unseen", "4", "PATCH GET POST")
		if err := w.handle.Delete(ctx, key{Namespace: "a", Name: "one"}, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		create(t, w.server, newGadget("one", "x"))
		call("created unseen", "5", "POST GET PATCH")
		stop()
	})
}

// An object that the handle's selector hides, or that was not listed yet, is not created in each
// call.
func TestCreateOrUpdateHidden(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, opts := range []client.Options{{}, {LabelSelector: "app=web"}, {FieldSelector: "metadata.name=two"}} {
			w := newScene(t, controller.OpenOptions[*gadget]{Client: opts})
			create(t, w.server, newGadget("one", "x"))
			if opts != (client.Options{}) {
				defer w.run()()
			}
			sent := w.requests()
			_, outcome, err := controller.CreateOrUpdate(t.Context(), w.handle, newGadget("one", "x"), func(*gadget) error { return nil })
			if err != nil || outcome != controller.Unchanged || sent() != "GET" {
				t.Errorf("%+v: %v by %q: %v", opts, outcome, sent(), err)
			}
		}
	})
}

// requests returns a function that returns the methods of the requests from now on, without
// watches.
func (w *scene) requests() func() string {
	var mu sync.Mutex
	var sent []string
	w.wire.seen.Store(new(func(r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if r.URL.Query().Get("watch") == "" {
			sent = append(sent, r.Method)
		}
	}))
	return func() string {
		mu.Lock()
		defer mu.Unlock()
		return strings.Join(sent, " ")
	}
}

// Options may be left out, but there cannot be two.
func TestOpenOptions(t *testing.T) {
	conn := client.Connection{URL: fake.URL}
	opts := controller.OpenOptions[*gadget]{Client: client.Options{Namespace: "a"}}
	if err := controller.Open(conn, gadgetKind).Err(); err != nil {
		t.Error(err)
	}
	same := func(g *gadget) (*gadget, error) { return g, nil }
	whole := controller.Open(conn, gadgetKind, opts, opts)
	projected := controller.OpenProjected(conn, gadgetKind, same, store.ObjectKey, opts, opts)
	for _, err := range []error{whole.Err(), projected.Err()} {
		if !errors.Is(err, controller.ErrInvalid) || !strings.Contains(err.Error(), "controller: Open of gadgets: the options are not valid: there are 2") {
			t.Error(err)
		}
	}
}

// While so many writes are ahead of the watch that the next one cannot be recorded, neither CatchUp nor
// WaitForNow says that reads have it, in whatever order they are called, and though a Get brings it.
func TestTooManyWritesAhead(t *testing.T) {
	for _, order := range [][]string{{"CatchUp", "WaitForNow"}, {"WaitForNow", "CatchUp"}, {"Get", "CatchUp"}} {
		synctest.Test(t, func(t *testing.T) {
			w := newScene(t, controller.OpenOptions[*gadget]{})
			w.silence()
			stop := w.run()
			for n := range 10_000 {
				done(w.handle.Create(t.Context(), newGadget(fmt.Sprint("w", n), "x"), metav1.CreateOptions{}))
			}
			done(w.handle.Create(t.Context(), newGadget("more", "x"), metav1.CreateOptions{}))
			for _, name := range order {
				limited, cancel := context.WithTimeout(t.Context(), 20*time.Second)
				err := context.DeadlineExceeded
				switch name {
				case "CatchUp":
					err = w.handle.CatchUp(limited)
				case "WaitForNow":
					err = w.handle.WaitForNow(limited)
				default:
					done(w.handle.Get(limited, key{Namespace: "a", Name: "more"}, metav1.GetOptions{}))
				}
				cancel()
				if !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("%s of %q: %v while the cache lacks a write", name, order, err)
				}
			}
			w.expect("not recorded", "more", "")
			stop()
		})
	}
}

// A list of one namespace in a large cache adds an index of the namespaces, which the author need not know.
func TestHandleListAddsNamespaceIndex(t *testing.T) {
	everySource(t, func(t *testing.T, opts controller.OpenOptions[*gadget]) {
		w := newScene(t, opts)
		for n := range 1100 {
			create(t, w.server, newGadget(fmt.Sprint("g", n), "x"))
		}
		defer w.run()()
		indexed := func() bool {
			return slices.ContainsFunc(w.handle.AsInformer().Store().Indexer().Stats(), func(x index.Stats) bool {
				return strings.HasPrefix(x.Name, "namespace")
			})
		}
		if n := len(w.handle.List("", nil)); n != 1100 || indexed() != (opts.Namespaces != nil) {
			t.Errorf("all namespaces: %d objects, indexed: %t", n, indexed())
		}
		for namespace, want := range map[string]int{"a": 1100, "b": 0} {
			if n := len(w.handle.List(namespace, nil)); n != want || !indexed() {
				t.Errorf("%s: %d objects, indexed: %t", namespace, n, indexed())
			}
		}
	})
}
