package controller_test

import (
	"context"
	"errors"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/controller"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/informer"
)

// A handle that the controller does not watch catches up with what reconcile has written through
// it, whether its cache runs elsewhere or not at all.
func TestUnwatchedHandle(t *testing.T) {
	for name, cached := range map[string]bool{"with a cache": true, "for requests only": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server, _ := sites(t)
				ok(t, fake.Register(server, gadgetKind, fake.Rules{}))
				watched := controller.Open(client.Connection{URL: fake.URL, HTTP: server.Client()}, siteKinds)
				lost := new(bool)
				opts := quiet[*gadget]()
				opts.Reflector.DisableWatchList = true
				others := controller.Open(client.Connection{URL: fake.URL, HTTP: &http.Client{Transport: slowWatches{server.Client().Transport, lost}}},
					gadgetKind, controller.OpenOptions[*gadget]{Informer: opts})
				ctx, cancel := context.WithCancel(t.Context())
				ended := make(chan error, 2)
				if cached {
					go func() { ended <- others.Run(ctx) }()
					synctest.Wait()
				}
				c, runC := delayed[key]("")
				controller.For(c, watched)
				calls := 0
				go func() {
					ended <- runC(ctx, func(ctx context.Context, k key) error {
						calls++
						if len(others.List("", nil)) > 0 || !cached && calls > 1 {
							return nil
						}
						made := newGadget("", "")
						made.Name, made.GenerateName = "", "g-"
						_, err := others.Create(ctx, made, metav1.CreateOptions{})
						return err
					})
				}()
				done(fake.Create(server, newSite("one")))
				time.Sleep(5 * time.Minute)
				synctest.Wait()
				all := done(fake.List[*gadget](server, fake.Selection{}))
				if len(all) != 1 || !*lost || calls < 2 || calls > 5 {
					t.Errorf("%d objects, after %d calls", len(all), calls)
				}
				cancel()
				ok(t, <-ended)
				if cached {
					ok(t, <-ended)
				}
				runtime.KeepAlive(others)
			})
		})
	}
}

// Reads see the writes of a subresource at once, though their answers say nothing certain of the
// object.
func TestSubresourceWritesAreSeen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, _ := sites(t)
		late := slowWatches{server.Client().Transport, new(true)} // loses nothing
		opts := quiet[*site]()
		opts.Reflector.DisableWatchList = true
		h := controller.Open(client.Connection{URL: fake.URL, HTTP: &http.Client{Transport: late}}, siteKinds, controller.OpenOptions[*site]{Informer: opts})
		one := done(fake.Create(server, newSite("one")))
		ctx := t.Context()
		stop := started(t, h.Run)
		ok(t, h.WaitForSync(ctx))
		k, status := key{Namespace: one.Namespace, Name: one.Name}, h.Subresource("status")
		check := func(verb string, ready int64, err error) {
			t.Helper()
			if seen, _ := h.Cached(k); err != nil || seen.Status.Ready != ready {
				t.Errorf("%s: %v, %d ready, want %d", verb, err, seen.Status.Ready, ready)
			}
		}
		one = one.DeepCopy()
		one.Status.Ready = 1
		_, err := status.Update(ctx, one, metav1.UpdateOptions{})
		check("Update", 1, err)
		_, err = status.Patch(ctx, k, types.MergePatchType, []byte(`{"status":{"ready":2}}`), metav1.PatchOptions{})
		check("Patch", 2, err)
		config := map[string]any{
			"apiVersion": siteKinds.GroupVersion().String(), "kind": siteKinds.Kind,
			"metadata": map[string]any{"namespace": one.Namespace, "name": one.Name}, "status": map[string]any{"ready": 3},
		}
		_, err = status.Apply(ctx, config, metav1.ApplyOptions{FieldManager: "me", Force: true})
		check("Apply", 3, err)
		before := server.Requests()
		nameless := newSite("")
		if _, err = status.Update(ctx, nameless, metav1.UpdateOptions{}); !errors.Is(err, client.ErrNotSent) {
			t.Errorf("without a name: %v", err)
		}
		ok(t, h.CatchUp(ctx)) // there is no such object to ask for
		if sent := server.Requests().Since(before); len(sent) > 0 {
			t.Errorf("sent %v", sent)
		}
		stop()
	})
}

// A handle that reconcile writes through holds the keys of a new namespace up like one that is
// watched.
func TestUnwatchedHandleLists(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, _ := sites(t)
		ok(t, fake.Register(server, gadgetKind, fake.Rules{}))
		wire := &hooks{next: server.Client().Transport}
		conn := client.Connection{URL: fake.URL, HTTP: &http.Client{Transport: wire}}
		set := informer.NewNamespaces("a", "b")
		parents := controller.Open(conn, siteKinds, controller.OpenOptions[*site]{Namespaces: set, Informer: quiet[*site]()})
		children := controller.Open(conn, gadgetKind, controller.OpenOptions[*gadget]{Namespaces: set, Informer: quiet[*gadget]()})
		c, runC := delayed[key]("")
		controller.For(c, parents)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 2)
		go func() { ended <- children.Run(ctx) }()
		go func() {
			ended <- runC(ctx, func(ctx context.Context, k key) error {
				if _, has := parents.Cached(k); !has || len(children.List(k.Namespace, nil)) > 0 {
					return nil
				}
				child := newGadget("", "")
				child.Namespace, child.GenerateName = k.Namespace, "g-"
				_, err := children.Create(ctx, child, metav1.CreateOptions{})
				return err
			})
		}()
		parent := newSite("one")
		parent.Namespace = "b"
		done(fake.Create(server, parent))
		time.Sleep(time.Minute)
		set.Remove("b")
		time.Sleep(time.Minute)
		wire.set(nil, func(r *http.Request) {
			if r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/namespaces/b/gadgets") {
				time.Sleep(5 * time.Second)
			}
		})
		ok(t, set.Add("b"))
		time.Sleep(time.Minute)
		if n := len(done(fake.List[*gadget](server, fake.Selection{Namespace: "b"}))); n != 1 {
			t.Errorf("%d children", n)
		}
		cancel()
		ok(t, errors.Join(<-ended, <-ended))
	})
}
