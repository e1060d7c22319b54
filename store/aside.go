package store

import (
	"iter"

	"github.com/kinform/kinform/internal/slots"
)

// aside makes the changes of a large commit one after the other on a clone, where nobody
// sees them and user functions may run in between.
type aside[K comparable, T any] struct {
	s  *Store[K, T]
	st *slots.State[T] // the clone; the present State until the first change
	n  int             // number of objects that there may be afterwards; 0 if nobody knows
}

// change returns the State to change.
func (a *aside[K, T]) change() *slots.State[T] {
	if a.st == a.s.slots.Own() {
		a.st = a.s.slots.Clone()
		if more := a.n - a.st.Len(); more > 0 {
			a.st.Reserve(more)
		}
	}
	return a.st
}

// unstage forgets the values of objects that have been put.
func (a *aside[K, T]) unstage() {
	for _, x := range a.st.Indexes() {
		x.Unstage(0)
	}
}

// publish makes the changes visible, at rv.
func (a *aside[K, T]) publish(rv string) {
	s := a.s
	if a.st != s.slots.Own() {
		s.end(a.st, rv)
	} else if s.rvMoves(rv) {
		s.end(s.slots.Begin(), rv)
	}
	if !s.waits.idle() {
		s.waits.wakeAllKeys()
		s.waits.wakeVersions(s.rv)
	}
	s.verifyCommit()
}

// commitAside is Commit for many operations. It makes no sequence of them: ops would be on
// the heap then, those of a small commit too.
func (s *Store[K, T]) commitAside(rv string, ops []Op[K, T]) {
	defer s.plan.reset(s.slots)
	a := aside[K, T]{s: s, st: s.slots.Own(), n: len(ops)}
	a.doAll(ops)
	a.publish(rv)
}

// commitChunks is CommitChunks with the lock held.
func (s *Store[K, T]) commitChunks(rv string, n int, chunks iter.Seq[[]Op[K, T]]) {
	defer s.plan.reset(s.slots)
	a := aside[K, T]{s: s, st: s.slots.Own(), n: n}
	for ops := range chunks {
		a.doAll(ops)
	}
	a.publish(rv)
}

func (a *aside[K, T]) doAll(ops []Op[K, T]) {
	for i := 0; i < len(ops); {
		i = a.doFrom(ops, i)
	}
}

// doFrom does ops[i:] up to the first panic of a user's function, and returns where to
// go on.
func (a *aside[K, T]) doFrom(ops []Op[K, T], i int) (next int) {
	p := &a.s.plan
	defer func() {
		if r := recover(); r != nil {
			ops[p.at].fail(a.s.panicError(r, ops[p.at].Key))
			next = p.at + 1
		}
	}()
	p.doing = keyFunction
	for ; i < len(ops); i++ {
		if p.at = i; i%blockLen == 0 {
			a.s.warm(a.st, ops[i:])
		}
		a.do(&ops[i])
	}
	return i
}

func (a *aside[K, T]) do(op *Op[K, T]) {
	op.fail(nil)
	if err := a.s.checkKey(op); err != nil {
		op.Err = err
		return
	}
	hash := a.s.hash(op.Key)
	slot, stored := a.s.find(a.st, hash, op.Key, op.Delete)
	if stored {
		op.Old, op.Had = a.st.At(slot), true
	}
	switch {
	case op.Delete && stored:
		a.change().Remove(slot)
	case op.Delete:
	case stored && a.s.isUnchanged(op.Old, op.Object):
		op.Unchanged = true
	default:
		a.put(op, hash, slot, stored)
	}
}

// put stores the object of op. A panic of an index function passes through and leaves the
// state as it was.
func (a *aside[K, T]) put(op *Op[K, T], hash, slot uint32, stored bool) {
	a.unstage()
	a.s.plan.staged = 0
	a.s.stage(op.Object)
	st := a.change()
	a.s.prepareStaged(st, 0, slot, stored)
	if stored {
		a.s.update(st, slot, op.Key, op.Object, 0)
	} else {
		a.s.insert(st, hash, op.Key, op.Object, 0)
	}
}
