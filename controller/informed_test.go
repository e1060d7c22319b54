package controller_test

import (
	"slices"
	"testing"
	"testing/synctest"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/controller"
	"github.com/kinform/kinform/fake"
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
		c, runC := delayed[key]("")
		controller.For(c, handle)
		controller.Owns(c, handle, handle)
		controller.Watch(c, handle.Informer, func(dst []key, g *gadget) []key { return append(dst, key{Name: g.Owner}) })
		got, stop := reconciling(t, runC)
		create(t, server, newGadget("one", "x"))
		synctest.Wait()
		if keys := got.take(); !slices.Equal(keys, []string{"/x", "a/one"}) {
			t.Errorf("reconciled %q", keys)
		}
		stop()
	})
}
