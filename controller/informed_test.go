package controller_test

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/controller"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/informer/factory"
)

// A factory's handle is taken like an informer, and its informer is not run twice.
func TestFactoryHandle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, _ := setup(t)
		f := factory.New(client.Connection{URL: fake.URL, HTTP: server.Client()}, factory.Options{})
		handle, err := factory.For(f, gadgetKind, factory.Request[*gadget]{})
		if err != nil {
			t.Fatal(err)
		}
		c := controller.New(controller.Options[key]{})
		err = errors.Join(controller.For(c, handle), controller.Owns(c, handle, handle),
			controller.Watch(c, handle.Informer, func(dst []key, g *gadget) []key { return append(dst, key{Name: g.Owner}) }))
		if err != nil {
			t.Fatal(err)
		}
		got, stop := reconciling(t, c)
		create(t, server, newGadget("one", "x"))
		synctest.Wait()
		if keys := got.take(); !slices.Equal(keys, []string{"/x", "a/one"}) {
			t.Errorf("reconciled %q", keys)
		}
		stop()
	})
}

// A handle that is nil has no informer.
func TestNilHandle(t *testing.T) {
	c := controller.New(controller.Options[key]{})
	var none informer.Informed[key, *gadget]
	for what, err := range map[string]error{
		"an interface":     controller.For(c, none),
		"a factory handle": controller.For(c, (*factory.Handle[key, *gadget])(nil)),
		"a handle":         controller.For(c, (*controller.Handle[*gadget])(nil)),
		"a projected one":  controller.For(c, (*controller.Projected[*gadget, *bare])(nil)),
	} {
		if !errors.Is(err, controller.ErrNoInformer) {
			t.Errorf("For of %s that is nil returned %v", what, err)
		}
	}
}
