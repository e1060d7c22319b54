package controller_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/controller"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/informer"
)

// Two namespaces, of which one is quiet: nothing moves its version.
var twoNamespaces = map[string]func() *informer.Namespaces{
	"one source":     func() *informer.Namespaces { return nil },
	"two namespaces": func() *informer.Namespaces { return informer.NewNamespaces("a", "b") },
}

// The watch brings the deletion of an object before the answer to a write of it arrives.
func TestDeletionOvertakesAnswer(t *testing.T) {
	for name, set := range twoNamespaces {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server, _ := sites(t)
				wire := &hooks{next: server.Client().Transport}
				h := controller.Open(client.Connection{URL: fake.URL, HTTP: &http.Client{Transport: wire}}, siteKinds,
					controller.OpenOptions[*site]{Namespaces: set(), Informer: quiet[*site]()})
				one := done(fake.Create(server, newSite("one")))
				k := key{Namespace: one.Namespace, Name: one.Name}
				ctx := t.Context()
				stop := started(t, h.Run)
				synctest.Wait()
				wire.set(nil, func(r *http.Request) {
					if r.Method == http.MethodPatch {
						done(fake.Delete[*site](server, k))
						time.Sleep(time.Millisecond) // the watch is faster
					}
				})
				done(h.Patch(ctx, k, types.MergePatchType, []byte(`{"spec":{"size":7}}`), metav1.PatchOptions{}))
				if got, has := h.Cached(k); has {
					t.Errorf("reads have the deleted object at %s", got.ResourceVersion)
				}
				stop()
			})
		})
	}
}

// A namespace whose server fails does not make writes in another one count as lost.
func TestFailingNamespaceLosesNoWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, _ := sites(t)
		wire := &hooks{next: server.Client().Transport}
		var mu sync.Mutex
		var lost []error
		opts := controller.OpenOptions[*site]{Namespaces: informer.NewNamespaces("a", "b")}
		opts.Informer.OnError = func(err error) {
			mu.Lock()
			defer mu.Unlock()
			if errors.As(err, new(*informer.LostWriteError)) {
				lost = append(lost, err)
			}
		}
		h := controller.Open(client.Connection{URL: fake.URL, HTTP: &http.Client{Transport: wire}}, siteKinds, opts)
		one := done(fake.Create(server, newSite("one")))
		k := key{Namespace: one.Namespace, Name: one.Name}
		ctx := t.Context()
		stop := started(t, h.Run)
		synctest.Wait()
		wire.set(func(r *http.Request) bool { return strings.Contains(r.URL.Path, "/namespaces/b/") }, nil)
		server.DropWatches()
		time.Sleep(time.Second)
		done(h.Patch(ctx, k, types.MergePatchType, []byte(`{"spec":{"size":7}}`), metav1.PatchOptions{}))
		synctest.Wait()
		ok(t, h.Delete(ctx, k, metav1.DeleteOptions{}))
		time.Sleep(5 * time.Minute)
		stop()
		if len(lost) > 0 {
			t.Errorf("reported %v", lost)
		}
	})
}

// Objects in doubt are limited in number: a handle without a cache never settles them.
func TestManyDoubts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, _ := sites(t)
		h := controller.Open(client.Connection{URL: fake.URL, HTTP: server.Client()}, siteKinds, controller.OpenOptions[*site]{Informer: quiet[*site]()})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		for n := range 250 {
			name := "site-" + string(rune('a'+n/26)) + string(rune('a'+n%26))
			done(fake.Create(server, newSite(name)))
			if _, err := h.Create(ctx, newSite(name), metav1.CreateOptions{}); err == nil {
				t.Fatal("the name was free")
			}
		}
		go func() { ended <- h.Run(ctx) }()
		ok(t, h.WaitForSync(ctx))
		before := server.Requests()
		ok(t, h.CatchUp(ctx))
		if sent := server.Requests().Since(before); sent.Count("get", siteKinds.GroupVersionResource().GroupResource()) > 100 {
			t.Errorf("sent %v", sent)
		}
		cancel()
		ok(t, <-ended)
	})
}

// A write that was carried out without an answer, and then refused when the client repeated it, is
// seen by reads.
func TestRefusedRepetition(t *testing.T) {
	for _, code := range []int{http.StatusForbidden, http.StatusConflict, http.StatusUnprocessableEntity, http.StatusTooManyRequests} {
		synctest.Test(t, func(t *testing.T) {
			server, _ := sites(t)
			late := slowWatches{&twice{next: server.Client().Transport, code: code}, new(true)} // which loses nothing
			opts := quiet[*site]()
			opts.Reflector.DisableWatchList = true
			h := controller.Open(client.Connection{URL: fake.URL, HTTP: &http.Client{Transport: late}}, siteKinds, controller.OpenOptions[*site]{Informer: opts})
			one := done(fake.Create(server, newSite("one")))
			ctx := t.Context()
			stop := started(t, h.Run)
			ok(t, h.WaitForSync(ctx))
			k := key{Namespace: one.Namespace, Name: one.Name}
			_, err := h.Patch(ctx, k, types.MergePatchType, []byte(`{"spec":{"size":7}}`), metav1.PatchOptions{})
			if !errors.Is(err, client.ErrUnclear) || codeOf(err) != code {
				t.Errorf("%d: %v", code, err)
			}
			ok(t, h.CatchUp(ctx))
			if seen, _ := h.Cached(k); seen.Spec.Size != 7 {
				t.Errorf("%d: reads have size %d", code, seen.Spec.Size)
			}
			stop()
		})
	}
}

func codeOf(err error) int {
	var st apierrors.APIStatus
	if !errors.As(err, &st) {
		return 0
	}
	return int(st.Status().Code)
}

// Reconcile makes an object, and is content. Somebody deletes the object before the cache has seen
// it, and the watch cannot bring that: the cache lists again. Then reconcile is called once more.
func TestMadeAndGone(t *testing.T) {
	for name, set := range twoNamespaces {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server, _ := sites(t)
				ok(t, fake.Register(server, gadgetKind, fake.Rules{}))
				wire := &hooks{next: server.Client().Transport}
				conn := client.Connection{URL: fake.URL, HTTP: &http.Client{Transport: wire}}
				parents := controller.Open(conn, siteKinds, controller.OpenOptions[*site]{Namespaces: set(), Informer: quiet[*site]()})
				children := controller.Open(conn, gadgetKind, controller.OpenOptions[*gadget]{Namespaces: set(), Informer: quiet[*gadget]()})
				c, runC := delayed[key]("")
				controller.For(c, parents)
				controller.Owns(c, parents, children)
				stop := started(t, func(ctx context.Context) error {
					return runC(ctx, func(ctx context.Context, k key) error {
						parent, has := parents.Cached(k)
						if !has || len(children.List(k.Namespace, nil)) > 0 {
							return nil
						}
						child := newGadget("", "")
						child.Namespace, child.GenerateName = k.Namespace, "g-"
						ok(t, controller.SetController(child, parent, siteKinds))
						_, err := children.Create(ctx, child, metav1.CreateOptions{})
						return err
					})
				})
				synctest.Wait()
				wire.set(func(r *http.Request) bool {
					return r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/gadgets")
				}, nil)
				server.DropWatches()
				time.Sleep(time.Second)
				done(fake.Create(server, newSite("one")))
				time.Sleep(time.Second)
				made := done(fake.List[*gadget](server, fake.Selection{}))
				if len(made) != 1 {
					t.Fatalf("%d children", len(made))
				}
				done(fake.Delete[*gadget](server, key{Namespace: made[0].Namespace, Name: made[0].Name}))
				ok(t, server.Compact(server.ResourceVersion())) // the watch of the cache gets 410
				wire.set(nil, nil)
				time.Sleep(5 * time.Minute)
				if n := len(done(fake.List[*gadget](server, fake.Selection{}))); n != 1 {
					t.Errorf("%d children in the end; reads have %d", n, len(children.List("", nil)))
				}
				stop()
			})
		})
	}
}
