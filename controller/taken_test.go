package controller_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/controller"
	"github.com/kinform/kinform/fake"
)

// A key whose name is taken is reconciled when the object that has it goes or changes hands, and
// not in between, although it is not retried and the filter lets nothing pass.
func TestTakenName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, inf := setup(t)
		yes := true
		child := newGadget("child", "")
		child.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Gadget", Name: "other", UID: "2", Controller: &yes}}
		child = create(t, server, child)
		owner := newGadget("waits", "")
		owner.UID = "1"
		c, runC := delayed[key]("")
		controller.For(c, inf, func(event) bool { return false })
		controller.Owns(c, inf, inf, func(event) bool { return false })
		var calls atomic.Int64
		taken := new(controller.OwnedError)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() {
			ended <- runC(ctx, func(_ context.Context, k key) error {
				calls.Add(1)
				g, ok := inf.Store().Get(key{Namespace: "a", Name: "child"})
				if !ok || k.Name != "waits" {
					return nil
				}
				err := controller.SetController(g.DeepCopy(), owner, gadgetKind)
				if !errors.As(err, &taken) {
					t.Errorf("SetController: %v", err)
				}
				return controller.Terminal(errors.Join(errors.New("something else"), err))
			})
		}()
		expect := func(when string, want int64) {
			t.Helper()
			time.Sleep(time.Hour)
			if n := calls.Swap(0); n != want {
				t.Errorf("%s: %d calls, want %d", when, n, want)
			}
		}
		update := func(change func()) { t.Helper(); change(); child = must(fake.Update(server, child))(t) }
		remove := func() { t.Helper(); must(fake.Delete[*gadget](server, key{Namespace: "a", Name: "child"}))(t) }
		c.Queue().Add(key{Namespace: "a", Name: "waits"})
		c.Queue().Add(key{Namespace: "a", Name: "another"})
		expect("taken", 2)
		update(func() { child.Labels = map[string]string{"a": "b"} })
		expect("labelled", 0)
		update(func() { child.OwnerReferences = nil })
		expect("without its controller", 1)
		must(fake.Delete[*gadget](server, key{Namespace: "a", Name: create(t, server, newGadget("x", "")).Name}))(t)
		expect("another object goes", 0)
		remove()
		expect("gone", 1)
		child = create(t, server, newGadget("child", ""))
		remove()
		expect("nobody waits", 0)
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}
