package informer

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/kinform/kinform/internal/eventlog"
	"github.com/kinform/kinform/internal/longtest"
	"github.com/kinform/kinform/reflector"
	"github.com/kinform/kinform/store"
)

// newStates returns an informer of states that are committed by the test.
func newStates(t *testing.T) *core[int, state] {
	t.Helper()
	i, err := New(silent{}, state.key, Options[state]{})
	if err != nil {
		t.Fatal(err)
	}
	return coreOf(i)
}

// TestInitialListWithMore: an initial list that is committed with what happened after it is
// logged event by event, so that nothing of that is left out.
func TestInitialListWithMore(t *testing.T) {
	i := newStates(t)
	to, cursor := i.only.feed.to, eventlog.NewCursor(&i.log)
	if err := to.Listed(t.Context(), reflector.Event[state]{Type: reflector.Added, Object: state{1, 1}}); err != nil {
		t.Fatal(err)
	}
	if err := to.Replace(t.Context(), "1"); err != nil {
		t.Fatal(err)
	}
	if err := to.Apply(t.Context(), reflector.Event[state]{Type: reflector.Modified, Object: state{1, 2}, ResourceVersion: "2"}); err != nil {
		t.Fatal(err)
	}
	batch, ok := to.TryPop()
	if !ok {
		t.Fatal("nothing is pending")
	}
	if err := commitBatch(i.only.feed, batch); err != nil {
		t.Fatal(err)
	}
	events, err := eventlog.TryNext(cursor)
	want := []Event[int, state]{
		{Type: Added, Initial: true, Key: 1, Object: state{1, 1}},
		{Type: Updated, Key: 1, Object: state{1, 2}, Old: state{1, 1}},
		{Type: syncedMark},
	}
	if err != nil || !slices.Equal(events, want) {
		t.Errorf("the log has %+v, %v, want %+v", events, err, want)
	}
}

// TestOverrunOfInitialList: a handler that is left behind before the initial list has seen
// nothing of the list. One that is left behind after it has seen all of it.
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
	for position, want := range map[uint64][]Event[int, state]{
		10: {
			{Type: Added, Initial: true, Key: 1, Object: state{1, 2}},
			{Type: Added, Initial: true, Key: 2, Object: state{2, 1}},
			{Type: Added, Initial: true, Key: 3, Object: state{3, 1}},
		},
		11: {
			{Type: Updated, Key: 1, Object: state{1, 2}, Old: state{1, 1}},
			{Type: Added, Key: 3, Object: state{3, 1}},
		},
		13: nil,
	} {
		if events := missedEvents(&missed, i.versions.meta, position, now, position == 10); !slices.Equal(events, want) {
			t.Errorf("who is at %d is told of %+v, want %+v", position, events, want)
		}
	}
}

// TestOverrunOfAnything: after a handler was left behind, its events lead from the state that
// it has seen to the present one, with one event per key. That holds for any events before and
// after.
func TestOverrunOfAnything(t *testing.T) {
	for seed := range longtest.N[uint64](40, 1000) {
		r := rand.New(rand.NewPCG(seed, 1))
		i, version, states := newStates(t), 0, []map[int]state{{}}
		change := func() Event[int, state] {
			version++
			op := []store.Op[int, state]{{Key: 1 + r.IntN(700), Delete: r.IntN(3) == 0}}
			if !op[0].Delete {
				op[0].Object = state{op[0].Key, version}
			}
			if err := i.store.Commit(strconv.Itoa(version), op); err != nil {
				t.Fatal(err)
			}
			states = append(states, maps.Collect(i.store.All()))
			ev := Event[int, state]{Type: Updated, Key: op[0].Key, Object: op[0].Object, Old: op[0].Old}
			switch {
			case op[0].Delete && !op[0].Had:
				return Event[int, state]{Type: syncedMark}
			case op[0].Delete:
				ev.Type, ev.Object = Deleted, op[0].Old
			case !op[0].Had:
				ev.Type = Added
			}
			return ev
		}
		for range r.IntN(600) {
			change()
		}
		first := len(states) - 1
		missed := overrun[int, state]{from: 5}
		for range r.IntN(20) {
			missed.missed = append(missed.missed, change())
		}
		missed.then = i.store.Snapshot()
		for range r.IntN(20) {
			change()
		}
		read := r.IntN(len(missed.missed) + 1)
		seen := maps.Clone(states[first+read])
		told := map[int]bool{}
		for _, ev := range missedEvents(&missed, i.versions.meta, missed.from+uint64(read), i.store.Snapshot(), false) {
			old, had := seen[ev.Key]
			if told[ev.Key] || had != (ev.Type != Added) || ev.Old != old {
				t.Errorf("seed %d: told %+v after having seen %+v", seed, ev, old)
			}
			told[ev.Key] = true
			if seen[ev.Key] = ev.Object; ev.Type == Deleted {
				delete(seen, ev.Key)
			}
		}
		if want := states[len(states)-1]; !maps.Equal(seen, want) {
			t.Errorf("seed %d: what was told leads to %v, want %v", seed, seen, want)
		}
	}
}
