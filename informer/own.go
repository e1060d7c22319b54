package informer

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/deltafifo"
	"github.com/kinform/kinform/internal/door"
	"github.com/kinform/kinform/internal/eventlog"
	"github.com/kinform/kinform/internal/keytext"
	"github.com/kinform/kinform/internal/objmeta"
	"github.com/kinform/kinform/internal/usercode"
	"github.com/kinform/kinform/reflector"
	"github.com/kinform/kinform/store"
)

const (
	// maxOwn is the limit of own writes that may be ahead of the watch.
	maxOwn = 10_000

	// ownFor is the time after which an own write that list and watch have not reached counts as lost.
	// The watch of an idle resource brings a bookmark every minute, so a longer delay means that
	// something is wrong.
	ownFor = 2 * time.Minute
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
// Nothing changes if the source's selection changes (reflector.Changing) and does not have obj now,
// or if the informer is for a set of namespaces without obj's namespace.
//
// Errors: the errors of the key function; store.ErrResourceVersion, with the resource and the key,
// if rv is missing or cannot be compared with others; [ErrStopped] while the informer does not run;
// [ErrTooManyWrites] if the watch is 10,000 objects behind and none of these writes counts as lost
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
	return wrote(i, key, ownWrite[T]{obj: obj, rv: rv, uid: objmeta.UIDOf(obj)})
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
	return wrote(i, key, ownWrite[T]{rv: rv, uid: uid, gone: true})
}

// LostWrites returns a number that grows with each recorded write that list and watch did not reach
// in two minutes, and again every two minutes until they do or the write is undone. When it has
// grown, look for the keys with [Informer.LostKeys]. Stats.LostWrites counts each write once. Cost:
// one atomic load.
func (i *Informer[K, T]) LostWrites() uint64 { return i.engine.LostWrites() }

func (i *core[K, T]) LostWrites() uint64 { return i.losses.times.Load() }

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
	last := i.losses.keys
	now = i.losses.times.Load()
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

// ownWrite is the answer to a write of this process.
type ownWrite[T any] struct {
	obj  T // zero if gone
	rv   string
	uid  types.UID
	gone bool // the object ended
}

// losses are the writes that were found to be lost, of all parts.
type losses[K comparable] struct {
	times atomic.Uint64 // number of times that a write was found to be lost
	once  atomic.Uint64 // number of lost writes
	keys  []K           // of the last times, the newest last; guarded by the informer's mu
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
	obj T
	rv  string
	sum uint64
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

// dueWrite is a write that is lost if it is still ahead at a time.
type dueWrite[K comparable] struct {
	key     K
	version uint64
	until   time.Time
	lost    bool   // it has been reported
	told    bool   // and list or watch have told of the key, see door.Told
	at      uint64 // how far they were when that was found
	gone    bool   // it ended the object; set when it is lost
	late    bool   // it was recorded after a list was compared with the store; set for the list of a restored server
}

// change changes the door. Called with the informer's mu held, so who has that may read the door.
func (o *own[K, T]) change(f func(*door.Door[K])) {
	o.mu.Lock()
	defer o.mu.Unlock()
	f(&o.door)
	o.count.Store(int64(door.Len(&o.door)))
}

// awaits reports whether a write of key is ahead. Safe from any goroutine.
func awaits[K comparable, T any](o *own[K, T], key K) bool {
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

// forget drops writes, and what was put aside for them.
func (o *own[K, T]) forget(keys ...K) {
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

// awaited returns the keys of all writes that are ahead, and the door's moment.
func (o *own[K, T]) awaited() (keys []K, moment uint64) {
	o.mu.RLock()
	defer o.mu.RUnlock()
	door.Each(&o.door, func(key K, _ uint64) { keys = append(keys, key) })
	return keys, uint64(door.Made(&o.door))
}

// ofKey is what own knows of a key.
type ofKey[T any] struct {
	known door.Known
	aside aside[T]
	has   bool // something was put aside
}

// ownOf returns what own knows of a key. Called with the informer's mu held.
func ownOf[K comparable, T any](o *own[K, T], key K) ofKey[T] {
	kept, has := o.aside[key]
	return ofKey[T]{known: door.Knows(&o.door, key), aside: kept, has: has}
}

// undoOwn goes back to what own knew of a key, because the store refused a write. Called with the informer's
// mu held.
func undoOwn[K comparable, T any](o *own[K, T], key K, before ofKey[T]) {
	o.change(func(d *door.Door[K]) {
		door.Undo(d, key, before.known)
		keep(o, key, before.has, before.aside)
	})
}

// ownWaits reports whether a write is still ahead. Called with the informer's mu held.
func ownWaits[K comparable, T any](o *own[K, T], w dueWrite[K]) bool {
	version, waits := door.Waits(&o.door, w.key)
	return waits && version == w.version
}

// wrote commits an own write, unless the store is past it.
func wrote[K comparable, T any](i *core[K, T], key K, w ownWrite[T]) error {
	if parse(w.rv) == 0 {
		return i.about(fmt.Errorf("%s: %w: %q", keytext.Of(key), store.ErrResourceVersion, w.rv))
	}
	failed, err := commitOwn(i, key, w)
	for _, bad := range failed {
		i.badObject(bad)
	}
	return err
}

// commitOwn is wrote with the informer's mu. It returns what left to make room and could not be replaced.
func commitOwn[K comparable, T any](i *core[K, T], key K, w ownWrite[T]) (failed []*reflector.ObjectError, err error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	defer eventlog.Publish(&i.log)
	switch {
	case i.phase != running:
		return nil, ErrStopped
	case eventlog.Lagging(&i.log, awaitedLag*i.lag) != nil:
		return nil, i.about(ErrHandlerBehind)
	}
	p := partOf(i, key)
	if p == nil || !w.gone && p.keeps != nil && !p.keeps(w.obj) {
		return nil, nil // a list follows before it is in the selection
	}
	if door.Len(&p.own.door) >= i.ownLimit && !awaits(&p.own, key) {
		room := false
		if failed, room = makeRoomForOwn(p); !room {
			return failed, ErrTooManyWrites
		}
	}
	before := ownOf(&p.own, key)
	if enters(p, key, w) {
		op := store.Op[K, T]{Key: key, Object: w.obj, Delete: w.gone}
		if err := commitAhead(i, &op, w.rv, true); err != nil {
			undoOwn(&p.own, key, before)
			return failed, i.about(fmt.Errorf("%s: %w", keytext.Of(key), err))
		}
	}
	if version, waits := door.Waits(&p.own.door, key); waits && version != before.known.Version() {
		expect(p, dueWrite[K]{key: key, version: version, until: time.Now().Add(ownFor)})
	}
	return failed, nil
}

// makeRoomForOwn takes back a write that was reported as lost, and reports whether there was one. A deletion whose
// object the watch has shown is none, because the object would come back. Called with mu held.
func makeRoomForOwn[K comparable, T any](p *part[K, T]) (failed []*reflector.ObjectError, made bool) {
	o := &p.own
	n := slices.IndexFunc(o.due, func(w dueWrite[K]) bool {
		return (w.lost || door.HasLeft(&o.door, w.key)) && ownWaits(o, w) && !door.Ending(&o.door, w.key)
	})
	if n < 0 {
		return nil, false
	}
	due := o.due[n]
	if !door.HasLeft(&o.door, due.key) {
		lose(p, due)
	}
	failed = withdraw(p, due.key, nil)
	o.forget(due.key)
	return failed, true
}

// enters asks the door about an own write, and puts aside what it takes the place of. It reports whether
// the write changes the store. Called with mu held.
func enters[K comparable, T any](p *part[K, T], key K, w ownWrite[T]) bool {
	i := p.inf
	waited := awaits(&p.own, key)
	has, is := held(i, key), door.State{UID: string(w.uid), Version: parse(w.rv)}
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
			keep(&p.own, key, has.Any, aside[T]{obj, strconv.FormatUint(has.Version, 10), has.Sum})
		}
	})
	return verdict != door.Stays
}

// held returns what the store has under a key. Called with mu held.
func held[K comparable, T any](i *core[K, T], key K) door.Held {
	obj, sum, ok := i.store.GetSum(key)
	if !ok {
		return door.Held{}
	}
	is := door.State{UID: string(i.versions.meta.UID(obj)), Version: parse(i.versions.meta.Version(obj)), Sum: sum}
	if is.Version == 0 {
		is.Version = versionOf(&i.versions, key)
	}
	return door.Held{State: is, Any: true}
}

// commitAhead commits one operation that neither list nor watch brings, and appends its event to the
// log. Called with mu held; it never waits for handlers.
func commitAhead[K comparable, T any](i *core[K, T], op *store.Op[K, T], rv string, own bool) error {
	ops := []store.Op[K, T]{*op}
	err := commitOps(i, ops, rv, own)
	if *op = ops[0]; err != nil {
		return err
	}
	return op.Err
}

// commitOps is commitAhead for several operations.
func commitOps[K comparable, T any](i *core[K, T], ops []store.Op[K, T], rv string, own bool) error {
	cutLagging(i)
	if err := i.store.Commit("", ops); err != nil {
		return err
	}
	i.detector.committed(ops)
	for n := range ops {
		op := &ops[n]
		i.versions.committed(op, rv)
		ev := Event[K, T]{Key: op.Key, Object: op.Object, Old: op.Old, Own: own}
		switch {
		case op.Err != nil, op.Unchanged, op.Delete && !op.Had:
			continue
		case op.Delete:
			ev.Type, ev.Object, ev.FinalStateUnknown = Deleted, op.Old, true
		case op.Had:
			ev.Type, ev.Replaced = Updated, i.versions.meta.Differ(op.Old, op.Object)
		default:
			ev.Type = Added
		}
		traceEvent(i, &ev, rv)
		eventlog.Append(&i.log, ev)
	}
	return nil
}

// stays asks the door about a delta of a key whose own write is ahead. It reports whether the delta is
// older than that write. undated: its batch has a list without a version that compares. Called with mu held.
func stays[K comparable, T any](p *part[K, T], key K, d *deltafifo.Delta[T], undated bool) bool {
	if !awaits(&p.own, key) {
		return false
	}
	if p.keeps != nil && d.Type != deltafifo.Deleted && !p.keeps(d.Object) {
		return true // the selection has left it since it was put into the queue
	}
	meta := p.inf.versions.meta
	missing := d.Type == deltafifo.Deleted && d.FinalStateUnknown
	rv := d.ResourceVersion
	if rv == "" && !missing {
		rv = meta.Version(d.Object)
	}
	is := door.State{UID: string(meta.UID(d.Object)), Version: parse(rv)}
	verdict := door.Enters // then the store compares the contents
	has := door.Held{Any: true}
	p.own.change(func(at *door.Door[K]) {
		switch {
		case missing && undated, !missing && is.Version == 0:
			door.Drop(at, key)
		case missing:
			verdict = door.Listed(at, key, has, door.Held{})
		case d.Type == deltafifo.Replaced:
			verdict = door.Listed(at, key, has, door.Held{State: is, Any: true})
		default:
			verdict = door.Event(at, key, has, is, d.Type == deltafifo.Deleted)
		}
		if _, waits := door.Waits(at, key); verdict != door.Stays || !waits {
			keep(&p.own, key, verdict == door.Aside && d.Type != deltafifo.Deleted, aside[T]{d.Object, rv, d.Sum})
		}
	})
	return verdict == door.Stays || verdict == door.Aside
}

// dropUnselected removes own writes whose objects have left the selection, without a report that they are lost.
// The door keeps older states of their keys out until list and watch pass those writes. Called with mu held.
func dropUnselected[K comparable, T any](p *part[K, T]) {
	o := &p.own
	var ops []store.Op[K, T]
	for _, w := range o.due {
		if obj, ok := p.inf.store.Get(w.key); ok && !p.keeps(obj) && ownWaits(o, w) {
			o.change(func(d *door.Door[K]) { door.Leave(d, w.key) })
			ops = append(ops, store.Op[K, T]{Key: w.key, Delete: true})
		}
	}
	if len(ops) > 0 {
		_ = commitOps(p.inf, ops, "", false) // the store is open while the informer runs
	}
}

// dropPassed takes the own writes out of the store that list and watch have passed without a state of the
// object: it is not in the selection, or has ended. So handlers hear of an object that somebody deleted
// before the next list, though no delta comes of it. It returns what was put aside and cannot be stored.
// Called with mu held.
func dropPassed[K comparable, T any](p *part[K, T]) (failed []*reflector.ObjectError) {
	if p.own.count.Load() == 0 {
		return nil
	}
	var left, stay []K
	p.own.change(func(d *door.Door[K]) {
		door.Bookmark(d, reached(p))
		left, stay = door.Passed(d)
	})
	for _, key := range left {
		failed = withdraw(p, key, failed)
	}
	p.own.forget(append(left, stay...)...)
	return failed
}

// withdraw removes the object of an own write, and lets the state enter that was put aside. The object stays if
// list or watch have brought a state of it that cannot be used. What was put aside stays out if the selection has
// left it since: no newer one would follow. If the store refuses it, the key becomes empty and withdraw adds the
// error to failed. The caller calls own.forget. Called with mu held.
func withdraw[K comparable, T any](p *part[K, T], key K, failed []*reflector.ObjectError) []*reflector.ObjectError {
	if !door.Leaves(&p.own.door, key) {
		return failed
	}
	kept, has := p.own.aside[key]
	if has && p.keeps != nil && !p.keeps(kept.obj) {
		kept, has = aside[T]{}, false
	}
	op := store.Op[K, T]{Key: key, Delete: !has, Object: kept.obj, Sum: kept.sum}
	err := commitAhead(p.inf, &op, kept.rv, false)
	if err == nil {
		return failed
	}
	op = store.Op[K, T]{Key: key, Delete: true}
	_ = commitAhead(p.inf, &op, "", false) // the store is open while the informer runs
	return append(failed, &reflector.ObjectError{Key: keytext.Of(key), Err: err})
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
		for _, w := range o.due {
			if ownWaits(o, w) && !door.HasLeft(d, w.key) {
				w.gone, w.late = door.Ends(d, w.key), door.Since(d, w.key, door.Moment(moment))
				ahead = append(ahead, w)
			}
		}
		door.Rewound(d)
		clear(o.aside)
	})
	return ahead
}

// lostOf returns those of the writes that the list of a restored server does not have. What was recorded
// after that list was compared with the store leaves the store. Called with mu held.
func lostOf[K comparable, T any](p *part[K, T], ahead []dueWrite[K]) (lost []*LostWriteError) {
	for _, w := range ahead {
		has := held(p.inf, w.key)
		stored := has.Any && has.Version == w.version
		switch {
		case stored && w.late:
			op := store.Op[K, T]{Key: w.key, Delete: true}
			_ = commitAhead(p.inf, &op, "", false) // the store is open while the informer runs
		case stored, w.gone && !has.Any:
			continue
		}
		lost = append(lost, lose(p, w))
	}
	sortLost(lost)
	return lost
}

// expect sets a timer for a write. Called with mu held.
func expect[K comparable, T any](p *part[K, T], w dueWrite[K]) {
	o := &p.own
	if len(o.due) >= 2*door.Len(&o.door) { // as long as most of them are ahead, they come off in takeDue
		ahead := o.due[:0]
		for _, w := range o.due {
			if ownWaits(o, w) {
				ahead = append(ahead, w)
			}
		}
		clear(o.due[len(ahead):])
		o.due = ahead
	}
	o.due = append(o.due, w)
	if o.timer == nil {
		o.timer = time.AfterFunc(ownFor, func() { expireOwn(p) })
	}
}

// expireOwn reports the writes that are due.
func expireOwn[K comparable, T any](p *part[K, T]) {
	i := p.inf
	i.mu.Lock()
	if i.phase != running {
		i.mu.Unlock()
		return
	}
	s := i.session.Load()
	s.Add(1) // Run waits for the report
	lost, failed := takeDue(p, time.Now())
	eventlog.Publish(&i.log)
	i.mu.Unlock()
	defer s.Done()
	reportLost(i, lost)
	for _, bad := range failed {
		i.badObject(bad)
	}
}

// takeDue returns the writes that are due and still ahead. They are due again after some time. If list and
// watch have told of a lost one, and have gone on without it, it was of a history that the server has lost:
// it is undone. Called with mu held.
func takeDue[K comparable, T any](p *part[K, T], now time.Time) (lost []*LostWriteError, failed []*reflector.ObjectError) {
	o, at := &p.own, reached(p)
	var undone []K
	for len(o.due) > 0 && !o.due[0].until.After(now) {
		due := o.due[0]
		o.due = o.due[1:]
		if !ownWaits(o, due) {
			continue
		}
		due.gone = door.Ends(&o.door, due.key)
		if door.HasLeft(&o.door, due.key) {
			due.lost = true // nobody misses it
		} else if report := lose(p, due); !due.lost {
			lost = append(lost, report)
		}
		if due.told && at > due.at {
			undone = append(undone, due.key)
			continue
		}
		if due.lost = true; !due.told {
			due.told, due.at = door.Told(&o.door, due.key, at), at
		}
		due.until = now.Add(ownFor)
		o.due = append(o.due, due)
	}
	for _, key := range undone {
		failed = withdraw(p, key, failed)
	}
	o.forget(undone...)
	o.timer = nil
	if len(o.due) > 0 {
		o.timer = time.AfterFunc(o.due[0].until.Sub(now), func() { expireOwn(p) })
	} else {
		o.due = nil
	}
	sortLost(lost)
	return lost, failed
}

// lose notes that a write is lost, or still is. Called with mu held.
func lose[K comparable, T any](p *part[K, T], w dueWrite[K]) *LostWriteError {
	all := &p.inf.losses
	if len(all.keys) == maxOwn {
		all.keys = slices.Clone(all.keys[maxOwn/2:])
	}
	all.keys = append(all.keys, w.key)
	if all.times.Add(1); !w.lost {
		all.once.Add(1)
	}
	return &LostWriteError{Key: keytext.Of(w.key), ResourceVersion: strconv.FormatUint(w.version, 10), Deleted: w.gone}
}

func sortLost(lost []*LostWriteError) {
	slices.SortFunc(lost, func(a, b *LostWriteError) int { return cmp.Compare(a.Key, b.Key) })
}

func reportLost[K comparable, T any](i *core[K, T], all []*LostWriteError) {
	for _, lost := range all {
		lost.Resource = i.Resource()
		i.report(lost)
	}
}

// resume waits for the writes that were ahead at the end of the run before. Called with mu held.
func resume[K comparable, T any](p *part[K, T]) {
	until := time.Now().Add(ownFor)
	door.Each(&p.own.door, func(key K, version uint64) {
		expect(p, dueWrite[K]{key: key, version: version, until: until})
	})
}

// unusable follows an object of list or watch that cannot be used: the watch may pass a write of it
// without bringing its state.
func unusable[K comparable, T any](p *part[K, T], bad *reflector.ObjectError) {
	if p.own.count.Load() == 0 {
		return
	}
	p.inf.mu.Lock()
	defer p.inf.mu.Unlock()
	var all []K
	door.Each(&p.own.door, func(key K, _ uint64) {
		if bad.Key == "" || bad.Key == keytext.Of(key) {
			all = append(all, key)
		}
	})
	p.own.change(func(d *door.Door[K]) {
		for _, key := range all {
			door.Unusable(d, key)
		}
	})
}

// rest ends the wait for own writes at the end of Run. The door still knows them: the first list of
// the next Run takes none of them back. Called with mu held.
func rest[K comparable, T any](p *part[K, T]) {
	o := &p.own
	if o.timer != nil {
		o.timer.Stop()
	}
	o.due, o.timer = nil, nil
}
