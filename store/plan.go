package store

import (
	"fmt"
	"slices"

	"github.com/kinform/kinform/internal/keytable"
	"github.com/kinform/kinform/internal/slots"
	"github.com/kinform/kinform/internal/usercode"
)

// plan describes the changes that operations are going to make, before any of them is made. Only
// the last operation on a key changes the state; the others only get an Old. It knows keys by their
// hashes and objects by their slots, so it has no type parameter.
type plan struct {
	targets []target       // one per distinct key
	many    bool           // there are more than fewOps operations
	byKey   keytable.Table // key's hash -> number in targets, for many operations
	changes int            // targets and sums that change something
	resums  []resum        // new sums of objects that stay
	staged  int            // value sets in every index
	holds   bool           // the indexes may hold staged values
	warmed  uint32         // keeps reads ahead from being optimized away
	keyed   bool           // the keys of all operations are results of the key function

	work []step // the operations of the block that is being planned

	// What the writer is doing, for the error if a user's function panics.
	at    int    // number in work
	doing string // the function that runs
	index int    // the number of the index whose function runs
}

// target is one key within a plan.
type target struct {
	hash   uint32
	slot   uint32
	stored bool  // slot holds an object of this key
	first  int32 // the first operation with the key
	taken  int32 // the last one so far
	last   int32 // the last one that was not left out; -1 if there is none
	staged int32 // its value set in the indexes
	moves  bool  // slot gets other values in some index
}

// resum is the new sum of an object that stays.
type resum struct {
	slot uint32
	sum  uint64
}

// step is an operation of a block.
type step struct {
	op, target int32
	staged     int32 // its value set in the indexes
	moves      bool  // see target
	done       bool  // it needs no more steps: it changes nothing or was left out
}

// keepTargets is the number of targets for which an idle store of n objects keeps room.
func keepTargets(n int) int { return min(1024, 64+n) }

// clearPlan drops the plan, and the values staged for it in the indexes of st.
func clearPlan[T any](p *plan, st *slots.State[T]) {
	unstage(p, st)
	p.clear()
}

func (p *plan) clear() {
	p.byKey.Reset(blockLen)
	p.targets, p.resums, p.changes, p.staged = p.targets[:0], p.resums[:0], 0, 0
}

// reset is clearPlan after a write. It also gives back the memory of a large plan.
func reset[T any](p *plan, body *slots.Slots[T]) {
	unstage(p, body.Own())
	p.reset(keepTargets(body.Own().Len()))
}

// reset drops the plan, and keeps room for so many targets.
func (p *plan) reset(keep int) {
	targets := p.targets[:0]
	if cap(targets) > 2*keep {
		targets = nil
	}
	p.byKey.Reset(keep)
	p.targets, p.work = targets, p.work[:0]
	p.resums, p.changes, p.staged, p.keyed = nil, 0, 0, false
}

// begin makes room for n operations.
func (p *plan) begin(n int) {
	p.many = n > fewOps
	if p.many {
		p.byKey.Reserve(n)
		p.targets = slices.Grow(p.targets, n)
	}
}

// search is a search for the target of a key.
type search struct {
	hash  uint32
	next  int // number in targets, for few operations
	probe keytable.Probe
}

// find returns the number of the next target whose key has the hash.
func (p *plan) find(s *search) (n int, ok bool) {
	if p.many {
		n, ok := p.byKey.Next(s.hash, &s.probe)
		return int(n), ok
	}
	for n := s.next; n < len(p.targets); n++ {
		if p.targets[n].hash == s.hash {
			s.next = n + 1
			return n, true
		}
	}
	return 0, false
}

// add adds a target for operation i, whose key has the hash, and returns its number.
func (p *plan) add(hash uint32, i int) int {
	if p.many {
		p.byKey.Insert(hash, uint32(len(p.targets)))
	}
	p.targets = append(p.targets, target{hash: hash, first: int32(i), taken: int32(i), last: -1})
	return len(p.targets) - 1
}

// take adds operation i to the block that begins with operation from. It returns false if target n,
// that of its key, is in the block already.
func (p *plan) take(n, i, from int) bool {
	t := &p.targets[n]
	if int(t.taken) >= from && int(t.first) != i {
		return false
	}
	t.taken = int32(i)
	p.work = append(p.work, step{op: int32(i), target: int32(n)})
	return true
}

// settle adds the changes of the block to the targets.
func (p *plan) settle() {
	for i := range p.work {
		w := &p.work[i]
		if w.done {
			continue
		}
		t := &p.targets[w.target]
		if t.last < 0 {
			p.changes++
		}
		t.last, t.staged, t.moves = w.op, w.staged, w.moves
	}
}

// resum plans a new sum of the object in a slot.
func (p *plan) resum(slot uint32, sum uint64) {
	p.resums = append(p.resums, resum{slot, sum})
	p.changes++
}

// leaveOut makes the operation that is being planned one that changes nothing, and takes back the value
// sets from number staged on.
func (p *plan) leaveOut(staged int) (op int32) {
	w := &p.work[p.at]
	w.done, p.staged = true, staged
	return w.op
}

// panicked describes the panic r of a user's function on the object of a key. Call it in the deferred
// function, so that the stack is the panic's. index is the name of the index whose function ran.
func (p *plan) panicked(r any, key, index string) error {
	err := usercode.Panicked(p.doing, r)
	err.Key = key
	switch p.doing {
	case indexFunction:
		err.Name = index
	case keyFunction:
		return &KeyError{Key: key, Err: err}
	}
	return err
}

// unstage drops all staged values.
func unstage[T any](p *plan, st *slots.State[T]) {
	if !p.holds {
		return
	}
	for _, x := range st.Indexes() {
		x.Unstage(0)
	}
	p.holds = false
}

// prepare sets the results of ops and plans their changes to st. It works block by block, and
// does each step for all operations of a block before the next step; see blockLen.
func prepare[K comparable, T any](s *Store[K, T], st *slots.State[T], ops []Op[K, T]) {
	if len(ops) == 1 {
		prepareOne(s, st, &ops[0])
		return
	}
	s.plan.begin(len(ops))
	for i, touched := 0, 0; i < len(ops); {
		if i >= touched {
			touched = min(i+blockLen, len(ops))
			touchTargets(s, ops[i:touched])
		}
		i = takeBlock(s, ops, i)
		for !planBlock(s, st, ops) {
		}
		s.plan.settle()
	}
}

// prepareOne is prepare for a single operation, the usual case. Without blocks it takes a tenth
// less time.
func prepareOne[K comparable, T any](s *Store[K, T], st *slots.State[T], op *Op[K, T]) {
	p := &s.plan
	defer func() {
		if r := recover(); r != nil {
			fail(op, panicError(s, r, op.Key, st.Indexes()))
		}
	}()
	p.doing = keyFunction
	fail(op, nil)
	if op.Err = checkKey(s, op); op.Err != nil {
		return
	}
	early := s.unchanged == nil && !op.Delete && !op.Keep // see planBlock
	if early {
		stageOne(s, st, op.Object)
	}
	t := target{hash: hashOf(&s.readSide, op.Key)}
	t.slot, t.stored = keytable.Find(keysOf[K](st), t.hash, op.Key)
	if t.stored {
		op.Old, op.Had = oldOf(st, t.slot, op), true
	}
	switch {
	case op.Delete && !t.stored:
		return
	case op.Delete:
		p.warmed ^= slots.Warm(st, t.slot)
	case t.stored && keepsOld(s, op):
		op.Unchanged, t.last = true, -1
		setSum(p, st, op, &t)
		return
	default:
		if !early {
			stageOne(s, st, op.Object)
		}
		pack(st, op)
		p.doing = indexFunction
		for i, x := range st.Indexes() {
			p.index = i
			t.moves = x.Prepare(0, t.slot, t.stored) || t.moves
		}
		p.holds = t.moves
	}
	p.targets, p.changes = append(p.targets, t), 1
}

// stageOne evaluates all index functions for obj.
func stageOne[K comparable, T any](s *Store[K, T], st *slots.State[T], obj T) {
	p := &s.plan
	p.doing, p.holds = indexFunction, true
	for i, x := range st.Indexes() {
		p.index = i
		x.Stage(0, obj)
	}
	p.doing = keyFunction
}

// touchTargets reads the keys of ops from memory.
func touchTargets[K comparable, T any](s *Store[K, T], ops []Op[K, T]) {
	for i := range ops {
		s.plan.warmed ^= keytable.Touch(s.parts, ops[i].Key)
	}
}

// takeBlock makes a block of the operations from i on, and returns its end. The block ends
// before an operation whose key is already in it, because the result of that operation depends
// on the earlier one. It also ends after an operation whose key cannot be hashed; that one is
// left out.
func takeBlock[K comparable, T any](s *Store[K, T], ops []Op[K, T], i int) (end int) {
	p := &s.plan
	p.work, p.doing, end = p.work[:0], keyFunction, i
	defer func() {
		if r := recover(); r != nil {
			fail(&ops[end], panicError(s, r, ops[end].Key, nil))
			end++
		}
	}()
	for ; end < len(ops) && end-i < blockLen; end++ {
		if !p.take(targetOf(s, ops, end), end, i) {
			break
		}
		fail(&ops[end], nil)
	}
	return end
}

// planBlock plans the changes of the block. If a user's function panics, it leaves out that
// operation and returns false; the caller must then plan the block again.
func planBlock[K comparable, T any](s *Store[K, T], st *slots.State[T], ops []Op[K, T]) (done bool) {
	p, staged := &s.plan, s.plan.staged
	defer func() {
		if r := recover(); r != nil {
			op := &ops[p.leaveOut(staged)]
			fail(op, panicError(s, r, op.Key, st.Indexes()))
			for _, x := range st.Indexes() {
				x.Unstage(staged)
			}
		}
	}()
	checkKeys(s, ops)
	if s.unchanged != nil || keepsAny(p, ops) {
		lookUp(s, st, ops)
		compareOp(s, st, ops)
		stage(s, st, ops)
	} else {
		// The key function and the index functions read different parts of an object. Calling
		// them in a row lets the processor fetch all parts at a time.
		stage(s, st, ops)
		lookUp(s, st, ops)
	}
	prepareStaged(s, st, ops, staged)
	return true
}

func fail[K comparable, T any](op *Op[K, T], err error) {
	var zero T
	op.Old, op.Had, op.Unchanged, op.Err, op.Kept = zero, false, false, err, nil
}

// panicError describes the panic r of a user's function, see plan.panicked. indexes are those whose
// functions may have run.
func panicError[K comparable, T any](s *Store[K, T], r any, key K, indexes []slots.Index[T]) error {
	text, index := "", ""
	if key != *new(K) {
		text = fmt.Sprint(key)
	}
	if s.plan.doing == indexFunction {
		index = indexes[s.plan.index].Name()
	}
	return s.plan.panicked(r, text, index)
}

const (
	keyFunction       = "key function"
	indexFunction     = "index function"
	unchangedFunction = "Options.Unchanged"
)

// keepsAny reports whether an operation of the block has Keep set.
func keepsAny[K comparable, T any](p *plan, ops []Op[K, T]) bool {
	for i := range p.work {
		if ops[p.work[i].op].Keep {
			return true
		}
	}
	return false
}

// keepsOld reports whether the stored object stays in place of op's object.
func keepsOld[K comparable, T any](s *Store[K, T], op *Op[K, T]) bool {
	return op.Keep || isUnchanged(s, op.Old, op.Object)
}

// isUnchanged calls Options.Unchanged.
func isUnchanged[K comparable, T any](s *Store[K, T], old, new T) bool {
	if s.unchanged == nil {
		return false
	}
	s.plan.doing = unchangedFunction
	same := s.unchanged(old, new)
	s.plan.doing = keyFunction
	return same
}

func checkKey[K comparable, T any](s *Store[K, T], op *Op[K, T]) error {
	if !op.Delete && !s.plan.keyed {
		if k, err := s.key(op.Object); err != nil || k != op.Key {
			return badKey(op.Key, k, err)
		}
	}
	if op.Key == *new(K) { // under which nothing can be stored
		return badKey(op.Key, op.Key, usercode.ErrZeroKey)
	}
	return nil
}

// badKey is the error for an object that cannot be stored under key, because of err or because its own
// key is another one.
func badKey(key, own any, err error) error {
	if err == nil {
		err = fmt.Errorf("%w: %v", errKeyMismatch, own)
	}
	return &KeyError{Key: fmt.Sprint(key), Err: err}
}

// fewOps is the largest number of operations for which targets are searched one by one.
const fewOps = 8

// targetOf returns the number of the target of operation i. It adds the target if necessary.
func targetOf[K comparable, T any](s *Store[K, T], ops []Op[K, T], i int) int {
	p, key := &s.plan, ops[i].Key
	from := search{hash: hashOf(&s.readSide, key)}
	for n, ok := p.find(&from); ok; n, ok = p.find(&from) {
		if ops[p.targets[n].first].Key == key {
			return n
		}
	}
	return p.add(from.hash, i)
}

func checkKeys[K comparable, T any](s *Store[K, T], ops []Op[K, T]) {
	p := &s.plan
	p.doing = keyFunction
	for i := range p.work {
		w := &p.work[i]
		if w.done {
			continue
		}
		p.at = i
		if err := checkKey(s, &ops[w.op]); err != nil {
			ops[w.op].Err, w.done = err, true
		}
	}
}

// lookUp finds the objects stored in st under the keys of the block. It includes operations that
// were left out, because a later block may have the same key.
func lookUp[K comparable, T any](s *Store[K, T], st *slots.State[T], ops []Op[K, T]) {
	p, keys := &s.plan, keysOf[K](st)
	for i := range p.work {
		slot, _ := keytable.Likely(keys, p.targets[p.work[i].target].hash)
		p.warmed ^= slot
	}
	for i := range p.work {
		w := &p.work[i]
		if t := &p.targets[w.target]; t.first == w.op {
			t.slot, t.stored = keytable.Find(keys, t.hash, ops[w.op].Key)
		}
	}
	for i := range p.work {
		w := &p.work[i]
		if w.done {
			continue
		}
		p.at = i
		op, t := &ops[w.op], &p.targets[w.target]
		if t.last >= 0 {
			if last := &ops[t.last]; !last.Delete {
				op.Old, op.Had = last.Object, true
			}
		} else if t.stored {
			op.Old, op.Had = oldOf(st, t.slot, op), true
		}
		if op.Delete {
			w.done = !op.Had
			if t.stored {
				p.warmed ^= slots.Warm(st, t.slot) // else Remove waits for this memory under the lock
			}
		}
	}
}

// compareOp finds the operations that keep the stored object.
func compareOp[K comparable, T any](s *Store[K, T], st *slots.State[T], ops []Op[K, T]) {
	p := &s.plan
	for i := range p.work {
		w := &p.work[i]
		op := &ops[w.op]
		if w.done || op.Delete || !op.Had {
			continue
		}
		if p.at = i; keepsOld(s, op) {
			op.Unchanged, w.done = true, true
			setSum(p, st, op, &p.targets[w.target])
		}
	}
}

// setSum plans the sum of op, which keeps the object of t, if st has another sum. If an earlier
// operation of the plan stores the object, its sum stays.
func setSum[K comparable, T any](p *plan, st *slots.State[T], op *Op[K, T], t *target) {
	if op.Sum != 0 && t.stored && t.last < 0 && slots.SumOf(st, t.slot) != op.Sum {
		p.resum(t.slot, op.Sum)
	}
}

// stage evaluates the index functions for the objects of the block: one function for all
// objects, then the next, so that reads of many objects overlap.
func stage[K comparable, T any](s *Store[K, T], st *slots.State[T], ops []Op[K, T]) {
	p := &s.plan
	for i := range p.work {
		if w := &p.work[i]; !w.done && !ops[w.op].Delete {
			w.staged = int32(p.staged)
			p.staged++
		}
	}
	p.doing, p.holds = indexFunction, true
	for n, x := range st.Indexes() {
		p.index = n
		for i := range p.work {
			if w := &p.work[i]; !w.done && !ops[w.op].Delete {
				p.at = i
				x.Stage(int(w.staged), ops[w.op].Object)
			}
		}
	}
}

// prepareStaged prepares the value sets of the block, which begin with number first.
func prepareStaged[K comparable, T any](s *Store[K, T], st *slots.State[T], ops []Op[K, T], first int) {
	p := &s.plan
	if st.Packs() {
		for i := range p.work {
			if w := &p.work[i]; !w.done && !ops[w.op].Delete {
				pack(st, &ops[w.op])
			}
		}
	}
	p.doing = indexFunction
	for n, x := range st.Indexes() {
		p.index = n
		x.ReadAhead(first)
		for i := range p.work {
			if w := &p.work[i]; !w.done && !ops[w.op].Delete {
				p.at = i
				t := &p.targets[w.target]
				w.moves = x.Prepare(int(w.staged), t.slot, t.stored) || w.moves
			}
		}
	}
}
