package controller_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/controller"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/fake/faults"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/shard"
	"github.com/kinform/kinform/store"
)

// another writes to another resource: that moves the version of the server, and brings no event.
func (w *scene) another() {
	w.t.Helper()
	if err := fake.Register(w.server, siteKinds, fake.Rules{}); err != nil && !strings.Contains(err.Error(), "registered") {
		w.t.Fatal(err)
	}
	if _, err := fake.Create(w.server, &site{ObjectMeta: metav1.ObjectMeta{Namespace: "a", GenerateName: "other-"}}); err != nil {
		w.t.Fatal(err)
	}
}

// now calls WaitForNow, and returns how long that took.
func (w *scene) now(ctx context.Context) (took time.Duration, err error) {
	began := time.Now()
	err = w.handle.WaitForNow(ctx)
	return time.Since(began), err
}

// most is the longest time that reads wait for the present state of a collection in which nothing
// changes.
const most = 3 * time.Second

// kindsOfServer are the servers that a quiet collection is asked of: one sends no bookmarks, and the
// larger collection is not listed at once.
func kindsOfServer(t *testing.T, test func(t *testing.T, w *scene)) {
	for _, bookmarks := range []bool{true, false} {
		for _, size := range []int{3, 700} {
			t.Run(fmt.Sprintf("bookmarks %t, %d objects", bookmarks, size), func(t *testing.T) {
				everySource(t, func(t *testing.T, opts controller.OpenOptions[*gadget]) {
					w := newScene(t, opts)
					w.server = fake.New(fake.Options{NoBookmarks: !bookmarks})
					w.wire.next = w.server.Client().Transport
					ok(t, fake.Register(w.server, gadgetKind, fake.Rules{}))
					for n := range size {
						create(t, w.server, newGadget(fmt.Sprint("g", n), "x"))
					}
					test(t, w)
				})
			})
		}
	}
}

// compare compares the reads of the handle with the server.
func (w *scene) compare() {
	w.t.Helper()
	all := done(fake.List[*gadget](w.server, fake.Selection{}))
	if n := len(w.handle.List("", nil)); n != len(all) {
		w.t.Errorf("reads have %d objects, the server %d", n, len(all))
	}
	for _, g := range all {
		if seen, ok := w.handle.Cached(key{Namespace: g.Namespace, Name: g.Name}); !ok || seen.ResourceVersion != g.ResourceVersion {
			w.t.Errorf("the server has %s at %s, and reads have %v", g.Name, g.ResourceVersion, seen)
		}
	}
}

// A collection that the cache has costs one request. If only others have changed, no event comes,
// and WaitForNow asks.
func TestWaitForNowIdle(t *testing.T) {
	kindsOfServer(t, func(t *testing.T, w *scene) {
		defer w.run()()
		sent := sentBy(w)
		if took, err := w.now(t.Context()); err != nil || took > 0 {
			t.Errorf("nothing is missing: %v after %v", err, took)
		}
		if got := sent(); len(got) != 1 {
			t.Errorf("nothing is missing: sent %q", got)
		}
		w.server.ClearFaults()
		w.another()
		if took, err := w.now(t.Context()); err != nil || took > most {
			t.Errorf("an idle collection: %v after %v", err, took)
		}
		if got := sent(); len(got) > 1+3*max(1, len(w.handle.AsInformer().Stats().Namespaces)) {
			t.Errorf("an idle collection: sent %q", got)
		}
	})
}

// The cache's watch is late. WaitForNow gets just what is missing.
func TestWaitForNowLate(t *testing.T) {
	kindsOfServer(t, func(t *testing.T, w *scene) {
		defer w.run()()
		w.server.ClearFaults() // of the next watches
		create(t, w.server, newGadget("a-wait", "x"))
		g := create(t, w.server, newGadget("new", "x"))
		for _, name := range []string{"g1", "g2"} {
			done(fake.Delete[*gadget](w.server, key{Namespace: "a", Name: name}))
		}
		create(t, w.server, newGadget("g2", "y"))
		g.Owner = "y"
		done(fake.Update(w.server, g))
		w.another()
		sent := sentBy(w)
		if took, err := w.now(t.Context()); err != nil || took > most {
			t.Errorf("%v after %v", err, took)
		}
		gets := 0
		for _, line := range sent() {
			if strings.Contains(line, "/gadgets/") {
				gets++
			}
		}
		if gets != 3 {
			t.Errorf("it got %d objects, want the 3 that have changed", gets)
		}
		w.compare()
		time.Sleep(2 * stale)
		w.server.Bookmark()
		synctest.Wait()
		w.compare()
	})
}

// Reads lack more than can be asked for one by one: they wait for the watch.
func TestWaitForNowLacksMuch(t *testing.T) {
	kindsOfServer(t, func(t *testing.T, w *scene) {
		defer w.run()()
		w.server.ClearFaults()
		create(t, w.server, newGadget("a-wait", "x"))
		for n := range 200 {
			create(t, w.server, newGadget(fmt.Sprint("new", n), "x"))
		}
		w.another()
		if took, err := w.now(t.Context()); err != nil || took < stale/2 || took > 2*stale {
			t.Errorf("%v after %v", err, took)
		}
		w.compare()
	})
}

// Many calls at once cost as much as two, and take as long as one and half a second.
func TestWaitForNowTogether(t *testing.T) {
	kindsOfServer(t, func(t *testing.T, w *scene) {
		defer w.run()()
		w.server.ClearFaults()
		w.another()
		sent := sentBy(w)
		var calls sync.WaitGroup
		for range 100 {
			calls.Go(func() {
				if took, err := w.now(t.Context()); err != nil || took > most {
					t.Errorf("%v after %v", err, took)
				}
			})
		}
		calls.Wait()
		if got := sent(); len(got) > 2*(1+3*max(1, len(w.handle.AsInformer().Stats().Namespaces))) {
			t.Errorf("sent %d requests: %q", len(got), got)
		}
	})
}

// A call whose context ends does not end the others' turn.
func TestWaitForNowIsGivenUp(t *testing.T) {
	everySource(t, func(t *testing.T, opts controller.OpenOptions[*gadget]) {
		w := newScene(t, opts)
		defer w.run()()
		w.server.ClearFaults()
		w.another()
		var calls sync.WaitGroup
		for n := range 4 {
			calls.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(1+n)*100*time.Millisecond)
				defer cancel()
				if took, err := w.now(ctx); !errors.Is(err, context.DeadlineExceeded) || took > 400*time.Millisecond {
					t.Errorf("%v after %v", err, took)
				}
			})
		}
		synctest.Wait()
		if took, err := w.now(t.Context()); err != nil || took > most {
			t.Errorf("%v after %v", err, took)
		}
		calls.Wait()
	})
}

// The answer to a creation by generateName is lost, or the request. Then nothing changes any more.
// The creation holds reconciles up for a short time only, and reads have the object if there is one.
func TestLostCreation(t *testing.T) {
	for _, arrives := range []bool{true, false} {
		kindsOfServer(t, func(t *testing.T, w *scene) {
			server := w.wire.next
			w.wire.next = tripFunc(func(r *http.Request) (*http.Response, error) {
				if r.Method == http.MethodPost && !arrives {
					return nil, errors.New("connection reset by peer")
				}
				return server.RoundTrip(r)
			})
			defer w.run()()
			time.Sleep(2 * stale)
			if !arrives {
				w.another() // otherwise the version has not moved
			}
			w.loseIn(t.Context(), "a")
			for range 3 {
				began := time.Now()
				err := w.handle.CatchUp(t.Context())
				if took := time.Since(began); err != nil || took > most {
					t.Errorf("the creation arrives: %t: %v after %v", arrives, err, took)
				}
			}
			w.compare()
		})
	}
}

// tripFunc is a function as a RoundTripper.
type tripFunc func(*http.Request) (*http.Response, error)

func (f tripFunc) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// Only the namespace of a lost creation is asked.
func TestLostCreationInNamespace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newScene(t, controller.OpenOptions[*gadget]{Namespaces: informer.NewNamespaces("a", "b", "c")})
		defer w.run()()
		w.another()
		w.loseIn(t.Context(), "b")
		sent := sentBy(w)
		ok(t, w.handle.CatchUp(t.Context()))
		lists := 0
		for _, line := range sent()[1:] { // after that for the present version
			if strings.HasSuffix(line, "/gadgets") {
				lists++
			}
			if !strings.Contains(line, "/namespaces/b/") {
				t.Errorf("sent %s", line)
			}
		}
		if lists != 1 {
			t.Errorf("%d lists of b", lists)
		}
		w.compare()
	})
}

// A deletion of all objects of a quiet collection is seen soon.
func TestDeleteQuietCollection(t *testing.T) {
	kindsOfServer(t, func(t *testing.T, w *scene) {
		if w.handle.AsInformer().Stats().Namespaces == nil {
			return // servers delete collections by namespace
		}
		server := w.wire.next
		w.wire.next = tripFunc(func(r *http.Request) (*http.Response, error) {
			answer, err := server.RoundTrip(r)
			if r.Method == http.MethodDelete {
				w.another() // so no event has the version of the next list
			}
			return answer, err
		})
		defer w.run()()
		w.server.ClearFaults() // its watch is well
		w.server.DropWatches()
		time.Sleep(2 * stale)
		began := time.Now()
		err := w.handle.DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{})
		if took := time.Since(began); err != nil || took > most {
			t.Errorf("%v after %v", err, took)
		}
		w.compare()
	})
}

// A projection without UIDs asks for the version of a deletion. If it gets no answer, the deletion has
// succeeded all the same, and reads lack the object after CatchUp.
func TestDeleteOfUnknownVersion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := fake.New(fake.Options{})
		ok(t, fake.Register(server, gadgetKind, fake.Rules{}))
		var away atomic.Bool
		transport := tripFunc(func(r *http.Request) (*http.Response, error) {
			switch {
			case r.Method == http.MethodDelete:
				away.Store(true)
				server.DropWatches()
			case away.Load():
				return nil, io.ErrUnexpectedEOF
			}
			return server.Client().Transport.RoundTrip(r)
		})
		conn := client.Connection{URL: fake.URL, HTTP: &http.Client{Transport: transport}}
		h := controller.OpenProjected(conn, gadgetKind, bareOf, (*bare).key, controller.OpenOptions[*bare]{Informer: quiet[*bare]()})
		create(t, server, newGadget("g", "x"))
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- h.Run(ctx) }()
		synctest.Wait()
		ok(t, h.Delete(t.Context(), key{Namespace: "a", Name: "g"}, metav1.DeleteOptions{}))
		brief, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		if err := h.CatchUp(brief); err == nil {
			t.Error("CatchUp returns nil before the server has answered")
		}
		away.Store(false)
		ok(t, h.CatchUp(t.Context()))
		if n := len(h.List()); n != 0 {
			t.Errorf("reads show %d objects after CatchUp", n)
		}
		cancel()
		ok(t, <-ended)
	})
}

// An object that the handle cannot use does not hold reads up: the cache leaves it out, too.
func TestWaitForNowWithBadObject(t *testing.T) {
	for _, bookmarks := range []bool{true, false} {
		for _, size := range []int{3, 700} {
			synctest.Test(t, func(t *testing.T) {
				server := fake.New(fake.Options{NoBookmarks: !bookmarks})
				ok(t, fake.Register(server, gadgetKind, fake.Rules{}))
				part := func(g *gadget) (*bare, error) {
					if g.Owner == "odd" {
						return nil, errors.New("odd")
					}
					return bareOf(g)
				}
				conn := client.Connection{URL: fake.URL, HTTP: server.Client()}
				h := controller.OpenProjected(conn, gadgetKind, part, (*bare).key, controller.OpenOptions[*bare]{Informer: quiet[*bare]()})
				for n := range size {
					create(t, server, newGadget(fmt.Sprint("g", n), "x"))
				}
				ctx, cancel := context.WithCancel(t.Context())
				ended := make(chan error)
				go func() { ended <- h.Run(ctx) }()
				synctest.Wait()
				odd := done(fake.Get[*gadget](server, key{Namespace: "a", Name: "g1"}))
				odd.Owner = "odd"
				done(fake.Update(server, odd))
				create(t, server, newGadget("more", "odd"))
				synctest.Wait()
				(&scene{t: t, server: server}).another()
				began := time.Now()
				err := h.WaitForNow(t.Context())
				if took := time.Since(began); err != nil || took > most {
					t.Errorf("bookmarks %t, %d objects: %v after %v", bookmarks, size, err, took)
				}
				if n := len(h.List()); n != size {
					t.Errorf("%d objects, want %d", n, size)
				}
				cancel()
				ok(t, <-ended)
			})
		}
	}
}

// Objects of another part have changed, and are not waited for: they never come. What the part
// lacks is. So it is whether the server selects the part or not.
func TestWaitForNowOfPart(t *testing.T) {
	for note, part := range map[string]shard.Part[*gadget]{
		"selected by the server": {Field: shard.FieldNamespace},
		"all are sent":           {Hash: func(g *gadget) uint64 { return shard.ServerHash(g.Namespace) }},
	} {
		t.Run(note, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				hash := shard.ServerHash("a")
				part.Hashes = new(shard.Hashes)
				if err := part.Hashes.Set(shard.HashRange{First: hash, Last: hash}); err != nil {
					t.Fatal(err)
				}
				w := newScene(t, controller.OpenOptions[*gadget]{Part: part})
				create(t, w.server, newGadget("first", "x"))
				defer w.run()()
				w.server.ClearFaults() // of the next watches
				create(t, w.server, newGadget("a-wait", "x"))
				for n := range 2 {
					g := newGadget(fmt.Sprint("theirs", n), "x")
					g.Namespace = "b"
					create(t, w.server, g)
				}
				if _, err := fake.Delete[*gadget](w.server, key{Namespace: "b", Name: "theirs0"}); err != nil {
					t.Fatal(err)
				}
				create(t, w.server, newGadget("ours", "x"))
				w.another()
				if took, err := w.now(t.Context()); err != nil || took > most {
					t.Errorf("%v after %v", err, took)
				}
				if _, ok := w.handle.Cached(key{Namespace: "a", Name: "ours"}); !ok || len(w.handle.List("", nil)) != 3 {
					t.Errorf("reads have %d objects, and the newest one: %t", len(w.handle.List("", nil)), ok)
				}
			})
		})
	}
}

// The last change is one of another part, and no bookmark follows. The cache's own watch does not
// bring it.
func TestWaitForNowLastOfOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hash := shard.ServerHash("a")
		part := shard.Part[*gadget]{Hashes: new(shard.Hashes), Field: shard.FieldNamespace}
		if err := part.Hashes.Set(shard.HashRange{First: hash, Last: hash}); err != nil {
			t.Fatal(err)
		}
		w := newScene(t, controller.OpenOptions[*gadget]{Part: part})
		w.server = fake.New(fake.Options{NoBookmarks: true})
		w.wire.next = w.server.Client().Transport
		if err := fake.Register(w.server, gadgetKind, fake.Rules{}); err != nil {
			t.Fatal(err)
		}
		defer w.run()()
		w.server.ClearFaults()
		g := newGadget("theirs", "x")
		g.Namespace = "b"
		create(t, w.server, g)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if took, err := w.now(ctx); err != nil || took > most {
			t.Errorf("%v after %v", err, took)
		}
	})
}

func TestWaitForNowRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newScene(t, controller.OpenOptions[*gadget]{})
		defer w.run()()
		if err := w.server.Inject(faults.Fault{Verb: faults.VerbList, Status: faults.Refusal(http.StatusForbidden, metav1.StatusReasonForbidden, 0), Times: -1}); err != nil {
			t.Fatal(err)
		}
		_, err := w.now(t.Context())
		if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "gadgets: ") {
			t.Error(err)
		}
	})
}

// A handle for no namespace lacks nothing.
func TestWaitForNowOfNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newScene(t, controller.OpenOptions[*gadget]{Namespaces: new(informer.Namespaces)})
		defer w.run()()
		if _, err := w.now(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// If the lists of a server have no version, nothing tells how new reads are. WaitForNow says so, and does not
// hold reconciles up after a lost creation.
func TestWaitForNowWithoutVersions(t *testing.T) {
	everySource(t, func(t *testing.T, opts controller.OpenOptions[*gadget]) {
		transport := tripFunc(func(r *http.Request) (*http.Response, error) {
			if r.Method != http.MethodGet {
				return nil, errors.New("connection reset by peer")
			}
			body := io.NopCloser(strings.NewReader(`{"kind":"GadgetList","apiVersion":"v1","metadata":{},"items":[]}`))
			return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: body, Request: r}, nil
		})
		h := controller.Open(client.Connection{URL: fake.URL, HTTP: &http.Client{Transport: transport}}, gadgetKind, opts)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- h.Run(ctx) }()
		synctest.Wait()
		if err := h.WaitForNow(t.Context()); !errors.Is(err, store.ErrResourceVersion) || !strings.HasPrefix(err.Error(), "gadgets: ") {
			t.Errorf("WaitForNow: %v", err)
		}
		if _, err := h.Create(t.Context(), &gadget{ObjectMeta: metav1.ObjectMeta{Namespace: "a", GenerateName: "g-"}}, metav1.CreateOptions{}); err == nil {
			t.Error("the creation has an answer")
		}
		if err := h.CatchUp(t.Context()); err != nil {
			t.Errorf("CatchUp: %v", err)
		}
		cancel()
		ok(t, <-ended)
	})
}
