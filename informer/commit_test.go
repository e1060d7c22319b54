package informer

import (
	"testing"

	"github.com/kinform/kinform/deltafifo"
	"github.com/kinform/kinform/internal/capacity"
	"github.com/kinform/kinform/internal/door"
	"github.com/kinform/kinform/internal/eventlog"
	"github.com/kinform/kinform/reflector"
	"github.com/kinform/kinform/store"
)

func TestChangesAreEmptiedAndLetGo(t *testing.T) {
	var c changes[int, state]
	fill := func(n int) {
		for range n {
			c.ops = append(c.ops, store.Op[int, state]{Object: state{id: 1}})
			c.outcomes = append(c.outcomes, outcome[state]{old: state{id: 1}})
			c.failed = append(c.failed, nil)
		}
	}
	fill(10)
	reset(&c)
	if len(c.ops) != 0 || cap(c.ops) == 0 {
		t.Errorf("%d of %d ops kept, want none of some", len(c.ops), cap(c.ops))
	}
	if c.ops[:1][0].Object.id != 0 || c.outcomes[:1][0].old.id != 0 || c.failed != nil {
		t.Error("reset keeps an object alive")
	}
	fill(keepChanges + 1)
	reset(&c)
	if cap(c.ops) != 0 || cap(c.outcomes) != 0 {
		t.Errorf("room for %d ops kept after a large batch", cap(c.ops))
	}
	fill(10)
	c.initial = 10
	reset(&c)
	if cap(c.ops) != 0 || cap(c.outcomes) != 0 {
		t.Errorf("room for %d ops kept after the initial list", cap(c.ops))
	}
	fill(1000)
	reset(&c)
	for n := range capacity.Patience {
		if cap(c.ops) < 1000 {
			t.Fatalf("room for %d ops kept right after a burst, and %d single changes", cap(c.ops), n)
		}
		fill(1)
		reset(&c)
	}
	if cap(c.ops) != 0 || cap(c.outcomes) != 0 {
		t.Errorf("room for %d ops kept long after a burst", cap(c.ops))
	}
}

// Handlers get a deleted object as the store had it: the queue may have a state that the store
// refused. They hear nothing of the deletion of an object that the store refused altogether.
func TestDeletionsOfRefusedObjects(t *testing.T) {
	had, refused := state{id: 1, version: 1}, state{id: 1, version: -1}
	i := newSilent(t)
	unknown := deltafifo.Delta[state]{Type: deltafifo.Deleted, FinalStateUnknown: true, Object: refused}
	want := Event[int, state]{Type: Deleted, FinalStateUnknown: true, Key: 1, Object: had, Old: had}
	if ev, ok := eventOf(i.versions.meta, 1, &unknown, &outcome[state]{old: had, had: true}); !ok || ev != want {
		t.Errorf("the event of a deletion that was not seen is %+v, want %+v", ev, want)
	}
	if ev, ok := eventOf(i.versions.meta, 1, &deltafifo.Delta[state]{Type: deltafifo.Deleted, Object: refused}, &outcome[state]{}); ok {
		t.Errorf("an object that was never in the store has the event %+v", ev)
	}
}

// An event that brings the same state as the event before it in the batch brings
// nothing new, though the store has not got that state yet.
func TestRepetitionsInABatch(t *testing.T) {
	i := newSilent(t)
	delta := func(version int) deltafifo.Delta[state] {
		return deltafifo.Delta[state]{Type: deltafifo.Updated, Object: state{id: 1, version: version}, ResourceVersion: "7"}
	}
	if !keepsStored(i, 1, []deltafifo.Delta[state]{delta(2), delta(2)}, 0, 1) {
		t.Error("the same contents at the same version count as new")
	}
	if keepsStored(i, 1, []deltafifo.Delta[state]{delta(2), delta(3)}, 0, 1) {
		t.Error("other contents at the same version do not count as new")
	}
}

// An initial list that finds objects which Writer has put into the cache brings what it changes of
// them.
func TestInitialListOfAFilledCache(t *testing.T) {
	i := newSilent(t)
	if err := i.store.Set(state{1, 1}); err != nil {
		t.Fatal(err)
	}
	cursor := eventlog.NewCursor(&i.log)
	commitList(t, i, state{1, 2}, state{2, 2})
	events, err := eventlog.TryNext(cursor)
	if err != nil || len(events) != 3 {
		t.Fatalf("got events %+v, %v", events, err)
	}
	for n, want := range []Event[int, state]{
		{Type: Updated, Key: 1, Object: state{1, 2}, Old: state{1, 1}},
		{Type: Added, Initial: true, Key: 2, Object: state{2, 2}},
		{Type: syncedMark},
	} {
		if events[n] != want {
			t.Errorf("event %d is %+v, want %+v", n, events[n], want)
		}
	}
}

func newSilent(t *testing.T) *core[int, state] {
	t.Helper()
	i, err := New(silent{}, state.key, Options[state]{OnError: func(err error) { t.Error(err) }})
	if err != nil {
		t.Fatal(err)
	}
	return coreOf(i)
}

// listed returns the batch of a list.
func listed(t *testing.T, i *core[int, state], rv string, list ...state) deltafifo.Batch[int, state] {
	t.Helper()
	to := i.only.feed.to
	for _, obj := range list {
		if err := to.Listed(t.Context(), reflector.Event[state]{Type: reflector.Added, Object: obj}); err != nil {
			t.Fatal(err)
		}
	}
	if err := to.Replace(t.Context(), rv); err != nil {
		t.Fatal(err)
	}
	batch, ok := to.TryPop()
	if !ok {
		t.Fatal("nothing is pending")
	}
	return batch
}

// commitList commits a list as Run does.
func commitList(t *testing.T, i *core[int, state], list ...state) {
	t.Helper()
	if err := commitBatch(i.only.feed, listed(t, i, "1", list...)); err != nil {
		t.Fatal(err)
	}
}

// A list says what there is: what was put aside before it is let go. If the server was restored, so are the writes.
func TestListsLetGoOfAside(t *testing.T) {
	for rewound, ahead := range map[bool]int{false: 1, true: 0} {
		i := newSilent(t)
		o := &i.only.own
		o.change(func(d *door.Door[int]) { door.Wrote(d, 1, door.Held{}, door.State{Version: 30}) })
		keep(o, 1, true, aside[state]{obj: state{1, 2}})
		if rewound {
			i.only.feed.to.Rewound(true)
		}
		batch := listed(t, i, "10")
		if beginOwn(o, batch); len(o.aside) != 0 || door.Len(&o.door) != ahead {
			t.Errorf("rewound %t: %d states aside, %d writes ahead, want none and %d", rewound, len(o.aside), door.Len(&o.door), ahead)
		}
	}
}
