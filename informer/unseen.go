package informer

import (
	"github.com/kinform/kinform/deltafifo"
	"github.com/kinform/kinform/internal/objmeta"
)

// unseen are the recorded objects that reads have shown and that the store has not had yet, with
// their newest recorded state. Mostly the watch brings them. But if somebody deletes such an object
// and the next list begins after that, there is no delta for it. Then handlers need events of their
// own: otherwise a reconcile that has read the object, and was content, would not be repeated.
//
// An entry stays if its write is lost, or is replaced by a deletion.
type unseen[K comparable, T any] struct {
	objects map[K]ahead[T] // nil for none
	oldest  string         // none of them has an older version
}

// showUnseen notes a recorded write of an object that the store does not have. Called with mu held.
func (i *Informer[K, T]) showUnseen(key K, a ahead[T]) {
	if a.deleted {
		return
	}
	if obj, ok := i.store.Get(key); ok && objmeta.UIDOf(obj) == objmeta.UIDOf(a.obj) {
		return
	}
	u := &i.unseen
	if _, known := u.objects[key]; !known && len(u.objects) >= maxWritten {
		return // the watch is lost anyway
	}
	if u.objects == nil {
		u.objects = map[K]ahead[T]{}
	}
	u.objects[key] = a
	if u.oldest == "" || older(a.rv, u.oldest) {
		u.oldest = a.rv
	}
}

// noticeUnseen follows the events of a batch. It makes events for the objects that came and went
// without a delta. With one source, it looks for them only once the store has reached the oldest.
// Called with mu held.
func (i *Informer[K, T]) noticeUnseen(batch deltafifo.Batch[K, T]) {
	u := &i.unseen
	if len(u.objects) == 0 || !i.hasSynced() {
		return
	}
	u.drop(batch)
	if i.union != nil || batch.Rewound() || !older(i.store.ResourceVersion(), u.oldest) {
		i.deliverPassed(batch.Rewound())
	}
	if len(u.objects) == 0 {
		*u = unseen[K, T]{} // maps never shrink
	}
}

// deliverPassed gives handlers events for the unseen objects whose versions the store has passed, or
// for all unseen objects. If the key has another object by now, that object's event must suffice:
// an addition before it would be no legal history.
func (i *Informer[K, T]) deliverPassed(all bool) {
	u := &i.unseen
	u.oldest = ""
	for key, a := range u.objects {
		if !all && !i.passed(key, a.rv) {
			if u.oldest == "" || older(a.rv, u.oldest) {
				u.oldest = a.rv
			}
			continue
		}
		delete(u.objects, key)
		if _, another := i.store.Get(key); !another {
			i.log.Append(Event[K, T]{Type: Added, Key: key, Object: a.obj})
			i.log.Append(Event[K, T]{Type: Deleted, FinalStateUnknown: true, Key: key, Object: a.obj, Old: a.obj})
		}
	}
}

// drop forgets the objects that batch has brought.
func (u *unseen[K, T]) drop(batch deltafifo.Batch[K, T]) {
	for key, deltas := range batch.All() {
		a, ok := u.objects[key]
		if !ok {
			continue
		}
		for n := range deltas {
			if objmeta.UIDOf(deltas[n].Object) == objmeta.UIDOf(a.obj) {
				delete(u.objects, key)
				break
			}
		}
	}
}

// passed reports whether the store has had all states of a key up to rv. Called with mu held.
func (i *Informer[K, T]) passed(key K, rv string) bool {
	if i.union != nil {
		if !i.union.mayHave(key) {
			return true
		}
		if !i.union.covers(key) {
			return false
		}
	}
	now := i.store.ResourceVersion()
	return now != "" && !older(now, rv)
}
