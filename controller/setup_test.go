package controller_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/controller"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/index"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/informer/factory"
	"github.com/kinform/kinform/internal/mistake"
	"github.com/kinform/kinform/kind"
	"github.com/kinform/kinform/reflector"
)

func nothing(context.Context, key) error { return nil }

// Mistakes of a setup are one error of Run, which names each, its kind and the next step. Nothing panics before.
func TestSetupMistakes(t *testing.T) {
	var (
		nobody *informer.Informer[key, *gadget]
		none   informer.Informed[key, *gadget]
		pass   func(event) bool
		noKeys func([]key, *gadget) []key
	)
	of := func(dst []key, _ *gadget) []key { return dst }
	byOwner := index.By("owner", func(g *gadget) key { return key{Namespace: "a", Name: g.Owner} })
	_, inf := setup(t)
	withFor := func(c *controller.Controller[key]) *controller.Controller[key] { controller.For(c, inf); return c }
	for what, c := range map[string]struct {
		setup func(c *controller.Controller[key])
		want  error
		text  string
	}{
		"For of nil":                 {func(c *controller.Controller[key]) { controller.For(c, none) }, controller.ErrNoInformer, "For of *controller_test.gadget"},
		"For of a nil informer":      {func(c *controller.Controller[key]) { controller.For(c, nobody) }, controller.ErrNoInformer, "For of *controller_test.gadget: "},
		"of a nil factory handle":    {func(c *controller.Controller[key]) { controller.For(c, (*factory.Handle[key, *gadget])(nil)) }, controller.ErrNoInformer, "gadget"},
		"of a nil handle":            {func(c *controller.Controller[key]) { controller.For(c, (*controller.Handle[*gadget])(nil)) }, controller.ErrNoInformer, "gadget"},
		"of a nil projection":        {func(c *controller.Controller[key]) { controller.For(c, (*controller.Projected[*gadget, *bare])(nil)) }, controller.ErrNoInformer, "bare"},
		"For with a nil filter":      {func(c *controller.Controller[key]) { controller.For(c, inf, pass) }, controller.ErrNoFilter, "For of gadgets"},
		"Watch with a nil filter":    {func(c *controller.Controller[key]) { controller.Watch(c, inf, of, pass) }, controller.ErrNoFilter, "Watch of gadgets"},
		"Owns with a nil filter":     {func(c *controller.Controller[key]) { controller.Owns(c, inf, inf, pass) }, controller.ErrNoFilter, "Owns of gadgets"},
		"Watch without keys":         {func(c *controller.Controller[key]) { controller.Watch(c, inf, noKeys) }, controller.ErrNoKeys, "Watch of gadgets"},
		"Watch of nil":               {func(c *controller.Controller[key]) { controller.Watch(c, nobody, of) }, controller.ErrNoInformer, "Watch of *controller_test.gadget"},
		"Owns without owners":        {func(c *controller.Controller[key]) { controller.Owns(c, nobody, inf) }, controller.ErrNoInformer, "Owns of *controller_test.gadget"},
		"Owns without owned objects": {func(c *controller.Controller[key]) { controller.Owns(c, inf, nobody) }, controller.ErrNoInformer, "Owns of *controller_test.gadget"},
		"References of nil": {func(c *controller.Controller[key]) {
			controller.References(withFor(c), nobody, informer.AddIndex(inf, byOwner))
		},
			controller.ErrNoInformer, "References of *controller_test.gadget"},
		"References by no index": {func(c *controller.Controller[key]) {
			controller.References(c, inf, informer.Index[key, *gadget, key]{})
		},
			controller.ErrNoInformer, "References of *controller_test.gadget: the index is of no informer"},
	} {
		t.Run(what, func(t *testing.T) {
			wrong := controller.New("mine", nothing)
			c.setup(wrong)
			for _, err := range []error{wrong.Err(), wrong.Run(t.Context())} {
				if !errors.Is(err, c.want) || !strings.HasPrefix(err.Error(), "mine: controller: ") || !strings.Contains(err.Error(), c.text) {
					t.Errorf("got %v", err)
				}
			}
		})
	}
	t.Run("all at once", func(t *testing.T) {
		conn := client.Connection{URL: fake.URL}
		twice := controller.Open(conn, gadgetKind)
		informer.AddIndex(twice, byOwner)
		informer.AddIndex(twice, index.By("owner", func(g *gadget) string { return g.Owner }))
		scoped := controller.Open(conn, kind.Of[*site](siteKinds.GroupVersion(), "sites").Cluster(), controller.OpenOptions[*site]{Client: client.Options{Namespace: "a"}})
		wrong := controller.New[key]("mine", nil, controller.Options[key]{}, controller.Options[key]{})
		controller.For(wrong, scoped)
		controller.Owns(wrong, twice, scoped)
		controller.References(wrong, inf, informer.AddIndex(twice, byOwner))
		err := wrong.Run(t.Context())
		for _, want := range []error{mistake.NoFunc, controller.ErrInvalid, client.ErrInvalid, controller.ErrNoOwners} {
			if !errors.Is(err, want) {
				t.Errorf("%v is missing", want)
			}
		}
		for _, text := range []string{"Owns of sites.example.com by gadgets", "References of gadgets by gadgets", "call For"} {
			if !strings.Contains(err.Error(), text) {
				t.Errorf("%q is missing", text)
			}
		}
		controller.For(wrong, twice)
		if err := wrong.Err(); !errors.Is(err, index.ErrDuplicate) || errors.Is(err, controller.ErrNoOwners) || strings.Count(err.Error(), "is taken") != 1 {
			t.Errorf("with the owners: %v", err)
		}
	})
}

// Nothing panics with a nil controller, and whoever runs it gets an error.
func TestNilController(t *testing.T) {
	var c *controller.Controller[key]
	_, inf := setup(t)
	var nobody *informer.Informer[key, *gadget]
	byName := informer.AddIndex(inf, index.By("name", func(g *gadget) key { return key{Name: g.Name} }))
	keys := func(dst []key, _ *gadget) []key { return dst }
	for _, of := range []*informer.Informer[key, *gadget]{inf, nobody} {
		controller.For(c, of)
		controller.Owns(c, of, of)
		controller.Watch(c, of, keys)
		controller.Watch(c, of, nil)
		controller.References(c, of, byName)
		controller.References(c, of, informer.Index[key, *gadget, key]{})
	}
	if n := len(inf.Handlers()); n > 0 {
		t.Errorf("%d handlers of nobody", n)
	}
	for what, err := range map[string]error{"Err": c.Err(), "Run": c.Run(t.Context()), "Unwatch": controller.Unwatch(c, inf)} {
		if !errors.Is(err, controller.ErrInvalid) || err.Error() != "controller: the controller is nil: make it with New" {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// A handle that could not be opened can be used like any other: whatever asks the server says why, and nothing panics.
func TestFailedHandle(t *testing.T) {
	set := informer.NewNamespaces("a")
	conn := client.Connection{URL: fake.URL}
	for name, h := range map[string]*controller.Handle[*site]{
		"without a kind":   controller.Open[*site](conn, nil),
		"two options":      controller.Open(conn, siteKinds, controller.OpenOptions[*site]{}, controller.OpenOptions[*site]{}),
		"without a server": controller.Open(client.Connection{}, siteKinds),
		"part and set":     controller.Open(conn, siteKinds, controller.OpenOptions[*site]{Namespaces: set, Part: nowhere{}}),
		"bad part":         controller.Open(conn, siteKinds, controller.OpenOptions[*site]{Part: nowhere{}}),
		"two namespaces":   controller.Open(conn, siteKinds, controller.OpenOptions[*site]{Namespaces: set, Client: client.Options{Namespace: "b"}}),
		"two indexes": controller.Open(conn, siteKinds, controller.OpenOptions[*site]{Informer: informer.Options[*site]{
			Indexes: index.Of(index.By("name", (*site).GetName), index.By("name", (*site).GetName)),
		}}),
	} {
		t.Run(name, func(t *testing.T) {
			cause := h.Err()
			if cause == nil {
				t.Fatal("no error")
			}
			if strings.Contains(name, "kind") != !strings.Contains(cause.Error(), "sites") {
				t.Errorf("it does not name the kind: %v", cause)
			}
			ctx, k, one := t.Context(), key{Namespace: "a", Name: "one"}, newSite("one")
			sub := h.Subresource("status")
			for what, err := range map[string]error{
				"Run": h.Run(ctx), "WaitForSync": h.WaitForSync(ctx), "WaitForNow": h.WaitForNow(ctx),
				"Get": second(h.Get(ctx, k, metav1.GetOptions{})), "Create": second(h.Create(ctx, one, metav1.CreateOptions{})),
				"Update": second(h.Update(ctx, one, metav1.UpdateOptions{})), "UpdateStatus": second(h.UpdateStatus(ctx, one, metav1.UpdateOptions{})),
				"Patch":       second(h.Patch(ctx, k, types.MergePatchType, []byte("{}"), metav1.PatchOptions{})),
				"PatchStatus": second(h.PatchStatus(ctx, k, types.MergePatchType, []byte("{}"), metav1.PatchOptions{})),
				"Apply":       second(h.Apply(ctx, one, metav1.ApplyOptions{FieldManager: "m"})), "Delete": h.Delete(ctx, k, metav1.DeleteOptions{}),
				"DeleteCollection": h.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}),
				"ServerVersion":    second(h.ServerVersion(ctx, "a/one")),
				"sub Get":          second(sub.Get(ctx, k, metav1.GetOptions{})), "sub Create": second(sub.Create(ctx, one, metav1.CreateOptions{})),
				"sub Update": second(sub.Update(ctx, one, metav1.UpdateOptions{})),
				"sub Patch":  second(sub.Patch(ctx, k, types.MergePatchType, nil, metav1.PatchOptions{})),
				"sub Apply":  second(sub.Apply(ctx, one, metav1.ApplyOptions{})),
			} {
				if !errors.Is(err, cause) && fmt.Sprint(err) != cause.Error() {
					t.Errorf("%s: %v", what, err)
				}
			}
			if _, err := controller.SubresourceAs[*site](h, "status"); !errors.Is(err, cause) && fmt.Sprint(err) != cause.Error() {
				t.Errorf("SubresourceAs: %v", err)
			}
			if found := h.Untyped().Lookup("a/one"); found.Cached || h.AsInformer().WaitForRV(ctx, "1") == nil {
				t.Errorf("it has %+v", found)
			}
			if err := h.CatchUp(ctx); err != nil {
				t.Errorf("nothing was written: %v", err)
			}
			if _, found := h.Cached(k); found || len(h.List("", nil)) != 0 || len(h.List("a", nil)) != 0 || h.Covers("a") || h.Resource() == "" {
				t.Error("it has something")
			}
			byName := informer.AddIndex(h, index.By("n", (*site).GetName))
			c := controller.New("mine", nothing)
			controller.For(c, h)
			controller.Owns(c, h, h)
			if err := c.Run(ctx); byName.Count("one") != 0 || !strings.Contains(fmt.Sprint(err), cause.Error()) || strings.Count(err.Error(), cause.Error()) != 1 {
				t.Errorf("the controller's Run returned %v", err)
			}
		})
	}
}

// nowhere is a part that cannot be taken.
type nowhere struct{}

func (nowhere) Source(reflector.Source[*site]) (reflector.Source[*site], error) {
	return nil, errors.New("no part")
}
func (nowhere) Has(*site) (bool, error) { return false, nil }

// A late watch of a handle that could not be opened is reported, and Run goes on.
func TestFailedHandleLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, inf := setup(t)
		reported := make(chan error, 10)
		c, runC := delayed("mine", controller.Options[key]{OnError: func(err error) { reported <- err }})
		controller.For(c, inf)
		got, stop := reconciling(t, runC)
		synctest.Wait()
		controller.For(c, controller.Open(client.Connection{}, siteKinds))
		if err := <-reported; !strings.Contains(err.Error(), "sites") || c.Err() == nil {
			t.Errorf("reported %v, Err is %v", err, c.Err())
		}
		create(t, server, newGadget("one", "x"))
		synctest.Wait()
		if keys := got.take(); len(keys) != 1 {
			t.Errorf("Run reconciles %v", keys)
		}
		stop()
	})
}

// References queues whoever refers to a changed object, before and after a reference moves, and nobody else.
func TestReferences(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, _ := setup(t)
		ok(t, fake.Register(server, siteKinds, fake.Rules{}))
		conn := client.Connection{URL: fake.URL, HTTP: server.Client()}
		gadgets := controller.Open(conn, gadgetKind)
		sites := controller.Open(conn, siteKinds)
		bySite := informer.AddIndex(gadgets, index.By("site", func(g *gadget) key { return key{Namespace: g.Namespace, Name: g.Owner} }))
		first := done(fake.Create(server, newSite("first")))
		create(t, server, newGadget("one", "first"))
		two := create(t, server, newGadget("two", "first"))
		create(t, server, newGadget("three", "second"))
		var seen calls[key]
		c := controller.New("gadgets", seen.reconcile)
		controller.References(c, sites, bySite, func(ev informer.Event[key, *site]) bool { return ev.Object.Name != "ignored" })
		controller.For(c, gadgets)
		stop := started(t, c.Run)
		expect := func(when, want string) {
			t.Helper()
			synctest.Wait()
			if got := strings.Join(seen.take(), " "); got != want {
				t.Errorf("%s: reconciled %q, want %q", when, got, want)
			}
		}
		expect("at the start", "a/one a/three a/two")
		first.Labels = map[string]string{"a": "b"}
		first = done(fake.Update(server, first))
		expect("after a change", "a/one a/two")
		two.Owner = "second"
		done(fake.Update(server, two))
		expect("after a move", "a/two")
		done(fake.Create(server, newSite("second")))
		expect("after a creation", "a/three a/two")
		done(fake.Create(server, newSite("ignored")))
		expect("a filter", "")
		done(fake.Delete[*site](server, keyOf(first)))
		expect("after a deletion", "a/one")
		stop()
	})
}

// A mistake with an index of a late watch is reported, and Run goes on.
func TestLateIndexMistake(t *testing.T) {
	for _, wait := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			server, inf := setup(t)
			var reported atomic.Int32
			report := func(err error) {
				if !errors.Is(err, index.ErrDuplicate) {
					t.Error(err)
				}
				reported.Add(1)
			}
			seen := new(calls[key])
			c := controller.New("", seen.reconcile, controller.Options[key]{OnError: report})
			controller.For(c, inf)
			stop := started(t, c.Run)
			synctest.Wait()
			h := controller.Open(client.Connection{URL: fake.URL, HTTP: server.Client()}, gadgetKind, controller.OpenOptions[*gadget]{Informer: informer.Options[*gadget]{OnError: report}})
			controller.For(c, h)
			if wait {
				synctest.Wait()
			}
			informer.AddIndex(h, index.By("n", (*gadget).GetName))
			informer.AddIndex(h, index.By("n", (*gadget).GetName))
			synctest.Wait()
			if reported.Load() == 0 || !errors.Is(c.Err(), index.ErrDuplicate) {
				t.Errorf("%d reports, Err is %v", reported.Load(), c.Err())
			}
			create(t, server, newGadget("one", "x"))
			synctest.Wait()
			if got := seen.take(); len(got) == 0 {
				t.Error("Run has ended")
			}
			stop()
		})
	}
}
