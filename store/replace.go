package store

import (
	"github.com/kinform/kinform/internal/keytable"
	"github.com/kinform/kinform/internal/slots"
)

// Replace makes objs the whole content of the store and moves its resourceVersion to rv, as
// [Store.CommitChunks] does, in one step: readers see the old content or the new one. If
// several objects have one key, the last one counts.
//
// It is all or nothing: if one object cannot be stored, nothing is replaced.
//
// Cost: one pass over objs and one over the stored objects, and that of a large commit if
// anything differs.
// Errors: ErrClosed, *KeyError, *informer.PanicError.
func (s *Store[K, T]) Replace(objs []T, rv string) error {
	s.writeMu.Lock()
	defer s.writeMu.Unlock()
	if s.closed {
		return ErrClosed
	}
	defer reset(&s.plan, s.slots)
	s.plan.keyed = true
	a := aside[K, T]{s: s, st: s.slots.Own(), n: len(objs)}
	if err := replaceAside(&a, objs); err != nil {
		return err // the copy that has the first changes is dropped
	}
	publish(&a, rv)
	s.rewound = false // unless Replace failed
	return nil
}

// replaceAside stores objs and removes every other object.
func replaceAside[K comparable, T any](a *aside[K, T], objs []T) error {
	listed := make(bitset, (max(a.st.Slots(), len(objs))+63)/64)
	all := make([]Op[K, T], min(len(objs), blockLen))
	for len(objs) > 0 {
		n := min(len(objs), blockLen)
		ops := all[:n]
		for i, obj := range objs[:n] {
			key, err := keyOf(a.s, obj)
			if err != nil {
				return err
			}
			ops[i] = Op[K, T]{Key: key, Object: obj}
		}
		doAll(a, ops)
		if err := mark(a, ops, &listed); err != nil {
			return err
		}
		objs = objs[n:]
	}
	removeUnlisted(a, listed)
	return nil
}

// mark adds the slots of the objects of ops to listed, or returns the first error of ops.
func mark[K comparable, T any](a *aside[K, T], ops []Op[K, T], listed *bitset) error {
	keys := keysOf[K](a.st)
	for i := range ops {
		if ops[i].Err != nil {
			return ops[i].Err
		}
		slot, _ := keytable.Find(keys, hashOf(&a.s.readSide, ops[i].Key), ops[i].Key)
		listed.add(slot)
	}
	return nil
}

// removeUnlisted removes the objects in all other slots. It goes by slot and not by key, so
// that it also finds objects whose keys were changed behind the store's back.
func removeUnlisted[K comparable, T any](a *aside[K, T], listed bitset) {
	for slot := range uint32(a.st.Slots()) {
		if slots.Used(a.st, slot) && !listed.has(slot) {
			slots.Remove(changeAside(a), slot)
		}
	}
}

// bitset has one bit per slot. Bits that it has no word for are not set.
type bitset []uint64

func (b bitset) has(i uint32) bool { return int(i>>6) < len(b) && b[i>>6]&(1<<(i&63)) != 0 }

//go:noinline
func (b *bitset) add(i uint32) {
	for int(i>>6) >= len(*b) {
		*b = append(*b, 0)
	}
	(*b)[i>>6] |= 1 << (i & 63)
}
