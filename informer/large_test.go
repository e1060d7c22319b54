package informer

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/deltafifo"
	"github.com/kinform/kinform/internal/eventlog"
	"github.com/kinform/kinform/reflector"
)

// state is an object in one of its versions. One with a negative version has no key.
type state struct{ id, version int }

func (s state) key() (int, error) {
	if s.version < 0 {
		return 0, errors.New("no key")
	}
	return s.id, nil
}

// silent is a source that is never asked.
type silent struct{}

func (silent) Resource() string { return "states" }

func (silent) List(context.Context, metav1.ListOptions, func(reflector.Event[state], error) bool) (metav1.ListMeta, error) {
	return metav1.ListMeta{}, errors.ErrUnsupported
}

func (silent) Watch(context.Context, metav1.ListOptions) iter.Seq2[reflector.Event[state], error] {
	return func(func(reflector.Event[state], error) bool) {}
}

// TestLargeBatches commits lists that are too large for one piece and compares the store and
// the events with what they should be.
func TestLargeBatches(t *testing.T) {
	const n = keepChanges + 3*largeChunk + 7
	var bad []string
	made, err := New(silent{}, state.key, Options[state]{OnError: func(err error) { bad = append(bad, err.Error()) }})
	if err != nil {
		t.Fatal(err)
	}
	i := coreOf(made)
	// A queue of its own, for objects that only the store finds bad.
	fifo := deltafifo.New(deltafifo.KnownObjects[int, state](&knownObjects[int, state]{i.store.Reader(), i.only}), deltafifo.Options{})
	cursor := eventlog.NewCursor(&i.log)
	c := &i.only.feed.changes
	has := map[int]state{}
	for round, list := range []struct{ from, to, bad int }{{1, n, n / 2}, {10, n + 10, 700}, {1, n, -1}} {
		items, want := &deltafifo.Objects[int, state]{}, map[int]Event[int, state]{}
		for id := list.from; id < list.to; id++ {
			obj := state{id, round}
			if old, had := has[id]; id == list.bad {
				obj.version = -1
			} else if had {
				want[id] = Event[int, state]{Type: Updated, Key: id, Object: obj, Old: old}
			} else {
				want[id] = Event[int, state]{Type: Added, Initial: round == 0, Key: id, Object: obj}
			}
			items.Set(id, obj, "")
		}
		for id, old := range has {
			if id < list.from || id >= list.to {
				want[id] = Event[int, state]{Type: Deleted, FinalStateUnknown: true, Key: id, Object: old, Old: old}
			}
		}
		if err := fifo.Replace(t.Context(), deltafifo.Replacement[int, state]{Objects: items, ResourceVersion: fmt.Sprint(round + 1)}); err != nil {
			t.Fatal(err)
		}
		batch, err := fifo.Pop(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := commitBatch(i.only.feed, batch); err != nil {
			t.Fatal(err)
		}
		if cap(c.ops) > keepChanges {
			t.Errorf("round %d: all ops in memory at a time: %d", round, cap(c.ops))
		}
		reset(c)
		for _, op := range c.ops[:cap(c.ops)] {
			if op.Object != (state{}) {
				t.Fatalf("round %d: %+v is kept alive", round, op.Object)
			}
		}
		for events, err := eventlog.TryNext(cursor); len(events) > 0; events, err = eventlog.TryNext(cursor) {
			if err != nil {
				t.Fatal(err)
			}
			for _, ev := range events {
				if ev.Type == initialMark && round == 0 {
					for id, obj := range i.store.All() {
						if want[id] != (Event[int, state]{Type: Added, Initial: true, Key: id, Object: obj}) {
							t.Fatalf("the initial list has %+v, want %+v", obj, want[id])
						}
						delete(want, id)
						has[id] = obj
					}
					continue
				}
				if want[ev.Key] != ev {
					t.Fatalf("round %d: got event %+v, want %+v", round, ev, want[ev.Key])
				}
				delete(want, ev.Key)
				if has[ev.Key] = ev.Object; ev.Type == Deleted {
					delete(has, ev.Key)
				}
			}
		}
		if len(want) > 0 {
			t.Errorf("round %d: %d events are missing", round, len(want))
		}
		for id, obj := range has {
			if got, ok := i.store.Get(id); !ok || got != obj {
				t.Fatalf("round %d: the store has %v, want %v", round, got, obj)
			}
		}
		if rv := i.store.ResourceVersion(); i.store.Len() != len(has) || rv != fmt.Sprint(round+1) || !hasSyncedAll(&i.base) {
			t.Errorf("round %d: %d objects at %s, want %d", round, i.store.Len(), rv, len(has))
		}
	}
	if len(bad) != 2 {
		t.Errorf("two bad objects, but told of %q", bad)
	}
}
