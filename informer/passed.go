package informer

import (
	"github.com/kinform/kinform/deltafifo"
	"github.com/kinform/kinform/internal/door"
	"github.com/kinform/kinform/internal/eventlog"
	"github.com/kinform/kinform/internal/keytext"
	"github.com/kinform/kinform/reflector"
	"github.com/kinform/kinform/store"
)

// This file follows list and watch past the own writes: what they bring of such a key, or pass without bringing it.

// stays asks the door about a delta of a key whose own write is ahead. It reports whether the delta is
// older than that write. undated: its batch has a list without a version that compares. Called with mu held.
func stays[K comparable, T any](p *part[K, T], key K, d *deltafifo.Delta[T], undated bool) bool {
	if !awaitsOwn(&p.own, key) {
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
	is := door.State{UID: string(meta.UID(d.Object)), Version: parseVersion(rv)}
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
			keep(&p.own, key, verdict == door.Aside && d.Type != deltafifo.Deleted, aside[T]{obj: d.Object, rv: rv, sum: d.Sum})
		}
	})
	return verdict == door.Stays || verdict == door.Aside
}

// dropUnselected removes own writes whose objects have left the selection, without a report that they are lost.
// The door keeps older states of their keys out until list and watch pass those writes. Called with mu held.
func dropUnselected[K comparable, T any](p *part[K, T]) {
	o := &p.own
	var ops []store.Op[K, T]
	for n := range o.due {
		w := &o.due[n]
		if obj, ok := p.inf.store.Get(w.key); ok && !p.keeps(obj) && ownWaits(o, w) {
			o.change(func(d *door.Door[K]) { door.Leave(d, w.key) })
			ops = append(ops, store.Op[K, T]{Key: w.key, Delete: true})
		}
	}
	if len(ops) > 0 {
		_ = commitOps(p.inf, ops, "", false) // the store is open while the informer runs
	}
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
	forgetOwn(&p.own, append(left, stay...)...)
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
	_ = commitAhead(p.inf, &store.Op[K, T]{Key: key, Delete: true}, "", false) // the store is open while the informer runs
	return append(failed, badKey(key, err))
}

// held returns what the store has under a key. Called with mu held.
func held[K comparable, T any](i *core[K, T], key K) door.Held {
	obj, sum, ok := i.store.GetSum(key)
	if !ok {
		return door.Held{}
	}
	is := door.State{UID: string(i.versions.meta.UID(obj)), Version: parseVersion(i.versions.meta.Version(obj)), Sum: sum}
	if is.Version == 0 {
		is.Version = versionOf(&i.versions, key)
	}
	return door.Held{State: is, Any: true}
}

// commitAhead commits one operation that neither list nor watch brings, and appends its event to the
// log. Called with mu held; it never waits for handlers.
func commitAhead[K comparable, T any](i *core[K, T], op *store.Op[K, T], rv string, own bool) error {
	ops := []store.Op[K, T]{*op}
	if err := commitOps(i, ops, rv, own); err != nil {
		return err
	}
	return ops[0].Err
}

// commitOps is commitAhead for several operations.
func commitOps[K comparable, T any](i *core[K, T], ops []store.Op[K, T], rv string, own bool) error {
	cutLagging(i)
	if err := i.store.Commit("", ops); err != nil {
		return err
	}
	watchCommitted(i, ops)
	for n := range ops {
		op := &ops[n]
		noteCommitted(&i.versions, op, rv)
		i.loose.note(op.Key, op.Kept)
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
