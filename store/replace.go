package store

// Replace makes objs the whole content of the store, and moves its resourceVersion to rv
// as [Store.Commit] does, in one step: readers see the old content or the new one. Of
// several objects with one key the last one counts. Objects that Options.Unchanged holds
// for stay as they are and cost a lookup.
//
// It is all or nothing: with an object that cannot be stored, nothing is replaced.
//
// Cost: memory in proportion to what differs, plus a bit per object; when much differs,
// a second copy of the store's own structures (not of the objects) for the time of the
// call.
// Errors: ErrClosed, *KeyError, *index.PanicError.
func (s *Store[K, T]) Replace(objs []T, rv string) error {
	s.writeMu.Lock()
	defer s.writeMu.Unlock()
	if s.closed {
		return ErrClosed
	}
	defer s.plan.reset(s.slots.Own())
	ops, seen, err := s.differing(objs)
	if err != nil {
		return err
	}
	s.prepare(ops)
	for i := range ops {
		if ops[i].Err != nil {
			return ops[i].Err
		}
	}
	s.plan.gone = s.unseen(seen)
	s.apply(rv, ops)
	return nil
}

// bitset has one bit per slot.
type bitset []uint64

func (b bitset) has(i uint32) bool { return b[i>>6]&(1<<(i&63)) != 0 }
func (b bitset) add(i uint32)      { b[i>>6] |= 1 << (i & 63) }

// differing returns operations for the objects that are not stored as they are, and the
// slots of those whose keys are stored.
func (s *Store[K, T]) differing(objs []T) (ops []Op[K, T], seen bitset, err error) {
	defer func() {
		if r := recover(); r != nil {
			var unknown K
			err = s.panicError(r, unknown)
		}
	}()
	s.plan.doing = keyFunction
	st := s.slots.Own()
	seen = make(bitset, (st.Slots()+63)/64)
	if st.Len() == 0 {
		ops = make([]Op[K, T], 0, len(objs))
	}
	for _, obj := range objs {
		key, err := s.key(obj)
		if err != nil {
			return nil, nil, &KeyError{Err: err}
		}
		if slot, ok := s.find(s.hash(key), key); ok {
			// A second object of the same key counts, even if the first one of them did not.
			again := seen.has(slot)
			seen.add(slot)
			if !again && s.isUnchanged(st.At(slot), obj) {
				continue
			}
		}
		ops = append(ops, Op[K, T]{Key: key, Object: obj})
	}
	return ops, seen, nil
}

// unseen returns the slots in use that are not in seen. They are told by slot, not by
// key, so that objects whose keys were changed behind the store's back go too.
func (s *Store[K, T]) unseen(seen bitset) (gone []uint32) {
	for run := range s.slots.Own().View().Runs {
		for i := range run.Elems {
			if slot := run.First + uint32(i); !seen.has(slot) {
				gone = append(gone, slot)
			}
		}
	}
	return gone
}
