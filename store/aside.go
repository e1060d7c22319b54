package store

import (
	"iter"

	"github.com/kinform/kinform/internal/slots"
)

// aside makes the changes of a large commit on a clone of the State, one block after the other.
// Readers do not see the clone, and user functions may run between the blocks.
type aside[K comparable, T any] struct {
	s  *Store[K, T]
	st *slots.State[T] // the clone; the present State until the first change
	n  int             // expected number of objects afterwards; 0 if unknown
}

// changeAside returns the State to change, and clones it first if necessary.
func changeAside[K comparable, T any](a *aside[K, T]) *slots.State[T] {
	if a.st == a.s.slots.Own() {
		a.st = slots.Clone(a.s.slots)
		if more := a.n - a.st.Len(); more > 0 {
			slots.Reserve(a.st, more)
		}
	}
	return a.st
}

// publish makes the changes visible, at rv.
func publish[K comparable, T any](a *aside[K, T], rv string) {
	s := a.s
	if a.st != s.slots.Own() {
		endCommit(s, a.st, rv)
	} else {
		move(s, rv)
	}
	if !s.waits.all.idle() {
		wakeAllKeys(&s.waits)
		wakeVersions(s)
	}
	verifyCommit(s)
}

// commitAside is Commit for many operations. It does not share code with commitChunks, because
// an iterator over ops would move the ops of small commits to the heap too.
func commitAside[K comparable, T any](s *Store[K, T], rv string, ops []Op[K, T]) {
	defer reset(&s.plan, s.slots)
	a := aside[K, T]{s: s, st: s.slots.Own(), n: len(ops)}
	doAll(&a, ops)
	publish(&a, rv)
}

// commitChunks is CommitChunks with the lock held.
func commitChunks[K comparable, T any](s *Store[K, T], rv string, n int, chunks iter.Seq[[]Op[K, T]]) {
	defer reset(&s.plan, s.slots)
	a := aside[K, T]{s: s, st: s.slots.Own(), n: n}
	for ops := range chunks {
		doAll(&a, ops)
	}
	publish(&a, rv)
}

// doAll makes the changes of ops, one block at a time, because each block must see the changes
// of the blocks before it.
func doAll[K comparable, T any](a *aside[K, T], ops []Op[K, T]) {
	s := a.s
	for len(ops) > 0 {
		n := min(len(ops), blockLen)
		clearPlan(&s.plan, a.st)
		prepare(s, a.st, ops[:n])
		if s.plan.changes > 0 {
			changeSlot(s, changeAside(a), ops[:n])
		}
		ops = ops[n:]
	}
}
