package informer

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/kinform/kinform/deltafifo"
	"github.com/kinform/kinform/store"
)

// newStates returns an informer of states that are committed by the test.
func newStates(t *testing.T) *Informer[int, state] {
	t.Helper()
	i, err := New(silent{}, state.key, Options[state]{})
	if err != nil {
		t.Fatal(err)
	}
	return i
}

// TestInitialListWithMore: an initial list that is committed with what happened after it is
// logged event by event, so that nothing of that is left out.
func TestInitialListWithMore(t *testing.T) {
	i := newStates(t)
	fifo, cursor := i.session.Load().fifo, i.log.NewCursor()
	list := deltafifo.ItemsOf(deltafifo.Item[int, state]{Key: 1, Object: state{1, 1}})
	if err := fifo.Replace(t.Context(), deltafifo.List[int, state]{Items: list, ResourceVersion: "1"}); err != nil {
		t.Fatal(err)
	}
	if err := fifo.Update(t.Context(), 1, state{1, 2}, "2"); err != nil {
		t.Fatal(err)
	}
	batch, err := fifo.Pop(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := i.commit(&changes[int, state]{}, batch); err != nil {
		t.Fatal(err)
	}
	events, err := cursor.TryNext()
	want := []Event[int, state]{
		{Type: Added, Initial: true, Key: 1, Object: state{1, 1}},
		{Type: Updated, Key: 1, Object: state{1, 2}, Old: state{1, 1}},
		{Type: syncedMark},
	}
	if err != nil || !slices.Equal(events, want) {
		t.Errorf("the log has %+v, %v, want %+v", events, err, want)
	}
}

// TestOverrunOfInitialList: who is left behind before the initial list has seen nothing of
// it, and who is left behind after it all.
func TestOverrunOfInitialList(t *testing.T) {
	i := newStates(t)
	var ops []store.Op[int, state]
	for _, obj := range []state{{1, 2}, {2, 1}, {3, 1}} {
		ops = append(ops, store.Op[int, state]{Key: obj.id, Object: obj})
	}
	if err := i.store.Commit("1", ops); err != nil {
		t.Fatal(err)
	}
	now := i.store.Snapshot()
	missed := overrun[int, state]{from: 10, then: now, missed: []Event[int, state]{
		{Type: initialMark},
		{Type: Updated, Key: 1, Object: state{1, 2}, Old: state{1, 1}},
		{Type: Added, Key: 3, Object: state{3, 1}},
	}}
	for position, want := range map[uint64]string{10: "map[]", 11: "map[1:{1 1} 2:{2 1}]", 13: "map[1:{1 2} 2:{2 1} 3:{3 1}]"} {
		if got := fmt.Sprint(missed.seen(position)); got != want {
			t.Errorf("at %d a handler has seen %s, want %s", position, got, want)
		}
	}
	news := missed.news(10, now, true)
	added := map[int]bool{}
	for _, ev := range news {
		added[ev.Key] = ev.Type == Added && ev.Initial
	}
	if !maps.Equal(added, map[int]bool{1: true, 2: true, 3: true}) {
		t.Errorf("a handler that saw nothing is told of %+v", news)
	}
}
