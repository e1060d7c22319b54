package informer_test

import (
	"context"
	"maps"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/informer"
)

// A second run takes unchanged objects from the store, and the one that changed from the server.
func TestSecondRunRecallsUnchangedObjects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t)
		for _, name := range []string{"a", "b", "c"} {
			must1(fake.Create(server, newWidget("n", name, "")))(t)
		}
		inf := newInformer(t, source(t, server), informer.Options[*widget]{OnError: ignore})
		run := func() {
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- inf.Run(ctx) }()
			synctest.Wait()
			cancel()
			if err := <-ended; err != nil {
				t.Fatal(err)
			}
		}
		run()
		before := maps.Collect(inf.Store().All())
		must1(fake.Update(server, newWidget("n", "b", "node")))(t)
		run()
		if got := inf.Stats().Recalled; got != 2 {
			t.Errorf("recalled %d objects, want 2", got)
		}
		for key, obj := range inf.Store().All() {
			if same := sameWidget(obj, before[key]); same != (key.Name != "b") {
				t.Errorf("%v is the object from before: %t", key, same)
			}
		}
	})
}

// relist makes the watches of server end, and begin again with a list.
func relist(t *testing.T, server *fake.Server) {
	t.Helper()
	server.JumpResourceVersion(5)
	if err := server.Compact(server.ResourceVersion()); err != nil {
		t.Fatal(err)
	}
	server.DropWatches()
	time.Sleep(time.Minute)
	synctest.Wait()
}

// Handlers that want unchanged objects get those that a relist recalls.
func TestRecalledObjectsReachHandlers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t)
		must1(fake.Create(server, newWidget("n", "a", "")))(t)
		inf := newInformer(t, source(t, server), informer.Options[*widget]{OnError: ignore})
		all, changed := newHistory(t, inf), newHistory(t, inf)
		must1(inf.AddHandler(all, handlerOptions{Unchanged: true}))(t)
		must1(inf.AddHandler(changed, handlerOptions{}))(t)
		defer run(t, inf)()
		synctest.Wait()
		relist(t, server)
		if got := inf.Stats().Recalled; got != 1 {
			t.Errorf("recalled %d objects, want 1", got)
		}
		at := key{Namespace: "n", Name: "a"}
		if got, want := all.types(at), "Added(initial) Updated(sync)"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		if got, want := changed.types(at), "Added(initial)"; got != want {
			t.Errorf("without Unchanged: got %s, want %s", got, want)
		}
	})
}
