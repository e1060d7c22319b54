package controller_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/controller"
)

// The numbers of a handle come from its cache and its requests, and have the names of its kind.
func TestStats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newScene(t, controller.OpenOptions[*gadget]{Client: client.Options{Namespace: "a"}})
		if k := w.handle.Kind(); k.GroupVersionKind != gadgetKind.GroupVersionKind || k.Resource != gadgetKind.Resource {
			t.Errorf("the kind is %+v", k)
		}
		defer w.run()()
		for _, name := range []string{"one", "two"} {
			if _, err := w.handle.Create(context.Background(), newGadget(name, "x"), metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		if s := w.handle.Stats(); s.Kind != gadgetKind.GroupVersionKind || s.Resource != "gadgets in namespace a" {
			t.Errorf("kind %v, resource %q", s.Kind, s.Resource)
		}
		before := w.handle.Stats().Client
		time.Sleep(2 * stale)
		synctest.Wait()
		if s := w.handle.Stats(); s.Cache.Objects != 2 || s.Cache.Lists != 1 || before.Objects < 2 || s.Client.Objects != 4 {
			t.Errorf("wrong numbers: %+v after %+v", s, before) // two answers and two events
		}
	})
}

// The handlers of a controller have its name, and its numbers come from its queue.
func TestControllerNumbers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newScene(t, controller.OpenOptions[*gadget]{})
		c, _ := delayed[types.NamespacedName]("gadgets")
		controller.For(c, w.handle)
		if all := w.handle.Handlers(); len(all) != 1 || all[0].Name != "gadgets" {
			t.Errorf("handlers %+v", all)
		}
		c.Queue().Add(types.NamespacedName{Name: "a"})
		if m := c.Metrics(); m.Name != "gadgets" || m.Depth != 1 {
			t.Errorf("numbers %+v", m)
		}
	})
}
