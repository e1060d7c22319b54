package store

// Replace makes objs the whole content of the store, and moves its resourceVersion to rv
// as [Store.Commit] does, in one step: readers see the old content or the new one. Of
// several objects with one key the last one counts. Objects that Options.Unchanged holds
// for stay as they are and cost a lookup.
//
// It is all or nothing: with an object that cannot be stored, nothing is replaced.
//
// Cost: one pass over objs. When much differs, a second copy of the store's own structures
// (not of the objects) for the time of the call; else next to nothing.
// Errors: ErrClosed, *KeyError, *PanicError, *index.PanicError.
func (s *Store[K, T]) Replace(objs []T, rv string) (err error) {
	s.writeMu.Lock()
	defer s.writeMu.Unlock()
	if s.closed {
		return ErrClosed
	}
	defer func() { s.rewound = s.rewound && err != nil }()
	defer s.plan.reset(s.slots)
	r := replacement[K, T]{aside: aside[K, T]{s: s, st: s.slots.Own()}, objs: objs}
	r.seen = make(bitset, (s.slots.Own().Slots()+63)/64)
	if err := r.contain((*replacement[K, T]).compare); err != nil {
		return err
	}
	gone := s.unseen(r.seen)
	if !r.begun && len(r.differ)+len(gone) <= s.slots.AsideAfter() {
		return s.replaceInPlace(objs, r.differ, gone, rv)
	}
	r.gone = gone
	if err := r.contain((*replacement[K, T]).finish); err != nil {
		return err
	}
	r.publish(rv)
	return nil
}

// replaceInPlace makes a Replace that changes little.
func (s *Store[K, T]) replaceInPlace(objs []T, differ, gone []uint32, rv string) (err error) {
	ops := make([]Op[K, T], len(differ))
	for i, n := range differ {
		ops[i].Object = objs[n]
		if ops[i].Key, err = s.keyOf(objs[n]); err != nil {
			return err
		}
	}
	s.prepare(s.slots.Own(), ops)
	for i := range ops {
		if ops[i].Err != nil {
			return ops[i].Err
		}
	}
	s.apply(rv, ops, gone)
	return nil
}

// replacement is a Replace at work. It notes which objects differ from what is stored, and
// when they become too many for a change in place, it stores them in a clone from then on;
// an error throws the clone away. What is stored under a new key waits until the slots of
// what is gone are free.
type replacement[K comparable, T any] struct {
	aside[K, T]
	objs   []T
	seen   bitset   // the slots whose keys are among those of objs
	differ []uint32 // numbers of objs, until begun
	begun  bool     // changes are made in the clone
	fresh  []uint32 // numbers of objs that have new keys, once begun
	gone   []uint32 // slots that are not seen

	repeated bool // two of objs had the same key

	b   block[K]
	key K // of the object that a user's function is called for
}

// contain runs a part of the work; a panic of a user's function becomes its error.
func (r *replacement[K, T]) contain(part func(*replacement[K, T]) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = r.s.panicError(p, r.key)
		}
	}()
	r.s.plan.doing = keyFunction
	return part(r)
}

// compare finds out which objects are not stored as they are.
func (r *replacement[K, T]) compare() error {
	for i := 0; i < len(r.objs); {
		n := min(len(r.objs)-i, blockLen)
		if err := r.load(n, func(j int) int { return i + j }); err != nil {
			return err
		}
		i += n
		r.b.keep(r.differs)
		if r.begun {
			r.put()
			continue
		}
		r.differ = append(r.differ, r.b.at[:r.b.n]...)
		if len(r.differ) > r.s.slots.AsideAfter() {
			if err := r.begin(); err != nil {
				return err
			}
		}
	}
	return nil
}

// load looks up n objects: number(0), number(1) …
func (r *replacement[K, T]) load(n int, number func(int) int) error {
	r.b.n = 0
	for j := range n {
		var unknown K
		r.key = unknown
		i := number(j)
		key, err := r.s.key(r.objs[i])
		if err != nil {
			return &KeyError{Err: err}
		}
		r.key = key
		if err := usable(key); err != nil {
			return err
		}
		r.b.add(i, key)
	}
	hashAll(&r.b, r.s.Reader())
	findAll(&r.b, r.st)
	return nil
}

// differs says whether object i of the block has to be stored.
func (r *replacement[K, T]) differs(i int) bool {
	slot := r.b.slots[i]
	if !r.b.stored[i] {
		return true
	}
	// A second object of the same key counts, even if the first one of them did not.
	again := r.seen.has(slot)
	r.seen.add(slot)
	r.repeated = r.repeated || again
	r.key = r.b.keys[i]
	return again || !r.s.isUnchanged(r.st.At(slot), r.objs[r.b.at[i]])
}

// begin goes over to the clone, with what differed until now.
func (r *replacement[K, T]) begin() error {
	r.begun = true
	r.change()
	differ := r.differ
	r.differ = nil
	return r.putAll(differ)
}

// finish makes the changes that had to wait for the end of the comparison.
func (r *replacement[K, T]) finish() error {
	if !r.begun {
		if err := r.begin(); err != nil {
			return err
		}
	}
	for _, slot := range r.gone {
		r.st.Remove(slot)
	}
	fresh := r.fresh
	r.st.Reserve(max(len(fresh)-len(r.gone), 0))
	r.fresh, r.repeated = nil, true // new keys may come more than once, and nobody has looked
	return r.insertAll(fresh)
}

func (r *replacement[K, T]) putAll(numbers []uint32) error {
	for len(numbers) > 0 {
		n := min(len(numbers), blockLen)
		if err := r.load(n, func(j int) int { return int(numbers[j]) }); err != nil {
			return err
		}
		numbers = numbers[n:]
		r.put()
	}
	return nil
}

// put stores the objects of the block whose keys are stored; the others wait.
func (r *replacement[K, T]) put() {
	r.b.keep(func(i int) bool {
		if !r.b.stored[i] {
			r.fresh = append(r.fresh, r.b.at[i])
		}
		return r.b.stored[i]
	})
	r.stage()
	r.prepare()
	for i := range r.b.n {
		r.s.update(r.st, r.b.slots[i], r.b.keys[i], r.objs[r.b.at[i]], i)
	}
}

// insertAll stores the objects that had new keys. Several may have the same.
func (r *replacement[K, T]) insertAll(numbers []uint32) error {
	for len(numbers) > 0 {
		n := min(len(numbers), blockLen)
		if err := r.load(n, func(j int) int { return int(numbers[j]) }); err != nil {
			return err
		}
		numbers = numbers[n:]
		r.stage()
		r.prepare()
		for i, key := range r.b.keys[:n] {
			obj := r.objs[r.b.at[i]]
			if slot, ok := keysOf[K](r.st).Find(r.b.hashes[i], key); ok {
				r.s.update(r.st, slot, key, obj, i)
			} else {
				r.s.insert(r.st, r.b.hashes[i], key, obj, i)
			}
		}
	}
	return nil
}

// stage evaluates the index functions for all objects of the block, one function after
// the other: what one reads of an object then comes from memory for many at a time.
func (r *replacement[K, T]) stage() {
	p := &r.s.plan
	unstage(r.st)
	p.doing = ""
	for _, x := range r.st.Indexes() {
		p.index = x.Name()
		for i, n := range r.b.at[:r.b.n] {
			r.key = r.b.keys[i]
			x.Stage(r.objs[n])
		}
	}
	p.doing = keyFunction
}

// prepare prepares the values that stage found. When keys come more than once, the values
// that a slot has now may not be those that it has when a set is put.
func (r *replacement[K, T]) prepare() {
	p := &r.s.plan
	p.doing = ""
	for _, x := range r.st.Indexes() {
		p.index = x.Name()
		for i, slot := range r.b.slots[:r.b.n] {
			r.key = r.b.keys[i]
			p.warmed ^= x.Prepare(i, slot, r.b.stored[i] && !r.repeated)
		}
	}
	p.doing = keyFunction
}

// bitset has one bit per slot.
type bitset []uint64

func (b bitset) has(i uint32) bool { return b[i>>6]&(1<<(i&63)) != 0 }
func (b bitset) add(i uint32)      { b[i>>6] |= 1 << (i & 63) }

// unseen returns the slots in use that are not in seen. They are told by slot, not by
// key, so that objects whose keys were changed behind the store's back go too.
func (s *Store[K, T]) unseen(seen bitset) (gone []uint32) {
	for slot := range s.slots.Own().Slots() {
		if id := uint32(slot); s.slots.Own().Used(id) && !seen.has(id) {
			gone = append(gone, id)
		}
	}
	return gone
}
