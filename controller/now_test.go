package controller_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/controller"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/fake/faults"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/reflector"
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

// A collection that the cache has costs one request. If only others have changed, no event comes,
// and WaitForNow looks.
func TestWaitForNowIdle(t *testing.T) {
	everySource(t, func(t *testing.T, opts controller.OpenOptions[*gadget]) {
		w := newScene(t, opts)
		create(t, w.server, newGadget("first", "x"))
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
		if took, err := w.now(t.Context()); err != nil || took > 10*time.Second {
			t.Errorf("an idle collection: %v after %v", err, took)
		}
		got := sent()
		if watches := strings.Count(strings.Join(got, "\n"), "watch="); watches != max(1, len(w.handle.Members())) {
			t.Errorf("an idle collection: sent %q", got)
		}
	})
}

// The cache's watch is late. WaitForNow waits for just what is missing: it returns when all of it
// is there, and soon then.
func TestWaitForNowLate(t *testing.T) {
	everySource(t, func(t *testing.T, opts controller.OpenOptions[*gadget]) {
		w := newScene(t, opts)
		for n := range 4 {
			create(t, w.server, newGadget(fmt.Sprint("g", n), "x"))
		}
		defer w.run()()
		w.server.ClearFaults() // of the next watches
		create(t, w.server, newGadget("a-wait", "x"))
		g := create(t, w.server, newGadget("new", "x"))
		for _, name := range []string{"g1", "g2"} {
			if _, err := fake.Delete[*gadget](w.server, key{Namespace: "a", Name: name}); err != nil {
				t.Fatal(err)
			}
		}
		create(t, w.server, newGadget("g2", "y"))
		g.Owner = "y"
		if _, err := fake.Update(w.server, g); err != nil {
			t.Fatal(err)
		}
		w.another()
		took, err := w.now(t.Context())
		if err != nil || took < stale/2 || took > 2*stale {
			t.Errorf("%v after %v", err, took)
		}
		var got []string
		for key, obj := range w.handle.AsInformer().Store().All() {
			got = append(got, key.Name+" of "+obj.Owner)
		}
		slices.Sort(got)
		if want := []string{"a-wait of x", "g0 of x", "g2 of y", "g3 of x", "new of y"}; !slices.Equal(got, want) {
			t.Errorf("the cache has %q, want %q", got, want)
		}
	})
}

// Objects of another part have changed, and are not waited for: they never come. What the part
// lacks is. So it is whether the server selects the part or not.
func TestWaitForNowOfPart(t *testing.T) {
	for note, part := range map[string]informer.Part[*gadget]{
		"selected by the server": {Field: reflector.ShardNamespace},
		"all are sent":           {Hash: func(g *gadget) uint64 { return reflector.ShardHash(g.Namespace) }},
	} {
		t.Run(note, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				hash := reflector.ShardHash("a")
				part.Hashes = new(informer.Hashes)
				if err := part.Hashes.Set(informer.HashRange{First: hash, Last: hash}); err != nil {
					t.Fatal(err)
				}
				w := newScene(t, controller.OpenOptions[*gadget]{Part: &part})
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
				ctx, cancel := context.WithTimeout(t.Context(), 10*stale)
				defer cancel()
				if took, err := w.now(ctx); err != nil || took < stale/2 || took > 2*stale {
					t.Errorf("%v after %v", err, took)
				}
				if _, ok := w.handle.Cached(key{Namespace: "a", Name: "ours"}); !ok || w.handle.AsInformer().Store().Len() != 3 {
					t.Errorf("the cache has %d objects, and the newest one: %t", w.handle.AsInformer().Store().Len(), ok)
				}
			})
		})
	}
}

// A server that sends no bookmarks does not say that nothing is missing. The next event does.
func TestWaitForNowWithoutBookmarks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var opts controller.OpenOptions[*gadget]
		opts.Informer.Reflector.IdleTimeout = time.Hour
		w := newScene(t, opts)
		w.server = fake.New(fake.Options{NoBookmarks: true})
		w.wire.next = w.server.Client().Transport
		if err := fake.Register(w.server, gadgetKind, fake.Rules{}); err != nil {
			t.Fatal(err)
		}
		defer w.run()()
		w.server.ClearFaults()
		w.another()
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		if took, err := w.now(ctx); !errors.Is(err, context.DeadlineExceeded) || took != 10*time.Minute {
			t.Errorf("%v after %v", err, took)
		}
		w.another()
		time.AfterFunc(time.Minute, func() { create(t, w.server, newGadget("an-event", "x")) })
		if took, err := w.now(t.Context()); err != nil || took < time.Minute || took > time.Minute+stale {
			t.Errorf("%v after %v", err, took)
		}
	})
}

// The last change is one of another part, and no bookmark follows. The cache's own watch does not
// bring it.
func TestWaitForNowLastOfOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hash := reflector.ShardHash("a")
		part := informer.Part[*gadget]{Hashes: new(informer.Hashes), Field: reflector.ShardNamespace}
		if err := part.Hashes.Set(informer.HashRange{First: hash, Last: hash}); err != nil {
			t.Fatal(err)
		}
		w := newScene(t, controller.OpenOptions[*gadget]{Part: &part})
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
		if took, err := w.now(ctx); err != nil || took > 10*time.Second {
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
