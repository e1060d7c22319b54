package store

import (
	"fmt"
	"runtime/debug"
	"slices"

	"github.com/kinform/kinform/index"
	"github.com/kinform/kinform/internal/keytable"
	"github.com/kinform/kinform/internal/slots"
)

// plan is what a small commit is going to do, found out before the lock is taken. Only
// the last operation on a key changes the state; the others only have an Old.
type plan[K comparable, T any] struct {
	targets []target       // one per distinct key
	byKey   keytable.Table // key's hash -> number in targets, in commits of more than fewOps
	changes int            // targets that change something
	staged  int            // value sets in every index
	warmed  uint32         // keeps what find reads ahead from being optimized away

	// Where the writer is, in case a user's function panics.
	at    int
	doing string // the function that runs; empty for an index function
	index string // the index whose function runs
}

// target is one key within a commit.
type target struct {
	hash   uint32
	slot   uint32
	stored bool  // slot holds an object of this key
	first  int32 // an operation with the key
	last   int32 // the last operation that was not left out; -1 for none
	staged int   // its value set in the indexes
}

// keepTargets is how many targets an idle store of n objects keeps room for.
func keepTargets(n int) int { return min(1024, 64+n) }

// reset forgets the plan, and the values that the indexes were given for it.
func (p *plan[K, T]) reset(body *slots.Slots[T]) {
	for _, x := range body.Own().Indexes() {
		x.Unstage(0)
	}
	keep := keepTargets(body.Own().Len())
	targets := p.targets[:0]
	if cap(targets) > 2*keep {
		targets = nil
	}
	p.byKey.Reset(keep)
	*p = plan[K, T]{targets: targets, byKey: p.byKey}
}

// prepare fills in the results of ops and plans the rest.
func (s *Store[K, T]) prepare(ops []Op[K, T]) {
	if len(ops) > fewOps {
		s.plan.byKey.Reserve(len(ops))
		s.plan.targets = slices.Grow(s.plan.targets, len(ops))
	}
	for i := 0; i < len(ops); {
		i = s.prepareFrom(ops, i)
	}
}

// prepareFrom prepares ops[i:] up to the first panic of a user's function, and returns
// where to go on.
func (s *Store[K, T]) prepareFrom(ops []Op[K, T], i int) (next int) {
	defer func() {
		if r := recover(); r != nil {
			ops[s.plan.at].fail(s.panicError(r, ops[s.plan.at].Key))
			next = s.plan.at + 1
		}
	}()
	s.plan.doing = keyFunction
	for ; i < len(ops); i++ {
		if s.plan.at = i; len(ops) > fewOps && i%blockLen == 0 {
			s.warm(s.slots.Own(), ops[i:])
		}
		s.prepareOp(ops, i)
	}
	return i
}

func (op *Op[K, T]) fail(err error) {
	var zero T
	op.Old, op.Had, op.Unchanged, op.Err = zero, false, false, err
}

// panicError describes a panic of a user's function. It is called while panicking.
func (s *Store[K, T]) panicError(r any, key K) error {
	var zero K
	name := ""
	if key != zero {
		name = fmt.Sprint(key)
	}
	switch s.plan.doing {
	case "":
		return &index.PanicError{Index: s.plan.index, Key: name, Value: r, Stack: debug.Stack()}
	case keyFunction:
		return &KeyError{Key: name, Err: &PanicError{Func: keyFunction, Key: name, Value: r, Stack: debug.Stack()}}
	}
	return &PanicError{Func: s.plan.doing, Key: name, Value: r, Stack: debug.Stack()}
}

const (
	keyFunction       = "key function"
	unchangedFunction = "Options.Unchanged"
)

// isUnchanged asks Options.Unchanged.
func (s *Store[K, T]) isUnchanged(old, new T) bool {
	if s.unchanged == nil || s.rewound {
		return false
	}
	s.plan.doing = unchangedFunction
	same := s.unchanged(old, new)
	s.plan.doing = keyFunction
	return same
}

func (s *Store[K, T]) prepareOp(ops []Op[K, T], i int) {
	op := &ops[i]
	op.fail(nil)
	if err := s.checkKey(op); err != nil {
		op.Err = err
		return
	}
	// The index functions come before the lookup where they can: they read other parts of
	// a cold object, and so the processor fetches all of it at a time.
	early, staged := s.unchanged == nil && !op.Delete, 0
	if early {
		staged = s.stage(op.Object)
	}
	t := s.target(ops, i)
	if t.last >= 0 {
		if last := &ops[t.last]; !last.Delete {
			op.Old, op.Had = last.Object, true
		}
	} else if t.stored {
		op.Old, op.Had = s.slots.Own().At(t.slot), true
	}
	if op.Delete {
		if !op.Had {
			return
		}
	} else if op.Had && s.isUnchanged(op.Old, op.Object) {
		op.Unchanged = true
		return
	} else {
		if !early {
			staged = s.stage(op.Object)
		}
		t.staged = staged
		s.prepareStaged(s.slots.Own(), staged, t.slot, t.stored)
	}
	if t.last < 0 {
		s.plan.changes++
	}
	t.last = int32(i)
}

func (s *Store[K, T]) checkKey(op *Op[K, T]) error {
	key := op.Key
	if !op.Delete {
		k, err := s.key(op.Object)
		if err != nil {
			return &KeyError{Key: fmt.Sprint(key), Err: err}
		}
		if k != key && key == key {
			return &KeyError{Key: fmt.Sprint(key), Err: fmt.Errorf("%w: %v", ErrKeyMismatch, k)}
		}
	}
	return usable(key)
}

// usable returns an error when nothing can be stored under key.
func usable[K comparable](key K) error {
	var zero K
	switch {
	case key == zero:
		return &KeyError{Key: fmt.Sprint(key), Err: ErrZeroKey}
	case key != key:
		return &KeyError{Key: fmt.Sprint(key), Err: ErrUnequalKey}
	}
	return nil
}

// fewOps is up to how many operations a key's target is searched one by one.
const fewOps = 8

// target returns the target of operation i, found or new.
func (s *Store[K, T]) target(ops []Op[K, T], i int) *target {
	p, key := &s.plan, ops[i].Key
	hash := s.hash(key)
	if len(ops) <= fewOps {
		for n := range p.targets {
			if t := &p.targets[n]; t.hash == hash && ops[t.first].Key == key {
				return t
			}
		}
	} else {
		var probe keytable.Probe
		for {
			n, ok := p.byKey.Next(hash, &probe)
			if !ok {
				break
			}
			if t := &p.targets[n]; ops[t.first].Key == key {
				return t
			}
		}
	}
	slot, stored := s.find(s.slots.Own(), hash, key, ops[i].Delete)
	p.targets = append(p.targets, target{hash: hash, slot: slot, stored: stored, first: int32(i), last: -1})
	if len(ops) > fewOps {
		p.byKey.Insert(hash, uint32(len(p.targets)-1))
	}
	return &p.targets[len(p.targets)-1]
}

// find returns the slot of key in st, for the writer. If the slot is to be left it warms
// the indexes for that: a write of a cold object is little but waiting for memory, and
// should not wait with the lock held.
func (s *Store[K, T]) find(st *slots.State[T], hash uint32, key K, leaving bool) (uint32, bool) {
	slot, ok := keysOf[K](st).Find(hash, key)
	if ok && leaving {
		s.plan.warmed ^= st.Warm(slot)
	}
	return slot, ok
}

// stage evaluates all index functions for obj and returns the number of the value sets.
func (s *Store[K, T]) stage(obj T) int {
	n := s.plan.staged
	s.plan.doing = ""
	for _, x := range s.slots.Own().Indexes() {
		if x.Staged() > n {
			x.Unstage(n) // an operation that a panic in a later index left out
		}
		s.plan.index = x.Name()
		x.Stage(obj)
	}
	s.plan.doing = keyFunction
	s.plan.staged++
	return n
}

// prepareStaged prepares value set n of every index of st, for slot if stored says so.
func (s *Store[K, T]) prepareStaged(st *slots.State[T], n int, slot uint32, stored bool) {
	s.plan.doing = ""
	for _, x := range st.Indexes() {
		s.plan.index = x.Name()
		s.plan.warmed ^= x.Prepare(n, slot, stored)
	}
	s.plan.doing = keyFunction
}
