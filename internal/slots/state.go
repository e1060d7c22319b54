package slots

import (
	"sync/atomic"

	"github.com/kinform/kinform/internal/cowvec"
	"github.com/kinform/kinform/internal/keytable"
	"github.com/kinform/kinform/internal/posting"
)

// State is everything that a commit changes.
//
// Invariants: a slot is in use in objs exactly when keys has a key for it; every index holds
// exactly the slots in use, under the values of their objects; slot objs.Len()-1 is in use, and at
// least a quarter of the slots is in use once there are more than minSlots.
type State[T any] struct {
	objs    cowvec.Vec[T]
	opener  *opener // nil unless objects are packed; shared by all States
	indexes []Index[T]
	tables

	frozen atomic.Bool // if set, it never changes again: the next change is made on a clone
}

// tables are what a State has for its slots without the type of their objects. They have no methods, which each
// State would have again.
type tables struct {
	keys    keytable.Keys
	sums    sums
	rows    *posting.Rows // a column for each index, in their order; as long as objs if there are any
	removed int           // since the last tidy
}

func cloneTables(to, from *tables) {
	to.keys, to.sums, to.rows = from.keys.Clone(), from.sums.clone(), from.rows.Clone()
}

const minSlots = 64

// Len returns the number of objects.
func (st *State[T]) Len() int { return st.objs.Live() }

// Slots returns the number of slots; every slot number is below it.
func (st *State[T]) Slots() int { return st.objs.Len() }

// At returns the object in slot, the zero T if it is packed.
func (st *State[T]) At(slot uint32) T { return st.objs.At(slot) }

// Packs reports whether objects are packed.
func (st *State[T]) Packs() bool { return st.opener != nil }

// Packed returns the bytes of the object in slot, "" if it is not packed.
func Packed[T any](st *State[T], slot uint32) string {
	if st.opener == nil {
		return ""
	}
	return st.objs.Beside(slot)
}

// Open returns the object that [State.At] and [Packed] have returned, in a State that packs: a new one.
func Open[T any](st *State[T], kept T, bytes string) T { return open(st.opener, kept, bytes) }

// Pack returns the bytes that obj is packed into, in a State that packs. After an error it is to be stored as it is. Pack
// calls the object's code.
func Pack[T any](st *State[T], obj T) (string, error) { return st.opener.codec.Pack(obj) }

// Whole returns the object in slot, packed or not. The lock should not be held.
func Whole[T any](st *State[T], slot uint32) T {
	if st.opener == nil {
		return st.objs.At(slot)
	}
	return open(st.opener, st.objs.At(slot), st.objs.Beside(slot))
}

// SumOf returns the sum of the object in slot, which is zero if none was set.
func SumOf[T any](st *State[T], slot uint32) uint64 {
	return st.sums.at(slot)
}

// SetSum sets the sum of the object in slot. Nothing is allocated before the first sum that is not
// zero.
func SetSum[T any](st *State[T], slot uint32, sum uint64) {
	st.sums.set(slot, sum, st.objs.Len())
}

// Used reports whether slot holds an object.
func Used[T any](st *State[T], slot uint32) bool { return cowvec.Used(&st.objs, slot) }

// Keys returns the keys, for callers that know their type.
func (st *State[T]) Keys() keytable.Keys { return st.keys }

// Indexes returns the indexes in the order in which they were added. Read only.
func (st *State[T]) Indexes() []Index[T] { return st.indexes }

// Lookup returns the index called name, or nil.
func Lookup[T any](st *State[T], name string) Index[T] {
	for _, x := range st.indexes {
		if x.Name() == name {
			return x
		}
	}
	return nil
}

// Warm reads the memory of the indexes that Remove will read for slot, and changes nothing. See
// posting.Lists.Warm.
func Warm[T any](st *State[T], slot uint32) (x uint32) {
	for _, ix := range st.indexes {
		x ^= ix.Warm(slot)
	}
	return x
}

// Reserve makes room for n more objects, which makes their insertion faster.
func Reserve[T any](st *State[T], n int) {
	st.keys.Reserve(n)
}

// Insert adds obj, or its bytes if it is packed, with value set staged of every index, and returns its slot. The
// caller must add the key of the slot.
func Insert[T any](st *State[T], obj T, bytes string, staged int) uint32 {
	slot := cowvec.Insert(&st.objs, obj)
	if st.opener != nil {
		hold(st, slot, obj, bytes)
	}
	st.rows.Lengthen(int(slot) + 1)
	for _, x := range st.indexes {
		x.Put(slot, staged)
	}
	return slot
}

// Replace replaces the object in slot by one with the same key and the same values in all indexes.
func Replace[T any](st *State[T], slot uint32, obj T, bytes string) {
	if st.opener != nil {
		hold(st, slot, obj, bytes)
		return
	}
	cowvec.Set(&st.objs, slot, obj)
}

// hold makes slot, which is in use, hold obj or its bytes.
//
//go:noinline
func hold[T any](st *State[T], slot uint32, obj T, bytes string) {
	if bytes != "" {
		obj = *new(T)
	}
	cowvec.Set(&st.objs, slot, obj)
	cowvec.SetBeside(&st.objs, slot, bytes)
}

// Update replaces the object in slot by one with the same key, and its values by value set staged.
func Update[T any](st *State[T], slot uint32, obj T, bytes string, staged int) {
	Replace(st, slot, obj, bytes)
	for _, x := range st.indexes {
		x.Put(slot, staged)
	}
}

// Remove frees slot.
func Remove[T any](st *State[T], slot uint32) {
	for _, x := range st.indexes {
		x.Drop(slot)
	}
	st.keys.Remove(slot)
	cowvec.Remove(&st.objs, slot)
	st.removed++
}

// tidy gives memory back after removals. Free slots at the end go at once. While less than a
// quarter of the slots is in use, two objects per removal move from the end to lower slots. So
// each commit does work in proportion to its own removals.
func tidy[T any](st *State[T]) {
	if st.removed == 0 {
		return
	}
	for i := 0; i < 2*st.removed && st.objs.Len() > minSlots && st.objs.Live() < st.objs.Len()/4; i++ {
		from := uint32(st.objs.Len() - 1)
		to := cowvec.Insert(&st.objs, st.objs.At(from))
		cowvec.SetBeside(&st.objs, to, st.objs.Beside(from))
		st.keys.Move(from, to)
		SetSum(st, to, SumOf(st, from))
		for _, x := range st.indexes {
			x.Move(from, to)
		}
		cowvec.Remove(&st.objs, from)
	}
	st.removed = 0
	n := st.objs.Len()
	st.keys.Truncate(n)
	st.sums.truncate(n)
	if n >= st.rows.Len() {
		return
	}
	st.rows.Truncate(n)
	for _, x := range st.indexes {
		x.Truncate(n)
	}
}

func clone[T any](st *State[T]) *State[T] {
	c := &State[T]{objs: cowvec.Clone(&st.objs), opener: st.opener, indexes: make([]Index[T], len(st.indexes))}
	cloneTables(&c.tables, &st.tables)
	for i, x := range st.indexes {
		c.indexes[i] = x.Clone(c.rows)
	}
	return c
}
