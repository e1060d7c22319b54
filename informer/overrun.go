package informer

import (
	"iter"
	"reflect"
	"slices"

	"github.com/kinform/kinform/internal/mutation"
	"github.com/kinform/kinform/internal/nocmp"
	"github.com/kinform/kinform/internal/objmeta"
	"github.com/kinform/kinform/internal/typekind"
	"github.com/kinform/kinform/store"
)

// overrun holds the events that a coalescing handler had not got when the informer left it
// behind.
type overrun[K comparable, T any] struct {
	missed []Event[K, T]        // the events up to that moment
	from   uint64               // position of the first one in the log
	then   store.Snapshot[K, T] // the store after the last one
}

// missedEvents returns the events that bring a handler at position of the log to the state now.
func missedEvents[K comparable, T any](o *overrun[K, T], meta objmeta.Reader[T], position uint64, now store.Snapshot[K, T], initial bool) (events []Event[K, T]) {
	missed := o.missed[min(int(position-o.from), len(o.missed)):]
	if slices.ContainsFunc(missed, func(ev Event[K, T]) bool { return ev.Type == initialMark }) {
		for key, obj := range pairsOf(&now) {
			events = append(events, Event[K, T]{Type: Added, Initial: initial, Key: key, Object: obj})
		}
		return events
	}
	changes := missedChanges(o, missed, now)
	for n := range changes {
		d := &changes[n]
		ev := Event[K, T]{Key: d.key, Object: d.now, Old: d.old}
		switch {
		case !d.had && d.has:
			ev.Type, ev.Initial = Added, initial
		case d.had && !d.has:
			ev.Type, ev.FinalStateUnknown, ev.Object = Deleted, true, d.old
		case d.had && !same(d.old, d.now):
			ev.Type, ev.Replaced = Updated, meta.Differ(d.old, d.now)
		default:
			continue
		}
		events = append(events, ev)
	}
	return events
}

// missedChange is the state of a key that a handler saw last, and the current one.
type missedChange[K comparable, T any] struct {
	_ nocmp.Type

	key      K
	old, now T
	had, has bool
}

// missedChanges returns one change for every key of missed, and for every key whose object was
// written since. It does not look at the rest of the store: with a handler that is often left
// behind, that would keep one processor busy.
func missedChanges[K comparable, T any](o *overrun[K, T], missed []Event[K, T], now store.Snapshot[K, T]) []missedChange[K, T] {
	var all []missedChange[K, T]
	number := map[K]int{}
	find := func(key K, old T, had bool) *missedChange[K, T] {
		n, known := number[key]
		if !known {
			n = len(all)
			number[key] = n
			all = append(all, missedChange[K, T]{key: key, old: old, had: had})
		}
		return &all[n]
	}
	for n := range missed {
		if ev := &missed[n]; ev.Type != syncedMark {
			d := find(ev.Key, ev.Old, ev.Type != Added)
			d.now, d.has = ev.Object, ev.Type != Deleted
		}
	}
	for key, obj := range o.then.Diff(now, same[T]) {
		find(key, obj, true).has = false
	}
	var none T
	for key, obj := range now.Diff(o.then, same[T]) {
		d := find(key, none, false)
		d.now, d.has = obj, true
	}
	return all
}

// same reports whether two objects are the same: identical pointers, or equal values.
func same[T any](a, b T) bool {
	if typekind.Of((*T)(nil)) == reflect.Pointer {
		return any(a) == any(b)
	}
	return mutation.Same(a, b)
}

// pairsOf returns the keys and objects of a snapshot. It is not inlined, as All would be in each function that uses it.
//
//go:noinline
func pairsOf[K comparable, T any](s *store.Snapshot[K, T]) iter.Seq2[K, T] { return s.All() }
