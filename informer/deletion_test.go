package informer_test

import (
	"testing"
	"testing/synctest"

	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/reflector"
)

// TestDeletionAtTheListsVersion: a deletion that carries the version of the list is applied, once.
func TestDeletionAtTheListsVersion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		deleted := func() scripted { return ev(reflector.Deleted, "7", newWidget("a", "b", "")) }
		src := &script{
			lists:   []scriptedList{{"7", []scripted{ev(reflector.Added, "7", newWidget("a", "b", "")), ev(reflector.Added, "3", newWidget("a", "c", ""))}}},
			watches: [][]scripted{{deleted(), deleted()}, {deleted()}},
		}
		inf := newInformer(t, src, informer.Options[*widget]{OnError: ignore})
		h := newHistory(t, inf)
		must1(inf.AddHandler(h, handlerOptions{}))(t)
		defer run(t, inf)()
		synctest.Wait()
		if got, want := h.types(key{Namespace: "a", Name: "b"}), "Added(initial) Deleted"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		if inf.Store().Len() != 1 {
			t.Errorf("the store has %d objects, want c alone", inf.Store().Len())
		}
	})
}
