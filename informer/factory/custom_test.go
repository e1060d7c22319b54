package factory_test

import (
	"errors"
	"testing"
	"testing/synctest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/informer/factory"
	"github.com/kinform/kinform/internal/mistake"
	"github.com/kinform/kinform/reflector"
	"github.com/kinform/kinform/store"
)

// gearsOf describes a source of gears that is not one of the factory's connection.
func gearsOf(server *fake.Server, opened *int) factory.Custom[key, *gear] {
	return factory.Custom[key, *gear]{
		Name: "gears of the other server",
		Open: func(sel client.Options) (reflector.Source[*gear], error) {
			*opened++
			return fake.NewSource[*gear](server, fake.Selection{Namespace: sel.Namespace, LabelSelector: sel.LabelSelector})
		},
		Key: store.ObjectKey[*gear],
	}
}

// A source of the program's own is shared by its name and selection, and the factory's options
// apply to it.
func TestForSource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		other := newWorld(t, factory.Options{})
		other.create("prod", "one", 1)
		other.create("prod", "two", 2)
		other.create("test", "three", 3)
		w := newWorld(t, factory.Options{
			Namespace:        "prod",
			TweakListOptions: func(o *metav1.ListOptions) { o.LabelSelector = "size=1" },
			Transform:        func(object metav1.Object) error { object.SetAnnotations(map[string]string{"seen": "yes"}); return nil },
		})
		opened := 0
		get := func(name string, sel client.Options) *factory.Handle[key, *gear] {
			custom := gearsOf(other.server, &opened)
			custom.Name = name
			h, err := factory.ForSource(w.Factory, custom, factory.Request[*gear]{Select: sel})
			w.must(err)
			return h
		}
		first := get("a", client.Options{})
		if get("a", client.Options{Namespace: "prod"}).Informer != first.Informer || opened != 1 {
			t.Error("the same source got another informer")
		}
		if get("b", client.Options{}).Informer == first.Informer || get("a", client.Options{Namespace: "test"}).Informer == first.Informer {
			t.Error("another source got the same informer")
		}
		plain := request(w, gears, factory.Request[*gear]{})
		if plain.Informer == first.Informer {
			t.Error("a resource and a source of its own share an informer")
		}
		stop := w.run()
		if first.Store().Len() != 1 || plain.Store().Len() != 0 {
			t.Errorf("%d objects of the source and %d of the resource, want 1 and 0", first.Store().Len(), plain.Store().Len())
		}
		if g, ok := first.Store().Get(key{Namespace: "prod", Name: "one"}); !ok || g.Annotations["seen"] != "yes" {
			t.Errorf("got %v, %t", g, ok)
		}
		w.create("prod", "even", 2)
		w.create("prod", "odd", 1)
		synctest.Wait()
		if plain.Store().Len() != 1 {
			t.Errorf("%d objects of the resource, want the one that the options select", plain.Store().Len())
		}
		stop()
	})
}

func TestForSourceErrors(t *testing.T) {
	w := newWorld(t, factory.Options{})
	opened := 0
	good := gearsOf(w.server, &opened)
	bad := errors.New("bad")
	for want, change := range map[error]func(*factory.Custom[key, *gear]){
		factory.ErrUnnamed:  func(c *factory.Custom[key, *gear]) { c.Name = "" },
		factory.ErrNoOpen:   func(c *factory.Custom[key, *gear]) { c.Open = nil },
		informer.ErrInvalid: func(c *factory.Custom[key, *gear]) { c.Key = nil },
		mistake.NoSource: func(c *factory.Custom[key, *gear]) {
			c.Open = func(client.Options) (reflector.Source[*gear], error) { return nil, nil }
		},
		bad: func(c *factory.Custom[key, *gear]) {
			c.Open = func(client.Options) (reflector.Source[*gear], error) { return nil, bad }
		},
	} {
		custom := good
		change(&custom)
		if h, err := factory.ForSource(w.Factory, custom, factory.Request[*gear]{}); !errors.Is(err, want) || h != nil {
			t.Errorf("got %v, %v, want %v", h, err, want)
		}
	}
	if got := w.Stats(); len(got) != 0 {
		t.Errorf("informers left: %+v", got)
	}
}
