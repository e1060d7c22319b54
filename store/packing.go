package store

import (
	"reflect"

	"github.com/kinform/kinform/internal/keytable"
	"github.com/kinform/kinform/internal/packed"
	"github.com/kinform/kinform/internal/slots"
)

// codecOf returns what packs the objects that pointer, a nil pointer to a T, could point to. It is nil if they are not
// to be packed.
//
//go:noinline
func codecOf(packs bool, pointer any) (packed.Codec, error) {
	if !packs {
		return nil, nil
	}
	return packed.Of(reflect.TypeOf(pointer).Elem())
}

// unpack ends a read of st, and returns the object in slot, which may be packed.
//
//go:noinline
func unpack[K comparable, T any](r *Reader[K, T], st *slots.State[T], slot uint32) T {
	obj, packed := st.At(slot), slots.Packed(st, slot)
	r.slots.Done()
	return slots.Open(st, obj, packed)
}

// packedOf returns what the object under key is packed into, "" if there is none.
func packedOf[K comparable, T any](r *Reader[K, T], key K) (packed string) {
	hash := hashOf(r, key)
	st := r.slots.Read()
	if slot, ok := keytable.Find(keysOf[K](st), hash, key); ok {
		packed = slots.Packed(st, slot)
	}
	r.slots.Done()
	return packed
}

// getPacked is GetMany for packed objects, which are unpacked without the lock, each when it is needed.
//
//go:noinline
func getPacked[K comparable, T any](r *Reader[K, T], keys []K, yield func(i int, obj T, ok bool) bool) {
	var b block[K]
	for from := 0; from < len(keys); from += b.n {
		takeKeys(&b, r, keys, from)
		st := r.slots.Read()
		findAll(&b, st)
		view := slots.ViewOf(st)
		r.slots.Done()
		for i := range b.n {
			var obj T
			if b.stored[i] {
				obj = view.At(b.slots[i])
			}
			if !yield(from+i, obj, b.stored[i]) {
				return
			}
		}
	}
}

// oldOf returns the object in slot, for Old of an operation on its key. It is not unpacked to be kept: then the
// operation's object is the same.
func oldOf[K comparable, T any](st *slots.State[T], slot uint32, op *Op[K, T]) T {
	if op.Keep && !op.Delete && slots.Packed(st, slot) != "" {
		return op.Object
	}
	return slots.Whole(st, slot)
}

// pack packs the object of an operation if the store packs objects.
func pack[K comparable, T any](st *slots.State[T], op *Op[K, T]) {
	if !st.Packs() {
		return
	}
	if op.bytes = op.Packed; op.bytes == "" {
		op.bytes, op.Kept = slots.Pack(st, op.Object)
	}
}
