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
		var log journal
		c := controller.New("x", func(_ context.Context, k key) error { log.add(k.Name); return nil })
		q := queue.New(queue.Options[string]{})
		m.AddCaches(shared)
		controller.For(c, shared)
		controller.For(c, own)
		m.AddControllers(c)
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
		m.AddControllers(c)
		if err := m.Err(); !errors.Is(err, manager.ErrStarted) {
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
