package store

// Replace makes objs the whole content of the store, and moves its resourceVersion to rv
// as [Store.Commit] does, in one step: readers see the old content or the new one. Of
// several objects with one key the last one counts. Objects that Options.Unchanged holds
// for stay as they are and cost a lookup.
//
// It is all or nothing: with an object that cannot be stored, nothing is replaced.
//
// Cost: when much differs, a second copy of the store's own structures (not of the
// objects) for the time of the call; else next to nothing.
// Errors: ErrClosed, *KeyError, *PanicError, *index.PanicError.
func (s *Store[K, T]) Replace(objs []T, rv string) error {
	s.writeMu.Lock()
	defer s.writeMu.Unlock()
	if s.closed {
		return ErrClosed
	}
	defer s.plan.reset(s.slots)
	seen := make(bitset, (s.slots.Own().Slots()+63)/64)
	differ, err := s.differing(objs, seen)
	if err != nil {
		return err
	}
	gone := s.unseen(seen)
	if len(differ)+len(gone) > s.slots.AsideAfter() {
		return s.replaceAside(objs, differ, gone, rv)
	}
	ops := make([]Op[K, T], len(differ))
	for i, n := range differ {
		ops[i].Object = objs[n]
		if ops[i].Key, err = s.keyOf(objs[n]); err != nil {
			return err
		}
	}
	s.prepare(ops)
	for i := range ops {
		if ops[i].Err != nil {
			return ops[i].Err
		}
	}
	s.apply(rv, ops, gone)
	return nil
}

// replaceAside makes a large Replace on a clone, which an error throws away.
func (s *Store[K, T]) replaceAside(objs []T, differ []uint32, gone []uint32, rv string) (err error) {
	var key K
	defer func() {
		if r := recover(); r != nil {
			err = s.panicError(r, key)
		}
	}()
	a := aside[K, T]{s: s, st: s.slots.Own()}
	for _, slot := range gone {
		a.change().Remove(slot)
	}
	for _, n := range differ {
		op := Op[K, T]{Object: objs[n]}
		if op.Key, err = s.key(op.Object); err != nil {
			return &KeyError{Err: err}
		}
		key = op.Key
		if err := s.checkKey(&op); err != nil {
			return err
		}
		hash := s.hash(key)
		slot, stored := s.find(a.st, hash, key, false)
		a.put(hash, slot, stored, op.Object)
	}
	a.publish(rv)
	return nil
}

// bitset has one bit per slot.
type bitset []uint64

func (b bitset) has(i uint32) bool { return b[i>>6]&(1<<(i&63)) != 0 }
func (b bitset) add(i uint32)      { b[i>>6] |= 1 << (i & 63) }

// differing returns the numbers of the objects that are not stored as they are, and adds
// to seen the slots of all whose keys are stored.
func (s *Store[K, T]) differing(objs []T, seen bitset) (differ []uint32, err error) {
	var key K
	defer func() {
		if r := recover(); r != nil {
			err = s.panicError(r, key)
		}
	}()
	s.plan.doing = keyFunction
	st := s.slots.Own()
	for i, obj := range objs {
		var unknown K
		key = unknown
		if key, err = s.key(obj); err != nil {
			return nil, &KeyError{Err: err}
		}
		if slot, ok := s.find(st, s.hash(key), key, false); ok {
			// A second object of the same key counts, even if the first one of them did not.
			again := seen.has(slot)
			seen.add(slot)
			if !again && s.isUnchanged(st.At(slot), obj) {
				continue
			}
		}
		if differ == nil {
			differ = make([]uint32, 0, len(objs)-i)
		}
		differ = append(differ, uint32(i))
	}
	return differ, nil
}

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
