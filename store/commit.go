package store

import (
	"iter"

	"github.com/kinform/kinform/internal/keytable"
	"github.com/kinform/kinform/internal/nocmp"
	"github.com/kinform/kinform/internal/slots"
)

// Op is one change within a [Store.Commit]: it stores Object under Key or, with Delete, removes
// the object stored under Key.
type Op[K comparable, T any] struct {
	_ nocmp.Type

	// Key must be the key of Object. A deletion ignores Object.
	Key    K
	Object T
	Delete bool

	// Keep tells the store to keep the object that it has under Key, if any, as if
	// Options.Unchanged had returned true. It is for callers that know from elsewhere that
	// Object is unchanged.
	Keep bool

	// Sum is stored beside Object, for [Reader.GetSum]. If the store keeps the object that it has, a
	// Sum other than zero replaces the earlier one.
	Sum uint64

	// Packed is what Object is packed into, if that is known: Delta.Packed. It is for a store with Options.Packed.
	Packed string

	// Commit sets the fields below.

	// Old is the object stored under Key before this operation, if Had is true. If the commit
	// has several operations on the key, it is the object after the previous one.
	Old T
	Had bool
	// Unchanged says that Keep was set or Options.Unchanged returned true: Old is still
	// stored, Object is not.
	Unchanged bool
	// Err says why the operation was left out: a *KeyError or an *informer.PanicError.
	Err error
	// Kept says why the object was stored as it is, though Options.Packed is set: it cannot be encoded.
	Kept error

	bytes string // what Object is packed into; "" to store it as it is
}

// Commit makes the changes of ops, in their order, and moves the store's resourceVersion
// to rv, in one step: a reader sees all changes or none. An operation that cannot be
// done is left out entirely and its Err says why; the rest is committed. If Commit itself
// returns an error, nothing was committed.
//
// The resourceVersion only moves forward: an older or empty rv leaves it as it is. An rv that
// cannot be compared (package k8s.io/apimachinery/pkg/util/resourceversion) counts as newer,
// because servers other than Kubernetes' may use such versions.
//
// Key functions, index functions and Options.Unchanged run before the lock is taken. A
// large commit is made on a copy and swapped in, so that readers do not wait for it.
//
// Cost: amortized no allocation in a commit of up to 1,024 operations.
// Errors: ErrClosed.
func (s *Store[K, T]) Commit(rv string, ops []Op[K, T]) error {
	s.writeMu.Lock()
	defer s.writeMu.Unlock()
	if s.closed {
		return ErrClosed
	}
	commitPlan(s, rv, ops)
	return nil
}

// CommitChunks is [Store.Commit] for operations that are too many to be in memory together:
// chunks yields them in slices. When yield returns, the results of that slice are set and the
// caller may reuse its memory. Readers see no change before all are done. n is the expected
// number of operations; zero means unknown.
//
// chunks runs under the lock of the writers, so it must not write to the store. It may read the
// store, which still has its old content. If chunks panics, nothing is committed.
//
// Cost: that of a large commit, whatever the number of operations: a copy of the store's
// structures, unless nothing changes.
// Errors: ErrClosed; chunks is not called then.
func (s *Store[K, T]) CommitChunks(rv string, n int, chunks iter.Seq[[]Op[K, T]]) error {
	s.writeMu.Lock()
	defer s.writeMu.Unlock()
	if s.closed {
		return ErrClosed
	}
	commitChunks(s, rv, n, chunks)
	s.rewound = false // not if chunks panicked
	return nil
}

// commitPlan is Commit with the lock held.
func commitPlan[K comparable, T any](s *Store[K, T], rv string, ops []Op[K, T]) {
	defer func() { s.rewound = false }()
	if len(ops) > slots.AsideAfter(s.slots) {
		commitAside(s, rv, ops)
		return
	}
	defer reset(&s.plan, s.slots)
	prepare(s, s.slots.Own(), ops)
	apply(s, rv, ops)
}

// Rewind tells the store that the server has gone back in time, for example because it was
// restored from a backup. The next Commit, CommitChunks or Replace takes its rv even if that is
// older. ResourceVersions from before and after do not compare, so that Options.Unchanged and
// Op.Keep must not go by them alone then. That commit ends with [ErrRewound] each wait for a
// resourceVersion that it does not reach. A wait that succeeded before may have been for a
// change that the server has lost.
func (s *Store[K, T]) Rewind() {
	s.writeMu.Lock()
	defer s.writeMu.Unlock()
	s.rewound = true
}

// apply makes the planned changes visible, at rv.
func apply[K comparable, T any](s *Store[K, T], rv string, ops []Op[K, T]) {
	if s.plan.changes == 0 {
		move(s, rv)
	} else {
		st := slots.Begin(s.slots)
		changeSlot(s, st, ops)
		endCommit(s, st, rv)
	}
	if !s.waits.all.idle() {
		for i := range s.plan.targets {
			if t := &s.plan.targets[i]; t.last >= 0 {
				wakeKey(&s.waits, ops[t.last].Key)
			}
		}
		wakeVersions(s)
	}
	verifyCommit(s)
}

// changeSlot makes the planned changes of ops to st.
func changeSlot[K comparable, T any](s *Store[K, T], st *slots.State[T], ops []Op[K, T]) {
	for _, r := range s.plan.resums {
		slots.SetSum(st, r.slot, r.sum)
	}
	for i := range s.plan.targets {
		t := &s.plan.targets[i]
		if t.last < 0 {
			continue
		}
		switch op := &ops[t.last]; {
		case !op.Delete && t.stored:
			keytable.Adopt(keysOf[K](st), t.slot, op.Key)
			slots.SetSum(st, t.slot, op.Sum)
			if t.moves {
				slots.Update(st, t.slot, op.Object, op.bytes, int(t.staged))
			} else {
				slots.Replace(st, t.slot, op.Object, op.bytes)
			}
		case !op.Delete:
			insert(s, st, t.hash, op, int(t.staged))
		case t.stored:
			slots.Remove(st, t.slot)
		}
	}
}

// insert stores the object of op, whose key is new, with value set staged of every index.
func insert[K comparable, T any](s *Store[K, T], st *slots.State[T], hash uint32, op *Op[K, T], staged int) {
	slot := slots.Insert(st, op.Object, op.bytes, staged)
	keytable.Insert(keysOf[K](st), hash, op.Key, slot)
	slots.SetSum(st, slot, op.Sum)
}

// endCommit makes the changes to st visible, at rv. It calls no user function.
func endCommit[K comparable, T any](s *Store[K, T], st *slots.State[T], rv string) {
	moved := moves(s.rv, rv, s.rewound)
	slots.End(s.slots, st, func() {
		if moved {
			s.rv = rv
		}
	})
}

// move is end for a commit that changes no object.
func move[K comparable, T any](s *Store[K, T], rv string) {
	if moves(s.rv, rv, s.rewound) {
		slots.Note(s.slots, func() { s.rv = rv })
	}
}

// wakeVersions wakes the waits for versions that the last commit has ended.
func wakeVersions[K comparable, T any](s *Store[K, T]) {
	if s.rewound {
		s.waits.all.rewound()
	} else {
		s.waits.all.wakeVersions(s.rv)
	}
}

func verifyCommit[K comparable, T any](s *Store[K, T]) {
	if s.verify != nil {
		s.verify(check(s))
	}
}
