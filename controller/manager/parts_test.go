package manager_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/controller"
	"github.com/kinform/kinform/controller/manager"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/queue"
)

// A controller is run under its own name, and is among the parts, with its informers and what was
// shown.
func TestParts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, shared := setup(t)
		_, own := setup(t)
		m := manager.New(manager.Options{Elector: always{}})
		c := controller.New(controller.Options[key]{Name: "x"})
		var log journal
		reconcile := func(_ context.Context, k key) error { log.add(k.Name); return nil }
		q := queue.New(queue.Options[string]{})
		if err := errors.Join(m.AddCaches(shared), controller.For(c, shared), controller.For(c, own), manager.AddController(m, c, reconcile)); err != nil {
			t.Fatal(err)
		}
		m.Show("q", q)
		got := ""
		for _, p := range m.Parts() {
			got += fmt.Sprintf(" %s:%T", p.Name, p.Value)
			switch p.Name {
			case "x":
				if p.Value.(manager.Controller).Untyped() != c.Queue().Untyped() {
					t.Error("another controller")
				}
			case "q":
				if p.Value != any(q) {
					t.Error("another queue")
				}
			}
		}
		const inf = "*informer.Informer[k8s.io/apimachinery/pkg/types.NamespacedName,*github.com/kinform/kinform/controller/manager_test.gadget]"
		want := " leader election:manager_test.always gadgets:" + inf +
			" q:*queue.Queue[string] x:*controller.Controller[k8s.io/apimachinery/pkg/types.NamespacedName] gadgets:" + inf
		if got != want {
			t.Errorf("parts\n%s, want\n%s", got, want)
		}
		end := begin(t, m)
		synctest.Wait()
		if _, err := fake.Create(server, &gadget{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "one"}}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if got := log.take(); got != "one" {
			t.Errorf("reconciled: %s", got)
		}
		if err := manager.AddController(m, c, reconcile); !errors.Is(err, manager.ErrStarted) {
			t.Errorf("after the start: %v", err)
		}
		if err := end(); err != nil {
			t.Error(err)
		}
	})
}

// always leads.
type always struct{}

func (always) Lead(ctx context.Context, work func(context.Context)) error {
	work(ctx)
	return nil
}

func TestAddControllerRefuses(t *testing.T) {
	c := controller.New(controller.Options[key]{Name: "x"})
	reconcile := func(context.Context, key) error { return nil }
	unnamed := controller.New(controller.Options[key]{})
	m := manager.New(manager.Options{})
	for _, step := range []struct{ got, want error }{
		{manager.AddController(m, c, nil), manager.ErrNoFunc},
		{manager.AddController[key](m, nil, reconcile), manager.ErrNoPart},
		{manager.AddController(m, unnamed, reconcile), manager.ErrUnnamed},
		{manager.AddController(m, c, reconcile), nil},
		{manager.AddController(m, c, reconcile), manager.ErrDuplicate},
	} {
		if !errors.Is(step.got, step.want) {
			t.Errorf("%v, want %v", step.got, step.want)
		}
	}
}
