package ops

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/kinform/kinform/bench/internal/measure"
	"github.com/kinform/kinform/store"
)

// writes are the operations that write one object at a time.
func writes(w *World) []measure.Op {
	return []measure.Op{
		{
			Name:  "update/same",
			Lines: line("update, same index values, 3 indexes", measure.Nanoseconds, 1.3, noAllocs()),
			Setup: func() (measure.Sides, error) { return w.update(w.Fleet.Updated()) },
		},
		{
			Name:  "update/moved",
			Lines: line("update, changed index values, 3 indexes", measure.Nanoseconds, 1.5, noAllocs()),
			Setup: func() (measure.Sides, error) { return w.update(w.Fleet.Moved()) },
		},
		{
			Name:  "delete-add",
			Lines: line("delete and add, 3 indexes", measure.Nanoseconds, 1.5, noAllocs()),
			Setup: w.deleteAdd,
		},
	}
}

// states are two states of all pods, to be stored in turns.
type states [2][]*corev1.Pod

// at returns the i-th object to store: all of one state, then all of the other.
func (s states) at(i int) *corev1.Pod {
	n := len(s[0])
	return s[i/n%2][scatter(i%n, n)]
}

// update stores pods that come from a decoder, as a watch's pods do.
func (w *World) update(to []*corev1.Pod) (measure.Sides, error) {
	s, ix, err := both(w, 3)
	if err != nil {
		return measure.Sides{}, err
	}
	if to, err = received(to); err != nil {
		return measure.Sides{}, err
	}
	next := states{to, w.Fleet.Pods()}
	return measure.Sides{
		Kinform:  measure.Side{Run: loop(func(i int) error { return s.Set(next.at(i)) })},
		ClientGo: measure.Side{Run: loop(func(i int) error { return ix.Update(next.at(i)) })},
	}, nil
}

// deleteAdd deletes a pod and adds one of the same name that comes from a decoder.
func (w *World) deleteAdd() (measure.Sides, error) {
	s, ix, err := both(w, 3)
	if err != nil {
		return measure.Sides{}, err
	}
	again, err := received(w.Fleet.Pods())
	if err != nil {
		return measure.Sides{}, err
	}
	next := states{again, w.Fleet.Pods()}
	return measure.Sides{
		Kinform: measure.Side{Run: loop(func(i int) error {
			p := next.at(i)
			_, had, err := s.Delete(key{Namespace: p.Namespace, Name: p.Name})
			if err != nil || !had {
				return found(0, 1)
			}
			return s.Set(p)
		})},
		ClientGo: measure.Side{Run: loop(func(i int) error {
			p := next.at(i)
			if err := ix.Delete(p); err != nil {
				return err
			}
			return ix.Add(p)
		})},
	}, nil
}

// lists are the operations that write all objects at once.
func lists(w *World) []measure.Op {
	return []measure.Op{
		{
			Name: "list/changed", Whole: true, Rounds: 12,
			Lines: line("list of all into a store, all changed, 3 indexes", measure.Nanoseconds, 2.5),
			Setup: func() (measure.Sides, error) { return w.writeLists(w.Fleet.Updated()) },
		},
		{
			Name: "list/same", Whole: true, Rounds: 12,
			Lines: line("list of all into a store, nothing changed, 3 indexes", measure.Nanoseconds, 7, atMost(0.001*float64(w.Pods), measure.Allocs)),
			Setup: func() (measure.Sides, error) { return w.writeLists(w.Fleet.Pods()) },
		},
	}
}

// writeLists writes all pods of to, and then all as they were, into a store as informers have it,
// which tells by its version that an object did not change. client-go keeps the slice that
// it is given, but only reads it.
func (w *World) writeLists(to []*corev1.Pod) (measure.Sides, error) {
	s, err := store.New(store.ObjectKey, store.Options[*corev1.Pod]{
		Indexes: definitions(3),
		Unchanged: func(old, new *corev1.Pod) bool {
			return old.UID == new.UID && old.ResourceVersion == new.ResourceVersion
		},
	})
	if err != nil {
		return measure.Sides{}, err
	}
	if err := writeList(s, w.Fleet.Pods()); err != nil {
		return measure.Sides{}, err
	}
	ix, err := newIndexer(3, w.Fleet.Pods())
	if err != nil {
		return measure.Sides{}, err
	}
	if to, err = received(to); err != nil {
		return measure.Sides{}, err
	}
	typed := states{to, w.Fleet.Pods()}
	boxed := [2][]any{untyped(to), untyped(w.Fleet.Pods())}
	return measure.Sides{
		Kinform:  measure.Side{Run: loop(func(i int) error { return writeList(s, typed[i%2]) })},
		ClientGo: measure.Side{Run: loop(func(i int) error { return ix.Replace(boxed[i%2], "1") })},
	}, nil
}
