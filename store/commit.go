package store

import (
	"iter"

	"github.com/kinform/kinform/internal/slots"
)

// Op is one change within a [Store.Commit]: it stores Object under Key, or with Delete
// takes away what is stored there.
type Op[K comparable, T any] struct {
	// Key must be the key of Object. In a deletion Object is not looked at.
	Key    K
	Object T
	Delete bool

	// Keep has the store keep what it has under Key, if anything, as it does where
	// Options.Unchanged holds: for a caller that knows more of Object than Object says.
	Keep bool

	// Commit fills in the rest.

	// Old is what was stored under Key before this operation (not before the commit,
	// where it has several for the key), if Had is true.
	Old T
	Had bool
	// Unchanged says that Keep was set or Options.Unchanged held: Old is still stored, Object is not.
	Unchanged bool
	// Err says why the operation was left out: a *KeyError or an *index.PanicError.
	Err error
}

// Commit makes the changes of ops, in their order, and moves the store's resourceVersion
// to rv, in one step: a reader sees all of it or nothing. An operation that cannot be
// done is left out whole and says so in its Err; the rest is committed. The error of
// Commit itself means that nothing was.
//
// The resourceVersion only moves forward: an older rv, or an empty one, leaves it as it
// is. One that cannot be compared (package k8s.io/apimachinery/pkg/util/resourceversion)
// is taken to be newer, since servers other than Kubernetes' may have such.
//
// Key functions, index functions and Options.Unchanged run before the lock is taken. A
// large commit is prepared aside and swapped in, so that it does not hold up readers.
//
// Cost: amortized no allocation in a commit of up to some thousand operations.
// Errors: ErrClosed.
func (s *Store[K, T]) Commit(rv string, ops []Op[K, T]) error {
	s.writeMu.Lock()
	defer s.writeMu.Unlock()
	if s.closed {
		return ErrClosed
	}
	s.commit(rv, ops)
	return nil
}

// CommitChunks is [Store.Commit] for so many operations that they should not be in memory
// all at a time: chunks yields some after the other. The results of a chunk are filled in
// when yield returns, and its memory is not used any more. Readers see nothing of it before
// all is done. n is the number of operations, as far as it is known.
//
// chunks runs under the lock that writers take, so that it must not write to the store; it
// may read what the store had before. If it panics, nothing is committed.
//
// Cost: always that of a large commit, which works on a copy of the store's structures.
// Errors: ErrClosed; chunks is not called then.
func (s *Store[K, T]) CommitChunks(rv string, n int, chunks iter.Seq[[]Op[K, T]]) error {
	s.writeMu.Lock()
	defer s.writeMu.Unlock()
	if s.closed {
		return ErrClosed
	}
	s.commitChunks(rv, n, chunks)
	s.rewound = false // not if chunks panicked
	return nil
}

// commit is Commit with the lock held.
func (s *Store[K, T]) commit(rv string, ops []Op[K, T]) {
	defer func() { s.rewound = false }()
	if len(ops) > s.slots.AsideAfter() {
		s.commitAside(rv, ops)
		return
	}
	defer s.plan.reset(s.slots)
	s.prepare(s.slots.Own(), ops)
	s.apply(rv, ops)
}

// Rewind says that the server has gone back in time, as one that is restored from a backup
// does: the next Commit or Replace takes its rv though it is older, and stores every
// object though Options.Unchanged may hold or Op.Keep be set, because resourceVersions of before and after
// do not compare. That commit ends waits for a resourceVersion that it does not come to with
// [ErrRewound]; one that ended before may have to be begun anew.
func (s *Store[K, T]) Rewind() {
	s.writeMu.Lock()
	defer s.writeMu.Unlock()
	s.rewound = true
}

// apply makes the planned changes visible, at rv.
func (s *Store[K, T]) apply(rv string, ops []Op[K, T]) {
	if s.plan.changes == 0 {
		s.move(rv)
	} else {
		st := s.slots.Begin()
		s.change(st, ops)
		s.end(st, rv)
	}
	if !s.waits.idle() {
		for i := range s.plan.targets {
			if t := &s.plan.targets[i]; t.last >= 0 {
				s.waits.wakeKey(ops[t.last].Key)
			}
		}
		s.wakeVersions()
	}
	s.verifyCommit()
}

// change makes the planned changes of ops to st.
func (s *Store[K, T]) change(st *slots.State[T], ops []Op[K, T]) {
	for i := range s.plan.targets {
		t := &s.plan.targets[i]
		if t.last < 0 {
			continue
		}
		switch op := &ops[t.last]; {
		case !op.Delete && t.stored:
			s.update(st, t.slot, op.Key, op.Object, int(t.staged))
		case !op.Delete:
			s.insert(st, t.hash, op.Key, op.Object, int(t.staged))
		case t.stored:
			st.Remove(t.slot)
		}
	}
}

// insert stores obj under key, with value set staged of every index.
func (s *Store[K, T]) insert(st *slots.State[T], hash uint32, key K, obj T, staged int) {
	keysOf[K](st).Insert(hash, key, st.Insert(obj, staged))
}

// update stores obj in place of the object in slot, which has the same key.
func (s *Store[K, T]) update(st *slots.State[T], slot uint32, key K, obj T, staged int) {
	keysOf[K](st).Adopt(slot, key)
	st.Update(slot, obj, staged)
}

// end ends the changes to st, at rv. No user function runs in it.
func (s *Store[K, T]) end(st *slots.State[T], rv string) {
	moves := s.rvMoves(rv)
	s.slots.End(st, func() {
		if moves {
			s.rv = rv
		}
	})
}

// move is end without changes.
func (s *Store[K, T]) move(rv string) {
	if s.rvMoves(rv) {
		s.slots.Note(func() { s.rv = rv })
	}
}

// wakeVersions wakes the waits that the commit just made has ended.
func (s *Store[K, T]) wakeVersions() {
	if s.rewound {
		s.waits.rewound()
	} else {
		s.waits.wakeVersions(s.rv)
	}
}

func (s *Store[K, T]) verifyCommit() {
	if s.verify != nil {
		s.verify(s.check())
	}
}
