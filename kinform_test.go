package kinform_test

import (
	"context"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/controller"
	"github.com/kinform/kinform/deltafifo"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/informer/pipeline"
	"github.com/kinform/kinform/queue"
	"github.com/kinform/kinform/store"
)

// TestConstructors makes each type with the usual key.
func TestConstructors(t *testing.T) {
	server := fake.New(fake.Options{})
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	lamps := kinform.KindOf[*Lamp](schema.GroupVersion{Version: "v1"}, "lamps")
	must(fake.Register(server, lamps, fake.Rules{}))
	source, err := fake.NewSource[*Lamp](server, fake.Selection{})
	must(err)
	lamp := &Lamp{Room: "hall"}
	lamp.Name = "ceiling"
	key := kinform.Key{Name: "ceiling"}

	lights, err := kinform.NewStore(store.Options[*Lamp]{})
	must(err)
	must(lights.Set(lamp))
	if _, ok := lights.Get(key); !ok {
		t.Error("the store does not find the object by its name")
	}
	inf, err := kinform.NewInformer(source, informer.Options[*Lamp]{})
	must(err)
	if got, err := kinform.NewLister(inf).Get(key); err == nil {
		t.Errorf("the lister of an informer that has not run has %v", got)
	}
	handle := kinform.Open(client.Connection{URL: fake.URL, HTTP: server.Client()}, lamps)
	if got := kinform.Index(handle, "room", func(l *Lamp) string { return l.Room }).Get("hall"); len(got) != 0 {
		t.Errorf("the index of a handle that has not run has %v", got)
	}
	of := func(string) (kinform.Source[*Lamp], error) { return source, nil }
	places, err := kinform.NewNamespaced("lamps", informer.NewNamespaces(), of, informer.Options[*Lamp]{})
	must(err)
	c := controller.New("lamps", func(context.Context, kinform.Key) error { return nil })
	controller.For(c, handle)
	controller.For(c, places)
	must(c.Err())
	fifo := kinform.NewDeltaFIFO(lights.Reader(), deltafifo.Options{})
	must(fifo.Delete(t.Context(), key, lamp, ""))
	if fifo.Len() != 1 {
		t.Errorf("%d deltas pending, want the deletion of a known object", fifo.Len())
	}
	process := func(kinform.Key, []deltafifo.Delta[*Lamp]) error { return nil }
	_, err = kinform.NewPipeline(source, process, pipeline.Options[kinform.Key, *Lamp]{})
	must(err)
	q := kinform.NewQueue(queue.Options[kinform.Key]{})
	q.Add(key)
	if q.Len() != 1 {
		t.Errorf("%d keys in the queue, want 1", q.Len())
	}
}
