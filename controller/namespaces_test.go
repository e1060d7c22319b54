package controller_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/controller"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/index"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/kind"
)

// sentBy lists the requests of a scene as "GET /namespaces/a/gadgets?resourceVersion=0", from now
// on.
func sentBy(w *scene) (take func() []string) {
	var mu sync.Mutex
	var all []string
	w.wire.seen.Store(new(func(r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		q := url.Values{}
		for _, name := range []string{"resourceVersion", "watch"} {
			if v := r.URL.Query().Get(name); v != "" {
				q.Set(name, v)
			}
		}
		line := r.Method + " " + strings.TrimPrefix(r.URL.Path, "/api/v1")
		if len(q) > 0 {
			line += "?" + q.Encode()
		}
		all = append(all, line)
	}))
	return func() []string {
		mu.Lock()
		defer mu.Unlock()
		taken := all
		all = nil
		return taken
	}
}

// A request for an object of another namespace has an error that says so, and is not sent.
func TestHandleRefusesOtherNamespaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		set := informer.NewNamespaces("a", "b")
		w := newScene(t, controller.OpenOptions[*gadget]{Namespaces: set})
		defer w.run()()
		sent := sentBy(w)
		h, k := w.handle, key{Namespace: "c", Name: "one"}
		other := newGadget("one", "x")
		other.Namespace = "c"
		patch := []byte(`{}`)
		scale := h.Subresource("scale")
		failures := map[string]error{"Delete": h.Delete(ctx, k, metav1.DeleteOptions{})}
		note := func(verb string, _ *gadget, err error) { failures[verb] = err }
		try := func(verb string) func(*gadget, error) { return func(g *gadget, err error) { note(verb, g, err) } }
		try("Get")(h.Get(ctx, k, metav1.GetOptions{}))
		try("Create")(h.Create(ctx, other, metav1.CreateOptions{}))
		try("Update")(h.Update(ctx, other, metav1.UpdateOptions{}))
		try("UpdateStatus")(h.UpdateStatus(ctx, other, metav1.UpdateOptions{}))
		try("Patch")(h.Patch(ctx, k, types.MergePatchType, patch, metav1.PatchOptions{}))
		try("PatchStatus")(h.PatchStatus(ctx, k, types.MergePatchType, patch, metav1.PatchOptions{}))
		try("Apply")(h.Apply(ctx, other, metav1.ApplyOptions{FieldManager: "me"}))
		try("Apply of a map")(h.Apply(ctx, map[string]any{"metadata": map[string]any{"namespace": "c", "name": "one"}}, metav1.ApplyOptions{FieldManager: "me"}))
		try("Get of a subresource")(scale.Get(ctx, k, metav1.GetOptions{}))
		try("Create of a subresource")(scale.Create(ctx, other, metav1.CreateOptions{}))
		try("Update of a subresource")(scale.Update(ctx, other, metav1.UpdateOptions{}))
		try("Patch of a subresource")(scale.Patch(ctx, k, types.MergePatchType, patch, metav1.PatchOptions{}))
		try("Apply of a subresource")(scale.Apply(ctx, other, metav1.ApplyOptions{FieldManager: "me"}))
		for verb, err := range failures {
			if !errors.Is(err, controller.ErrOutside) || !errors.Is(err, client.ErrNotSent) {
				t.Errorf("%s: %v", verb, err)
			}
		}
		if got, want := failures["Get"].Error(), `controller: gadgets: outside of the handle's namespaces: namespace "c" of object "one"; the handle is for a, b: nothing was sent; add the namespace to OpenOptions.Namespaces, or use a client.Resource`; got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		_, err := h.Get(ctx, key{Name: "one"}, metav1.GetOptions{})
		if !errors.Is(err, controller.ErrOutside) || !strings.Contains(err.Error(), "no namespace") {
			t.Errorf("a key without a namespace: %v", err)
		}
		for n := range 9 {
			ok(t, set.Add(fmt.Sprint("n", n)))
		}
		if _, err = h.Get(ctx, k, metav1.GetOptions{}); !strings.Contains(err.Error(), "a, b, n0, n1, n2 and 6 more") {
			t.Errorf("many namespaces: %v", err)
		}
		synctest.Wait()
		if all := slices.DeleteFunc(sent(), func(line string) bool { return strings.Contains(line, "/namespaces/n") }); len(all) > 0 {
			t.Errorf("sent %q", all)
		}
		if err := h.CatchUp(ctx); err != nil {
			t.Error(err)
		}
	})
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// A namespace without permission lacks its own objects, is tried again, and says so. Nothing asks
// for other namespaces, and the first list of a new one has all earlier writes.
func TestHandleOfSomeNamespaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		set := informer.NewNamespaces("a", "b")
		w := newScene(t, controller.OpenOptions[*gadget]{Namespaces: set})
		w.wire.next = refusing{w.wire.next, "/namespaces/b/gadgets", http.StatusForbidden}
		sent := sentBy(w)
		inB := newGadget("two", "x")
		inB.Namespace = "b"
		create(t, w.server, inB)
		create(t, w.server, newGadget("one", "x"))
		defer w.run()()
		places := w.handle.AsInformer().Stats().Namespaces
		if len(places) != 2 || !places[0].Synced || places[0].Objects != 1 || places[0].Resource != "gadgets in namespace a" ||
			places[1].Synced || !apierrors.IsForbidden(places[1].Refused) || places[1].Failing.Err == nil {
			t.Errorf("the namespaces are %+v", places)
		}
		ok(t, w.handle.WaitForSync(ctx))
		if got := len(w.handle.List("", nil)); got != 1 {
			t.Errorf("%d objects", got)
		}
		for _, line := range sent() {
			if !strings.HasPrefix(line, "GET /namespaces/a/") && !strings.HasPrefix(line, "GET /namespaces/b/") {
				t.Errorf("sent %q", line)
			}
		}
		set.Remove("a")
		synctest.Wait()
		ok(t, set.Add("a"))
		synctest.Wait()
		if all := sent(); !slices.Contains(all, "GET /namespaces/a/gadgets") {
			t.Errorf("the first list is one of %q", all)
		}
		ok(t, w.handle.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}))
		if all := sent(); !slices.Contains(all, "DELETE /namespaces/a/gadgets") || !slices.Contains(all, "DELETE /namespaces/b/gadgets") {
			t.Errorf("DeleteCollection sent %q", all)
		}
		if left := done(fake.List[*gadget](w.server, fake.Selection{})); len(left) > 0 || len(w.handle.List("", nil)) > 0 {
			t.Errorf("left: %v and %v", left, w.handle.List("", nil))
		}
	})
}

// An object of a namespace that is refused is asked for before it is created.
func TestCreateOrUpdateInRefusedNamespace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newSitesIn(t, "b")
		old := newSite("one")
		old.Namespace = "b"
		done(fake.Create(w.server, old))
		for _, namespace := range []string{"a", "b"} {
			next := newSite("one")
			next.Namespace = namespace
			before := w.server.Requests()
			_, what, err := controller.CreateOrUpdate(t.Context(), w.sites, next, func(*site) error { return nil })
			if sent := w.server.Requests().Since(before); err != nil || (sent.Writes() == 1) != (namespace == "a") || (what == controller.Created) != (namespace == "a") {
				t.Errorf("in %s: %v, %v, sent %v", namespace, what, err, sent)
			}
		}
	})
}

type sitesScene struct {
	server *fake.Server
	sites  *controller.Handle[*site]
}

// newSitesIn runs a handle for the namespaces a and b, of which one is refused.
func newSitesIn(t *testing.T, refused string) sitesScene {
	server := fake.New(fake.Options{})
	ok(t, fake.Register(server, siteKinds, fake.Rules{}))
	conn := client.Connection{URL: fake.URL, HTTP: &http.Client{Transport: refusing{server.Client().Transport, "/namespaces/" + refused + "/sites", http.StatusForbidden}}}
	sites := controller.Open(conn, siteKinds, controller.OpenOptions[*site]{
		Namespaces: informer.NewNamespaces("a", "b"), Informer: informer.Options[*site]{OnError: func(error) {}},
	})
	ended := make(chan error)
	go func() { ended <- sites.Run(t.Context()) }()
	t.Cleanup(func() { <-ended })
	synctest.Wait()
	return sitesScene{server, sites}
}

// What was in doubt in a namespace that is gone holds nothing up, and a handle for no namespace
// neither.
func TestHandleOfNamespaceThatIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		set := informer.NewNamespaces("a", "b")
		w := newScene(t, controller.OpenOptions[*gadget]{Namespaces: set})
		for n := range 10 {
			create(t, w.server, newGadget(fmt.Sprint("old", n), "y"))
		}
		defer w.run()()
		w.wire.lose.Store(true)
		if _, err := w.handle.Create(ctx, newGadget("one", "x"), metav1.CreateOptions{}); err == nil {
			t.Fatal("no answer, no error")
		}
		before := w.handle.Stats().Client
		set.Remove("a")
		ok(t, w.handle.CatchUp(ctx))
		ok(t, set.Add("a"))
		synctest.Wait()
		w.expect("again", "one", done(fake.Get[*gadget](w.server, key{Namespace: "a", Name: "one"})).ResourceVersion)
		if s := w.handle.Stats(); s.Resource != "gadgets" || before.Objects < 10 || s.Client.Objects+s.Client.Recalled < before.Objects+11 || s.Client.Bytes <= before.Bytes {
			t.Errorf("the numbers are %+v after %+v", s, before)
		}
		generated := newGadget("", "x")
		generated.GenerateName = "g-"
		w.wire.lose.Store(true)
		if _, err := w.handle.Create(ctx, generated, metav1.CreateOptions{}); err == nil {
			t.Fatal("no answer, no error")
		}
		set.Remove("a", "b")
		limited, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		ok(t, w.handle.CatchUp(limited))
		synctest.Wait()
		if len(w.handle.AsInformer().Stats().Namespaces) > 0 || len(w.handle.List("", nil)) > 0 {
			t.Errorf("a handle for no namespace has %v", w.handle.List("", nil))
		}
	})
}

// The version of a deletion comes from a namespace that may be listed.
func TestHandleDeletesWithoutList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newScene(t, controller.OpenOptions[*gadget]{Namespaces: informer.NewNamespaces("a", "b")})
		w.wire.next = refusing{w.wire.next, "/namespaces/b/gadgets", http.StatusForbidden}
		defer w.run()()
		unseen := newGadget("unseen", "x")
		unseen.Namespace = "b"
		create(t, w.server, unseen)
		sent := sentBy(w)
		ok(t, w.handle.Delete(t.Context(), key{Namespace: "b", Name: "unseen"}, metav1.DeleteOptions{}))
		want := []string{"DELETE /namespaces/b/gadgets/unseen", "GET /namespaces/a/gadgets"}
		if got := sent(); !slices.Equal(got, want) {
			t.Errorf("sent %q, want %q", got, want)
		}
		ok(t, w.handle.CatchUp(t.Context()))
	})
}

// outage is a transport to a server that is down at times.
type outage struct {
	next http.RoundTripper
	down atomic.Bool
	sent atomic.Int64
}

func (o *outage) RoundTrip(r *http.Request) (*http.Response, error) {
	o.sent.Add(1)
	if o.down.Load() {
		return nil, syscall.ECONNREFUSED
	}
	return o.next.RoundTrip(r)
}

// A namespace that answers 500 from the start holds up its own keys only, and nothing that waits
// for a version.
func TestKeysOfFailingNamespaceWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newScene(t, controller.OpenOptions[*gadget]{Namespaces: informer.NewNamespaces("a", "b")})
		inner := w.wire.next
		var mended atomic.Bool
		w.wire.next = switched{&mended, inner, refusing{inner, "/namespaces/b/gadgets", http.StatusInternalServerError}}
		one, two := newGadget("one", "x"), newGadget("two", "x")
		two.Namespace = "b"
		unseen := newGadget("unseen", "x")
		unseen.Namespace = "b"
		for _, g := range []*gadget{one, two, unseen} {
			create(t, w.server, g)
		}
		var reconciled sync.Map
		c, runC := delayed("", controller.Options[key]{OnError: func(err error) { t.Error(err) }})
		both := func(keys []key, _ *gadget) []key {
			return append(keys, key{Namespace: "a", Name: "one"}, key{Namespace: "b", Name: "two"})
		}
		controller.Watch(c, w.handle, both)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() {
			ended <- runC(ctx, func(_ context.Context, k key) error {
				if _, found := w.handle.Cached(k); !found {
					t.Errorf("%v is reconciled before it is listed", k)
				}
				reconciled.Store(k.Namespace, true)
				return nil
			})
		}()
		time.Sleep(15 * time.Second)
		ok(t, w.handle.Delete(t.Context(), key{Namespace: "b", Name: "unseen"}, metav1.DeleteOptions{}))
		limited, stop := context.WithTimeout(ctx, time.Second)
		ok(t, w.handle.CatchUp(limited))
		stop()
		has := func(ns string) bool { _, has := reconciled.Load(ns); return has }
		if !has("a") || has("b") || !w.handle.Covers("a") || w.handle.Covers("b") || !w.handle.AsInformer().Stats().Namespaces[1].Late {
			t.Errorf("reconciled: a %v, b %v; members %+v", has("a"), has("b"), w.handle.AsInformer().Stats().Namespaces)
		}
		mended.Store(true)
		time.Sleep(time.Minute)
		if !has("b") || !w.handle.Covers("b") {
			t.Error("the keys of the namespace are not reconciled after it is mended")
		}
		cancel()
		ok(t, <-ended)
	})
}

// A namespace that fails after it has listed holds up its own keys only, and only after a write to
// unknown objects in it: whether it is refused, answers 500, or does not answer, and whether it is
// asked first or last.
func TestKeysOfNamespaceThatFailsLater(t *testing.T) {
	for _, how := range []int32{mute, http.StatusForbidden, http.StatusInternalServerError} {
		for _, sick := range []string{"a", "b"} {
			for _, written := range []string{"a", "b", "both"} {
				t.Run(fmt.Sprint(how, " in ", sick, " written in ", written), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) { failsLater(t, how, sick, written) })
				})
			}
		}
	}
}

func failsLater(t *testing.T, how int32, sick, written string) {
	well := map[string]string{"a": "b", "b": "a"}[sick]
	const idle = 3 * time.Minute
	opts := controller.OpenOptions[*gadget]{Namespaces: informer.NewNamespaces("a", "b")}
	opts.Informer.Reflector.IdleTimeout = idle
	w := newScene(t, opts)
	out := outageOf(w, sick)
	reconciled := &perNamespace{}
	c, runC := delayed("", controller.Options[key]{OnError: func(error) {}, Logger: slog.New(slog.DiscardHandler)})
	both := func(keys []key, _ *gadget) []key {
		return append(keys, key{Namespace: "a", Name: "one"}, key{Namespace: "b", Name: "two"}, key{Name: "of all"})
	}
	controller.Watch(c, w.handle, both)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		ended <- runC(ctx, func(_ context.Context, k key) error {
			reconciled.count(k.Namespace)
			return nil
		})
	}()
	create(t, w.server, newGadget("one", "x"))
	synctest.Wait()
	// The outage first: otherwise the watch may bring the write before, and then no key has to
	// wait.
	out.how.Store(how)
	w.server.DropWatches()
	for _, ns := range []string{"a", "b"} {
		if written == ns || written == "both" {
			w.loseIn(ctx, ns)
		}
	}
	in := func(ns, name string) *gadget {
		g := newGadget(name, "x")
		g.Namespace = ns
		return g
	}
	create(t, w.server, in(well, "more"))
	time.Sleep(5 * time.Minute)
	reconciled.reset()
	create(t, w.server, in(well, "last"))
	time.Sleep(5 * time.Second)
	waits := written != well
	if got := reconciled.seen(); got[well] == 0 || (got[sick] == 0) != waits || (got[""] == 0) != waits {
		t.Errorf("reconciled while %s fails: %v", sick, got)
	}
	limited, stop := context.WithTimeout(ctx, time.Second)
	ok(t, w.handle.CatchUp(limited))
	stop()
	create(t, w.server, in(sick, "meanwhile"))
	out.how.Store(0)
	time.Sleep(idle + time.Minute) // a watch without an answer may hang for as long, while other requests are answered
	if got := reconciled.seen(); got["a"] == 0 || got["b"] == 0 || got[""] == 0 || !w.handle.Covers(sick) {
		t.Errorf("reconciled after %s is mended: %v, members %+v", sick, got, w.handle.AsInformer().Stats().Namespaces)
	}
	if _, has := w.handle.Cached(key{Namespace: sick, Name: "meanwhile"}); !has {
		t.Error("what was made meanwhile is not there")
	}
	cancel()
	ok(t, <-ended)
}

// A namespace that is refused from the start does not hold its keys up, not even after a write to
// unknown objects in it, unless it may be listed later.
func TestKeysOfRefusedNamespaceGoOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newScene(t, controller.OpenOptions[*gadget]{Namespaces: informer.NewNamespaces("a", "b")})
		out := outageOf(w, "b")
		out.how.Store(http.StatusForbidden)
		defer w.run()()
		w.server.ClearFaults()
		w.server.DropWatches()
		w.loseIn(t.Context(), "b")
		go func() {
			time.Sleep(time.Second)
			w.server.Bookmark()
		}()
		ok(t, w.handle.CatchUp(t.Context()))
		if b, all := controller.Awaits(&w.handle.Requests, "b"), controller.Awaits(&w.handle.Requests, ""); b || all || w.handle.Covers("b") {
			t.Errorf("its keys wait: %t; those of no namespace: %t", b, all)
		}
		out.how.Store(0)
		for controller.Awaits(&w.handle.Requests, "b") || !w.handle.Covers("b") {
			time.Sleep(time.Second)
		}
		if len(w.handle.List("b", nil)) != 1 {
			t.Error("a key would be reconciled without the object")
		}
	})
}

// outageOf returns an outage of the lists and watches of a namespace, which has not begun.
func outageOf(w *scene, namespace string) *outages {
	out := &outages{next: w.wire.next, hits: func(r *http.Request) bool {
		return r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/namespaces/"+namespace+"/gadgets")
	}}
	w.wire.next = out
	return out
}

// loseIn loses the answer to a creation in a namespace whose name the server makes.
func (w *scene) loseIn(ctx context.Context, namespace string) {
	w.t.Helper()
	made := newGadget("", "x")
	made.Namespace, made.GenerateName = namespace, "g-"
	w.wire.lose.Store(true)
	if _, err := w.handle.Create(ctx, made, metav1.CreateOptions{}); err == nil {
		w.t.Fatal("no answer, no error")
	}
}

// Writes that cannot be recorded, few or many, do not count as read in a namespace that fails,
// which the version of the others tells nothing about.
func TestUnrecordedWritesInFailingNamespace(t *testing.T) {
	for _, n := range []int{3, 150} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { unrecorded(t, n) })
		})
	}
}

func unrecorded(t *testing.T, n int) {
	ctx, cancel := context.WithCancel(t.Context())
	server, _ := setup(t)
	out := &outages{next: server.Client().Transport, hits: func(r *http.Request) bool {
		return r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/namespaces/b/gadgets")
	}}
	conn := client.Connection{URL: fake.URL, HTTP: &http.Client{Transport: out}}
	part := func(g *gadget) (*bare, error) {
		if g.Owner == "odd" {
			return nil, errors.New("odd")
		}
		return bareOf(g)
	}
	h := controller.OpenProjected(conn, gadgetKind, part, (*bare).key,
		controller.OpenOptions[*bare]{Namespaces: informer.NewNamespaces("a", "b"), Informer: quiet[*bare]()})
	ended := make(chan error)
	go func() { ended <- h.Run(ctx) }()
	synctest.Wait()
	out.how.Store(http.StatusInternalServerError)
	server.DropWatches()
	time.Sleep(time.Minute)
	for n := range n {
		made := newGadget(fmt.Sprint("w", n), "odd")
		made.Namespace = "b"
		done(h.Create(ctx, made, metav1.CreateOptions{}))
	}
	create(t, server, newGadget("one", "x"))
	limited, end := context.WithTimeout(ctx, time.Minute)
	defer end()
	ok(t, h.CatchUp(limited))
	if a, b := controller.Awaits(&h.Requests, "a"), controller.Awaits(&h.Requests, "b"); a || !b {
		t.Errorf("while b fails, its keys wait: %t; those of a: %t", b, a)
	}
	out.how.Store(0)
	time.Sleep(5 * time.Minute)
	server.Bookmark()
	synctest.Wait()
	controller.Awaits(&h.Requests, "b") // sees that b is mended
	caughtUp, end := context.WithTimeout(ctx, time.Second)
	defer end()
	ok(t, h.CatchUp(caughtUp))
	if controller.Awaits(&h.Requests, "b") || !h.Covers("b") {
		t.Errorf("the keys wait after b is mended: %+v", h.AsInformer().Stats().Namespaces)
	}
	cancel()
	ok(t, <-ended)
}

// perNamespace counts calls for keys by their namespace.
type perNamespace struct {
	mu    sync.Mutex
	calls map[string]int
}

func (n *perNamespace) count(namespace string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.calls == nil {
		n.calls = map[string]int{}
	}
	n.calls[namespace]++
}

// seen returns the calls since the last reset.
func (n *perNamespace) seen() map[string]int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return maps.Clone(n.calls)
}

func (n *perNamespace) reset() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.calls = nil
}

// switched is a transport that uses another one once it is mended.
type switched struct {
	mended     *atomic.Bool
	well, sick http.RoundTripper
}

func (s switched) RoundTrip(r *http.Request) (*http.Response, error) {
	if s.mended.Load() {
		return s.well.RoundTrip(r)
	}
	return s.sick.RoundTrip(r)
}

// All namespaces together ask a server that is down a few times a second, and are back as soon as
// it is.
func TestNamespacesShareTheirServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		set := informer.NewNamespaces()
		for n := range 20 {
			ok(t, set.Add(fmt.Sprint("n", n)))
		}
		w := newScene(t, controller.OpenOptions[*gadget]{Namespaces: set})
		server := &outage{next: w.wire.next}
		w.wire.next = server
		server.down.Store(true)
		defer w.run()()
		time.Sleep(10 * time.Minute)
		if n := server.sent.Load(); n > 10*60*3 {
			t.Errorf("%d requests in 10 minutes", n)
		}
		server.down.Store(false)
		time.Sleep(3 * time.Second)
		for _, m := range w.handle.AsInformer().Stats().Namespaces {
			if !m.Synced {
				t.Errorf("not synced: %s", m.Namespace)
			}
		}
	})
}

func TestOpenOverNamespacesErrors(t *testing.T) {
	conn := client.Connection{URL: fake.URL}
	set := informer.NewNamespaces("a")
	open := func(of *kind.Kind[*gadget], opts controller.OpenOptions[*gadget]) error {
		return controller.Open(conn, of, opts).Err()
	}
	cluster := kind.Of[*gadget](schema.GroupVersion{Version: "v1"}, "gadgets").Cluster()
	twice := index.New("owner", owner)
	for name, c := range map[string]struct {
		err  error
		want error
		text string
	}{
		"two settings": {open(gadgetKind, controller.OpenOptions[*gadget]{Namespaces: set, Client: client.Options{Namespace: "a"}}), controller.ErrInvalid, "gadgets"},
		"scope":        {open(cluster, controller.OpenOptions[*gadget]{Namespaces: set}), client.ErrInvalid, "cluster-scoped"},
		"a bad name":   {open(gadgetKind, controller.OpenOptions[*gadget]{Namespaces: informer.NewNamespaces("a", "not/a name")}), informer.ErrInvalid, `"not/a name"`},
		"index": {open(gadgetKind, controller.OpenOptions[*gadget]{Namespaces: set, Informer: informer.Options[*gadget]{Indexes: index.Of(twice, index.New("owner", owner))}}),
			index.ErrDuplicate, "owner"},
	} {
		if !errors.Is(c.err, c.want) || !strings.Contains(c.err.Error(), c.text) {
			t.Errorf("%s: %v", name, c.err)
		}
	}
	if h := controller.Open(conn, gadgetKind); h.AsInformer().Stats().Namespaces != nil {
		t.Error("a handle of one source has namespaces")
	}
}

// The keys of a new namespace wait until every handle has listed it. The keys of other namespaces do not wait.
func TestKeysOfNewNamespaceWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, _ := setup(t)
		conn := client.Connection{URL: fake.URL, HTTP: &http.Client{Transport: late{server.Client().Transport, 30 * time.Second}}}
		set := informer.NewNamespaces("a")
		opts := controller.OpenOptions[*gadget]{Namespaces: set, Informer: quiet[*gadget]()}
		parents := controller.Open(conn, gadgetKind, opts)
		opts.Client.LabelSelector = "child=yes"
		children := controller.Open(conn, gadgetKind, opts)
		for _, namespace := range []string{"a", "b"} {
			child := newGadget("child", "")
			child.Namespace, child.Labels = namespace, map[string]string{"child": "yes"}
			create(t, server, child)
		}
		c, runC := delayed[key]("")
		controller.For(c, parents)
		controller.Watch(c, children, func(keys []key, g *gadget) []key { return keys })
		began := time.Now()
		after := map[string]time.Duration{}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() {
			ended <- runC(ctx, func(_ context.Context, k key) error {
				after[k.Namespace] = time.Since(began)
				if _, found := children.Cached(k); !found {
					t.Errorf("%v is reconciled before it is listed", k)
				}
				return nil
			})
		}()
		synctest.Wait()
		began = time.Now()
		ok(t, set.Add("b"))
		time.Sleep(10 * time.Second)
		again := newGadget("child", "other")
		again.Labels = map[string]string{"child": "yes"}
		done(fake.Update(server, again))
		time.Sleep(time.Minute)
		cancel()
		ok(t, <-ended)
		if after["a"] != 10*time.Second || after["b"] < 30*time.Second || after["b"] > 32*time.Second {
			t.Errorf("reconciled after %v", after)
		}
	})
}
