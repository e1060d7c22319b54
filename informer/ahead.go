package informer

import (
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/deltafifo"
	"github.com/kinform/kinform/internal/door"
	"github.com/kinform/kinform/internal/nocmp"
)

// This file has what a part knows about the own writes that are ahead of its list and watch.

// maxOwn is the limit of own writes that may be ahead of the watch.
const maxOwn = 10_000

// ownWrite is the answer to a write of this process.
type ownWrite[T any] struct {
	_ nocmp.Type

	obj  T // zero if gone
	rv   string
	uid  types.UID
	gone bool // the object ended
}

// lostWrites counts the writes that were found to be lost, of all parts.
type lostWrites struct {
	times atomic.Uint64 // number of times that a write was found to be lost
	once  atomic.Uint64 // number of lost writes
}

// own knows which writes of this process are ahead of a part's list and watch.
type own[K comparable, T any] struct {
	count atomic.Int64 // of writes that are ahead

	// mu is taken inside the informer's mu and inside the locks of the queue. No other lock is taken
	// inside it. Who has the informer's mu can read door and aside without it. A key has an entry in aside
	// only while it has an own write in the door: then that is the newest state that list or watch brought.
	mu    sync.RWMutex
	door  door.Door[K]
	aside map[K]aside[T] // see door.Aside; nil for none

	// Guarded by the informer's mu.
	due   []dueWrite[K] // the oldest first
	timer *time.Timer   // for the first of due; nil if none is set
}

// aside is a state that may enter later.
type aside[T any] struct {
	_ nocmp.Type

	obj T
	rv  string
	sum uint64
}

// dueWrite is a write that is lost if it is still ahead at a time.
type dueWrite[K comparable] struct {
	_ nocmp.Type

	key     K
	version uint64
	until   time.Time
	lost    bool   // it has been reported
	told    bool   // and list or watch have told of the key, see door.Told
	at      uint64 // how far they were when that was found
	gone    bool   // it ended the object; set when it is lost
	late    bool   // it was recorded after a list was compared with the store; set for the list of a restored server
}

// ofKey is what own knows of a key.
type ofKey[T any] struct {
	_ nocmp.Type

	known door.Known
	aside aside[T]
	has   bool // something was put aside
}

// change changes the door. Called with the informer's mu held, so who has that may read the door.
func (o *own[K, T]) change(f func(*door.Door[K])) {
	o.mu.Lock()
	defer o.mu.Unlock()
	f(&o.door)
	o.count.Store(int64(door.Len(&o.door)))
}

// awaitsOwn reports whether a write of key is ahead. Safe from any goroutine.
func awaitsOwn[K comparable, T any](o *own[K, T], key K) bool {
	if o.count.Load() == 0 {
		return false
	}
	o.mu.RLock()
	defer o.mu.RUnlock()
	_, waits := door.Waits(&o.door, key)
	return waits
}

// putOwn returns what was put aside for a key, and whether a write of it is ahead. Safe from any goroutine.
func putOwn[K comparable, T any](o *own[K, T], key K) (kept aside[T], has, ahead bool) {
	if o.count.Load() == 0 {
		return kept, false, false
	}
	o.mu.RLock()
	defer o.mu.RUnlock()
	kept, has = o.aside[key]
	_, ahead = door.Waits(&o.door, key)
	return kept, has, ahead
}

// awaited returns the keys of all writes that are ahead, and the door's moment.
func (o *own[K, T]) awaited() (keys []K, moment uint64) {
	o.mu.RLock()
	defer o.mu.RUnlock()
	door.Each(&o.door, func(key K, _ uint64) { keys = append(keys, key) })
	return keys, uint64(door.Made(&o.door))
}

// ownOf returns what own knows of a key. Called with the informer's mu held.
//
//go:noinline
func ownOf[K comparable, T any](o *own[K, T], key K) ofKey[T] {
	kept, has := o.aside[key]
	return ofKey[T]{known: door.Knows(&o.door, key), aside: kept, has: has}
}

// ownWaits reports whether a write is still ahead. Called with the informer's mu held.
func ownWaits[K comparable, T any](o *own[K, T], w *dueWrite[K]) bool {
	version, waits := door.Waits(&o.door, w.key)
	return waits && version == w.version
}

// keep puts a state aside, or what is there away if there is no state. Called with mu held.
func keep[K comparable, T any](o *own[K, T], key K, has bool, is aside[T]) {
	if !has {
		delete(o.aside, key)
		return
	}
	if o.aside == nil {
		o.aside = map[K]aside[T]{}
	}
	o.aside[key] = is
}

// forgetOwn drops writes, and what was put aside for them.
func forgetOwn[K comparable, T any](o *own[K, T], keys ...K) {
	if len(keys) == 0 {
		return
	}
	o.change(func(d *door.Door[K]) {
		for _, key := range keys {
			door.Drop(d, key)
			delete(o.aside, key)
		}
	})
}

// undoOwn goes back to what own knew of a key, because the store refused a write. Called with the informer's
// mu held.
//
//go:noinline
func undoOwn[K comparable, T any](o *own[K, T], key K, before ofKey[T]) {
	o.change(func(d *door.Door[K]) {
		door.Undo(d, key, before.known)
		keep(o, key, before.has, before.aside)
	})
}

// beginOwn tells the door what a batch is. If it has a list of a server that was restored from a backup,
// the door forgets all own writes, and beginOwn returns them. Called with mu held.
func beginOwn[K comparable, T any](o *own[K, T], batch deltafifo.Batch[K, T]) (ahead []dueWrite[K]) {
	moment, listed := batch.Listed()
	if !batch.Rewound() && (!listed || o.count.Load() == 0) {
		return nil
	}
	o.change(func(d *door.Door[K]) {
		if !batch.Rewound() {
			for _, key := range door.Relisted(d, door.Moment(moment)) {
				delete(o.aside, key)
			}
			return
		}
		for n := range o.due {
			if w := &o.due[n]; ownWaits(o, w) && !door.HasLeft(d, w.key) {
				w.gone, w.late = door.Ends(d, w.key), door.Since(d, w.key, door.Moment(moment))
				ahead = append(ahead, *w)
			}
		}
		door.Rewound(d)
		clear(o.aside)
	})
	return ahead
}
