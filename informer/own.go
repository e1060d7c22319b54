package informer

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/internal/door"
	"github.com/kinform/kinform/internal/eventlog"
	"github.com/kinform/kinform/internal/objmeta"
	"github.com/kinform/kinform/internal/usercode"
	"github.com/kinform/kinform/reflector"
	"github.com/kinform/kinform/store"
)

// RecordWrite puts a write of this process into the store: obj is the object in the server's
// answer. When it returns, all reads have obj: the store, listers, indexes and snapshots. Handlers
// get an event with [Event.Own]. RecordWrite does not wait for them. When the watch brings the same
// state later, there is no event. If the watch has already brought that state or a newer one, or if
// a newer one was recorded, nothing changes. obj is shared from now on, so pass a copy if you go on
// to change it.
//
// rv is the resourceVersion of the answer. It may be empty if T has metadata; a projection without
// metadata needs it. obj must belong to the informer's collection. If the watch gets past rv
// without an event of the object, the object is not in the informer's selection, or is gone. It
// then leaves the store as a deletion with FinalStateUnknown.
//
// If the watch does not get that far within two minutes, the informer reports a [*LostWriteError]
// to Options.OnError, once, and keeps the object until list or watch bring more. The write belongs
// to a history that the server has lost, as after an unnoticed restore from a backup, if list and
// watch bring an older state of the object, or a list without it, and then go on for two more
// minutes without the write. That state then enters the store, or the object leaves it: handlers
// get an update to an older version, or a deletion. So reads may return an older state for a while
// if the watch is more than about four minutes behind, but not while it brings nothing at all. When
// the informer notices a restore, it reports the writes that the server has lost.
//
// Nothing changes if the source's selection changes (shard.Part) and does not have obj now,
// or if the informer is for a set of namespaces without obj's namespace.
//
// Errors: the errors of the key function; store.ErrResourceVersion, with the resource and the key,
// if rv is missing or cannot be compared with others; [ErrStopped] while the informer does not run;
// an error that says so if the watch is 10,000 objects behind and none of these writes counts as lost
// (otherwise the store takes back the write that was lost first); [ErrHandlerBehind] if a handler
// is further behind than the informer ever lets it be. After an error, reads return what they did
// before. It costs as much as a commit of one operation (store.Store.Commit).
//
//go:noinline
func (i *Informer[K, T]) RecordWrite(obj T, rv string) error { return i.typed.RecordWrite(obj, rv) }

//go:noinline
func (i *core[K, T]) RecordWrite(obj T, rv string) error {
	key, err := i.keyOf(obj)
	if err != nil {
		return err
	}
	if rv == "" {
		rv = objmeta.VersionOf(obj)
	}
	return wrote(i, key, &ownWrite[T]{obj: obj, rv: rv, uid: objmeta.UIDOf(obj)})
}

// RecordGone takes the object with uid from under key: this process deleted it, removed the last
// finalizer that its deletion waited for, or learned from the server that it is gone. When it
// returns, no read has the object, and no state of it comes back. Handlers get a deletion with
// [Event.Own] and FinalStateUnknown. Another object under key stays, and comes as usual. rv is any
// resourceVersion at which the object was seen.
//
// If list or watch show the object, and go on for about four minutes without its end, the server
// still has it: the deletion belongs to a history that the server has lost, as after an unnoticed
// restore from a backup. The object then comes back.
//
// Without a uid, rv must be the version of the deletion or a later one. Otherwise see
// [Informer.RecordWrite]. An object that still waits for finalizers is not gone: record the answer,
// which has it, as a write.
//
//go:noinline
func (i *Informer[K, T]) RecordGone(key K, uid types.UID, rv string) error {
	return i.typed.RecordGone(key, uid, rv)
}

//go:noinline
func (i *core[K, T]) RecordGone(key K, uid types.UID, rv string) error {
	if err := usercode.CheckKey(key); err != nil {
		return err
	}
	return wrote(i, key, &ownWrite[T]{rv: rv, uid: uid, gone: true})
}

// LostWrites returns a number that grows with each recorded write that list and watch did not reach
// in two minutes, and again every two minutes until they do or the write is undone. When it has
// grown, look for the keys with [Informer.LostKeys]. Stats.LostWrites counts each write once. Cost:
// one atomic load.
func (i *Informer[K, T]) LostWrites() uint64 { return i.engine.LostWrites() }

func (i *base) LostWrites() uint64 { return i.lost.times.Load() }

// LostKeys returns the keys of the writes that were lost since an earlier call of LostWrites or
// LostKeys. since is the number that the earlier call returned, and now is the present one. A key
// may be there twice. complete is false if some keys are no longer known: the informer knows the
// last 5,000 or more.
func (i *Informer[K, T]) LostKeys(since uint64) (keys []K, now uint64, complete bool) {
	return i.typed.LostKeys(since)
}

func (i *core[K, T]) LostKeys(since uint64) (keys []K, now uint64, complete bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	last := i.losses
	now = i.lost.times.Load()
	since = min(since, now)
	first := max(since, now-uint64(len(last)))
	return slices.Clone(last[len(last)-int(now-first):]), now, first == since
}

// PendingWrite returns the resourceVersion of the recorded write under key ([Informer.RecordWrite])
// that the watch has not reached yet, and whether there is one. Stats.Writes is the number of all
// such writes. O(1), with the lock of the commits.
func (i *Informer[K, T]) PendingWrite(key K) (rv string, ok bool) { return i.typed.PendingWrite(key) }

func (i *core[K, T]) PendingWrite(key K) (rv string, ok bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	p := partOf(i, key)
	if p == nil {
		return "", false
	}
	version, ok := door.Waits(&p.own.door, key)
	if !ok {
		return "", false
	}
	return strconv.FormatUint(version, 10), true
}

// wrote commits an own write, unless the store is past it.
func wrote[K comparable, T any](i *core[K, T], key K, w *ownWrite[T]) error {
	if parseVersion(w.rv) == 0 {
		return aboutKey(i.name, key, fmt.Errorf("%w: %q", store.ErrResourceVersion, w.rv))
	}
	failed, err := commitOwn(i, key, w)
	for _, bad := range failed {
		badObject(&i.base, bad)
	}
	reportLoose(&i.base)
	return err
}

// commitOwn is wrote with the informer's mu. It returns what left to make room and could not be replaced.
func commitOwn[K comparable, T any](i *core[K, T], key K, w *ownWrite[T]) (failed []*reflector.ObjectError, err error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	defer eventlog.Publish(&i.log)
	switch {
	case i.phase != phaseRunning:
		return nil, ErrStopped
	case eventlog.Lagging(&i.log, awaitedLag*i.lag) != nil:
		return nil, about(i.name, ErrHandlerBehind)
	}
	p := partOf(i, key)
	if p == nil || !w.gone && p.keeps != nil && !p.keeps(w.obj) {
		return nil, nil // a list follows before it is in the selection
	}
	if door.Len(&p.own.door) >= i.ownLimit && !awaitsOwn(&p.own, key) {
		room := false
		if failed, room = makeRoomForOwn(p); !room {
			return failed, errTooManyWrites
		}
	}
	before := ownOf(&p.own, key)
	if enters(p, key, w) {
		op := store.Op[K, T]{Key: key, Object: w.obj, Delete: w.gone}
		if err := commitAhead(i, &op, w.rv, true); err != nil {
			undoOwn(&p.own, key, before)
			return failed, aboutKey(i.name, key, err)
		}
	}
	if version, waits := door.Waits(&p.own.door, key); waits && version != before.known.Version() {
		expect(p, &dueWrite[K]{key: key, version: version, until: time.Now().Add(ownFor)})
	}
	return failed, nil
}

// makeRoomForOwn takes back a write that was reported as lost, and reports whether there was one. A deletion whose
// object the watch has shown is none, because the object would come back. Called with mu held.
func makeRoomForOwn[K comparable, T any](p *part[K, T]) (failed []*reflector.ObjectError, made bool) {
	o := &p.own
	for n := range o.due {
		w := &o.due[n]
		left := door.HasLeft(&o.door, w.key)
		if !w.lost && !left || !ownWaits(o, w) || door.Ending(&o.door, w.key) {
			continue
		}
		if !left {
			lose(p, w)
		}
		failed = withdraw(p, w.key, nil)
		forgetOwn(o, w.key)
		return failed, true
	}
	return nil, false
}

// enters asks the door about an own write, and puts aside what it takes the place of. It reports whether
// the write changes the store. Called with mu held.
func enters[K comparable, T any](p *part[K, T], key K, w *ownWrite[T]) bool {
	i := p.inf
	waited := awaitsOwn(&p.own, key)
	has, is := held(i, key), door.State{UID: string(w.uid), Version: parseVersion(w.rv)}
	if w.gone && !has.Any && !waited && is.Version <= reached(p) {
		return false // list and watch have brought the deletion already, and will not bring it again
	}
	verdict := door.Stays
	obj, _ := i.store.Get(key)
	p.own.change(func(d *door.Door[K]) {
		door.Bookmark(d, reached(p))
		if w.gone {
			verdict = door.Removed(d, key, has, is)
		} else {
			verdict = door.Wrote(d, key, has, is)
		}
		if _, waits := door.Waits(d, key); waits && !waited {
			keep(&p.own, key, has.Any, aside[T]{obj: obj, rv: strconv.FormatUint(has.Version, 10), sum: has.Sum})
		}
	})
	return verdict != door.Stays
}
