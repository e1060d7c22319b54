package informer_test

import (
	"testing"
	"testing/synctest"

	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/informer"
)

func TestInformerFollowsServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t)
		must1(fake.Create(server, newWidget("a", "one", "n1")))(t)
		must1(fake.Create(server, newWidget("a", "two", "n2")))(t)
		inf := newInformer(t, source(t, server), informer.Options[*widget]{})
		var events []informer.Event[key, *widget]
		reg := must1(inf.AddHandler(checked(t, inf, func(ev informer.Event[key, *widget]) {
			events = append(events, ev)
		}), handlerOptions{}))(t)
		stop := run(t, inf)
		select {
		case <-reg.Synced():
		default:
			t.Error("the handler has not synced")
		}
		w := must1(fake.Create(server, newWidget("b", "three", "n1")))(t)
		w.Spec.Node = "n2"
		must1(fake.Update(server, w))(t)
		must1(fake.Delete[*widget](server, key{Namespace: "a", Name: "one"}))(t)
		synctest.Wait()
		for _, ev := range events {
			t.Logf("%v %v %v %v", ev.Type, ev.Key, ev.Initial, ev.Object.ResourceVersion)
		}
		if got := len(byNode.Get(inf.Store(), "n2")); got != 2 {
			t.Errorf("%d widgets on n2, want 2", got)
		}
		stop()
		<-reg.Done()
	})
}
