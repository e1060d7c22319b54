package kinform_test

import (
	"context"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/controller"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/informer"
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
	inf, err := kinform.NewInformer(source, informer.Options[*Lamp]{})
	must(err)
	handle := kinform.Open(client.Connection{URL: fake.URL, HTTP: server.Client()}, lamps)
	if got := kinform.Index(handle, "room", func(l *Lamp) string { return l.Room }).Get("hall"); len(got) != 0 {
		t.Errorf("the index of a handle that has not run has %v", got)
	}
	c := controller.New("lamps", func(context.Context, kinform.Key) error { return nil })
	controller.For(c, handle)
	controller.For(c, inf)
	must(c.Err())
}
