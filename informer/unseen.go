package informer

import (
	"github.com/kinform/kinform/deltafifo"
	"github.com/kinform/kinform/internal/objmeta"
)

// unseen are the recorded objects that reads have shown and that the store has not had yet, with their
// newest recorded state. Mostly the watch brings them. But if somebody deletes such an object and the
// next list begins after that, no delta tells of it. Then handlers have to be told: a reconcile that has
// read the object, and was content, would not be repeated otherwise.
//
// An entry does not end with its write: it stays if that is lost, or replaced by a deletion.
type unseen[K comparable, T any] map[K]ahead[T]

// showUnseen notes a recorded write of an object that the store does not have. Called with mu held.
func (i *Informer[K, T]) showUnseen(key K, a ahead[T]) {
	if a.deleted {
		return
	}
	if obj, ok := i.store.Get(key); ok && objmeta.UIDOf(obj) == objmeta.UIDOf(a.obj) {
		return
	}
	if _, known := i.unseen[key]; !known && len(i.unseen) >= maxWritten {
		return // the watch is lost anyway
	}
	if i.unseen == nil {
		i.unseen = unseen[K, T]{}
	}
	i.unseen[key] = a
}

// tellUnseen follows the events of a batch. It tells handlers of the objects that came and went without
// a delta. If there is another object under the key by now, its event has to do: an addition before it
// would be no legal history. Called with mu held.
func (i *Informer[K, T]) tellUnseen(batch deltafifo.Batch[K, T]) {
	if len(i.unseen) == 0 || !i.hasSynced() {
		return
	}
	i.unseen.drop(batch)
	for key, a := range i.unseen {
		if !batch.Rewound() && !i.passed(key, a.rv) {
			continue
		}
		delete(i.unseen, key)
		if _, another := i.store.Get(key); !another {
			i.log.Append(Event[K, T]{Type: Added, Key: key, Object: a.obj})
			i.log.Append(Event[K, T]{Type: Deleted, FinalStateUnknown: true, Key: key, Object: a.obj, Old: a.obj})
		}
	}
	if len(i.unseen) == 0 {
		i.unseen = nil // maps never shrink
	}
}

// drop forgets the objects that batch has brought.
func (u unseen[K, T]) drop(batch deltafifo.Batch[K, T]) {
	for key, deltas := range batch.All() {
		a, ok := u[key]
		if !ok {
			continue
		}
		for n := range deltas {
			if objmeta.UIDOf(deltas[n].Object) == objmeta.UIDOf(a.obj) {
				delete(u, key)
				break
			}
		}
	}
}

// passed reports whether the store has had all states of a key up to rv. Called with mu held.
func (i *Informer[K, T]) passed(key K, rv string) bool {
	if i.union != nil {
		if !i.union.merge.MayHave(key) {
			return true
		}
		if !i.union.merge.Covers(key) {
			return false
		}
	}
	now := i.store.ResourceVersion()
	return now != "" && !older(now, rv)
}
