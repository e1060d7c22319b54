package informer_test

import (
	"context"
	"maps"
	"testing"
	"testing/synctest"

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
			if same := obj == before[key]; same != (key.Name != "b") {
				t.Errorf("%v is the object from before: %t", key, same)
			}
		}
	})
}
