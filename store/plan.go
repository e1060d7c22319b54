package store

import (
	"fmt"
	"slices"

	"github.com/kinform/kinform/internal/keytable"
	"github.com/kinform/kinform/internal/slots"
	"github.com/kinform/kinform/internal/usercode"
)

// plan is what operations are going to do, found out before anything is changed. Only the
// last operation on a key changes the state; the others only have an Old.
type plan[K comparable, T any] struct {
	targets []target       // one per distinct key
	byKey   keytable.Table // key's hash -> number in targets, for more than fewOps operations
	changes int            // targets that change something
	staged  int            // value sets in every index
	warmed  uint32         // keeps what is read ahead from being optimized away

	work []step // the operations of the block that is being planned

	// Where the writer is, in case a user's function panics.
	at    int    // number in work
	doing string // the function that runs
	index string // the index whose function runs
}

// target is one key within a plan.
type target struct {
	hash   uint32
	slot   uint32
	stored bool  // slot holds an object of this key
	first  int32 // the first operation with the key
	taken  int32 // the last one so far
	last   int32 // the last one that was not left out; -1 for none
	staged int32 // its value set in the indexes
}

// step is an operation of a block.
type step struct {
	op, target int32
	staged     int32 // its value set in the indexes
	done       bool  // nothing is left to do: it changes nothing or was left out
}

// keepTargets is how many targets an idle store of n objects keeps room for.
func keepTargets(n int) int { return min(1024, 64+n) }

// clear forgets the plan, and the values that the indexes of st were given for it.
func (p *plan[K, T]) clear(st *slots.State[T]) {
	unstage(st)
	p.byKey.Reset(blockLen)
	p.targets, p.changes, p.staged = p.targets[:0], 0, 0
}

// reset is clear, and leaves the store idle.
func (p *plan[K, T]) reset(body *slots.Slots[T]) {
	unstage(body.Own())
	keep := keepTargets(body.Own().Len())
	targets := p.targets[:0]
	if cap(targets) > 2*keep {
		targets = nil
	}
	p.byKey.Reset(keep)
	*p = plan[K, T]{targets: targets, byKey: p.byKey, work: p.work[:0]}
}

// unstage forgets the values of objects that have been put, or will not be.
func unstage[T any](st *slots.State[T]) {
	for _, x := range st.Indexes() {
		x.Unstage(0)
	}
}

// prepare fills in the results of ops and plans the rest, for changes of st. It takes them
// block by block, and does with all operations of a block one thing after the other, because
// each is little but waiting for memory; see blockLen.
func (s *Store[K, T]) prepare(st *slots.State[T], ops []Op[K, T]) {
	if len(ops) == 1 {
		s.prepareOne(st, &ops[0])
		return
	}
	if len(ops) > fewOps {
		s.plan.byKey.Reserve(len(ops))
		s.plan.targets = slices.Grow(s.plan.targets, len(ops))
	}
	for i, touched := 0, 0; i < len(ops); {
		if i >= touched {
			touched = min(i+blockLen, len(ops))
			s.touch(ops[i:touched])
		}
		i = s.takeBlock(ops, i)
		for !s.planBlock(st, ops) {
		}
		s.settleBlock()
	}
}

// prepareOne is prepare for a single operation, which most commits of programs are: all steps
// for it at once take a tenth less time.
func (s *Store[K, T]) prepareOne(st *slots.State[T], op *Op[K, T]) {
	p := &s.plan
	defer func() {
		if r := recover(); r != nil {
			op.fail(s.panicError(r, op.Key))
		}
	}()
	p.doing = keyFunction
	op.fail(nil)
	if op.Err = s.checkKey(op); op.Err != nil {
		return
	}
	early := s.unchanged == nil && !op.Delete && !op.Keep // see planBlock
	if early {
		s.stageOne(st, op.Object)
	}
	t := target{hash: s.hash(op.Key)}
	t.slot, t.stored = keysOf[K](st).Find(t.hash, op.Key)
	if t.stored {
		op.Old, op.Had = st.At(t.slot), true
	}
	switch {
	case op.Delete && !t.stored:
		return
	case op.Delete:
		p.warmed ^= st.Warm(t.slot)
	case t.stored && s.keeps(op):
		op.Unchanged = true
		return
	default:
		if !early {
			s.stageOne(st, op.Object)
		}
		p.doing = indexFunction
		for _, x := range st.Indexes() {
			p.index = x.Name()
			p.warmed ^= x.Prepare(0, t.slot, t.stored)
		}
	}
	p.targets, p.changes = append(p.targets, t), 1
}

// stageOne evaluates all index functions for obj.
func (s *Store[K, T]) stageOne(st *slots.State[T], obj T) {
	p := &s.plan
	p.doing = indexFunction
	for _, x := range st.Indexes() {
		p.index = x.Name()
		x.Stage(obj)
	}
	p.doing = keyFunction
}

// touch reads the keys of ops from memory.
func (s *Store[K, T]) touch(ops []Op[K, T]) {
	for i := range ops {
		s.plan.warmed ^= s.parts.Touch(ops[i].Key)
	}
}

// takeBlock makes a block of the operations from i on and returns where it ends: before one
// with a key that the block has already, since what that one finds depends on the other, or
// after one whose key cannot be hashed, which is left out.
func (s *Store[K, T]) takeBlock(ops []Op[K, T], i int) (end int) {
	p := &s.plan
	p.work, p.doing, end = p.work[:0], keyFunction, i
	defer func() {
		if r := recover(); r != nil {
			ops[end].fail(s.panicError(r, ops[end].Key))
			end++
		}
	}()
	for ; end < len(ops) && end-i < blockLen; end++ {
		n := s.target(ops, end)
		t := &p.targets[n]
		if int(t.taken) >= i && int(t.first) != end {
			break
		}
		t.taken = int32(end)
		ops[end].fail(nil)
		p.work = append(p.work, step{op: int32(end), target: int32(n)})
	}
	return end
}

// planBlock finds out what the operations of the block do. If a user's function panics it
// leaves that operation out and returns false: the others are to be planned once more.
func (s *Store[K, T]) planBlock(st *slots.State[T], ops []Op[K, T]) (done bool) {
	p, staged := &s.plan, s.plan.staged
	defer func() {
		if r := recover(); r != nil {
			w := &p.work[p.at]
			ops[w.op].fail(s.panicError(r, ops[w.op].Key))
			w.done, p.staged = true, staged
			for _, x := range st.Indexes() {
				x.Unstage(staged)
			}
		}
	}()
	s.checkKeys(ops)
	if s.unchanged != nil || p.keeps(ops) {
		s.lookUp(st, ops)
		s.compare(ops)
		s.stage(st, ops)
	} else {
		// The index functions read other parts of a cold object than the key function: the
		// processor fetches all of it at a time.
		s.stage(st, ops)
		s.lookUp(st, ops)
	}
	s.prepareStaged(st, ops)
	return true
}

// settleBlock notes what the operations of the block change.
func (s *Store[K, T]) settleBlock() {
	p := &s.plan
	for i := range p.work {
		w := &p.work[i]
		if w.done {
			continue
		}
		t := &p.targets[w.target]
		if t.last < 0 {
			p.changes++
		}
		t.last, t.staged = w.op, w.staged
	}
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
	err := usercode.Panicked(s.plan.doing, r)
	err.Key = name
	switch s.plan.doing {
	case indexFunction:
		err.Name = s.plan.index
	case keyFunction:
		return &KeyError{Key: name, Err: err}
	}
	return err
}

const (
	keyFunction       = "key function"
	indexFunction     = "index function"
	unchangedFunction = "Options.Unchanged"
)

// keeps reports whether an operation of the block is to keep what is stored.
func (p *plan[K, T]) keeps(ops []Op[K, T]) bool {
	return slices.ContainsFunc(p.work, func(w step) bool { return ops[w.op].Keep })
}

// keeps reports whether what is stored is as good as op's object.
func (s *Store[K, T]) keeps(op *Op[K, T]) bool {
	return op.Keep && !s.rewound || s.isUnchanged(op.Old, op.Object)
}

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

func (s *Store[K, T]) checkKey(op *Op[K, T]) error {
	key := op.Key
	if !op.Delete {
		k, err := s.key(op.Object)
		if err != nil {
			return &KeyError{Key: fmt.Sprint(key), Err: err}
		}
		if k != key {
			return &KeyError{Key: fmt.Sprint(key), Err: fmt.Errorf("%w: %v", ErrKeyMismatch, k)}
		}
	}
	return usable(key)
}

// usable returns an error when nothing can be stored under key.
func usable[K comparable](key K) error {
	if err := usercode.CheckKey(key); err != nil {
		return &KeyError{Key: fmt.Sprint(key), Err: err}
	}
	return nil
}

// fewOps is up to how many operations a key's target is searched one by one.
const fewOps = 8

// target returns the number of the target of operation i, found or new.
func (s *Store[K, T]) target(ops []Op[K, T], i int) int {
	p, key := &s.plan, ops[i].Key
	hash := s.hash(key)
	if len(ops) <= fewOps {
		for n := range p.targets {
			if t := &p.targets[n]; t.hash == hash && ops[t.first].Key == key {
				return n
			}
		}
	} else {
		var probe keytable.Probe
		for {
			n, ok := p.byKey.Next(hash, &probe)
			if !ok {
				break
			}
			if ops[p.targets[n].first].Key == key {
				return int(n)
			}
		}
		p.byKey.Insert(hash, uint32(len(p.targets)))
	}
	p.targets = append(p.targets, target{hash: hash, first: int32(i), taken: int32(i), last: -1})
	return len(p.targets) - 1
}

func (s *Store[K, T]) checkKeys(ops []Op[K, T]) {
	p := &s.plan
	p.doing = keyFunction
	for i := range p.work {
		w := &p.work[i]
		if w.done {
			continue
		}
		p.at = i
		if err := s.checkKey(&ops[w.op]); err != nil {
			ops[w.op].Err, w.done = err, true
		}
	}
}

// lookUp finds out what is stored in st under the keys of the block, also those of
// operations that were left out: another block may have the key again.
func (s *Store[K, T]) lookUp(st *slots.State[T], ops []Op[K, T]) {
	p, keys := &s.plan, keysOf[K](st)
	for i := range p.work {
		slot, _ := keys.Likely(p.targets[p.work[i].target].hash)
		p.warmed ^= slot
	}
	for i := range p.work {
		w := &p.work[i]
		if t := &p.targets[w.target]; t.first == w.op {
			t.slot, t.stored = keys.Find(t.hash, ops[w.op].Key)
		}
	}
	for i := range p.work {
		w := &p.work[i]
		if w.done {
			continue
		}
		op, t := &ops[w.op], &p.targets[w.target]
		if t.last >= 0 {
			if last := &ops[t.last]; !last.Delete {
				op.Old, op.Had = last.Object, true
			}
		} else if t.stored {
			op.Old, op.Had = st.At(t.slot), true
		}
		if op.Delete {
			w.done = !op.Had
			if t.stored {
				p.warmed ^= st.Warm(t.slot) // or Remove would wait for it, with the lock held
			}
		}
	}
}

// compare finds the objects that Options.Unchanged says need not be stored.
func (s *Store[K, T]) compare(ops []Op[K, T]) {
	p := &s.plan
	for i := range p.work {
		w := &p.work[i]
		op := &ops[w.op]
		if w.done || op.Delete || !op.Had {
			continue
		}
		if p.at = i; s.keeps(op) {
			op.Unchanged, w.done = true, true
		}
	}
}

// stage evaluates the index functions for the objects of the block, one function after the
// other: what one reads of an object then comes from memory for many at a time.
func (s *Store[K, T]) stage(st *slots.State[T], ops []Op[K, T]) {
	p := &s.plan
	for i := range p.work {
		if w := &p.work[i]; !w.done && !ops[w.op].Delete {
			w.staged = int32(p.staged)
			p.staged++
		}
	}
	p.doing = indexFunction
	for _, x := range st.Indexes() {
		p.index = x.Name()
		for i := range p.work {
			if w := &p.work[i]; !w.done && !ops[w.op].Delete {
				p.at = i
				x.Stage(ops[w.op].Object)
			}
		}
	}
}

// prepareStaged prepares the value sets of the block.
func (s *Store[K, T]) prepareStaged(st *slots.State[T], ops []Op[K, T]) {
	p := &s.plan
	p.doing = indexFunction
	for _, x := range st.Indexes() {
		p.index = x.Name()
		for i := range p.work {
			if w := &p.work[i]; !w.done && !ops[w.op].Delete {
				p.at = i
				t := &p.targets[w.target]
				p.warmed ^= x.Prepare(int(w.staged), t.slot, t.stored)
			}
		}
	}
}
