package store

import (
	"github.com/kinform/kinform/internal/keytable"
	"github.com/kinform/kinform/internal/nocmp"
	"github.com/kinform/kinform/internal/slots"
)

// blockLen is the number of keys that are looked up together. Each step of the lookup is done for
// all of them before the next step. A step is mostly a wait for memory, and the processor can
// wait for many reads at a time if they do not depend on each other.
const blockLen = 64

// block holds the keys of some objects, and their slots.
type block[K comparable] struct {
	_ nocmp.Type

	n      int
	keys   [blockLen]K
	hashes [blockLen]uint32
	slots  [blockLen]uint32
	stored [blockLen]bool // the key is stored, in slots

	touched uint32 // keeps reads ahead from being optimized away
}

// takeKeys makes b the keys from number from on, as many as it has room for, and hashes them.
func takeKeys[K comparable, T any](b *block[K], r *Reader[K, T], keys []K, from int) {
	b.n = copy(b.keys[:], keys[from:])
	hashAll(b, r)
}

// hashAll hashes all keys. It panics when one cannot be compared.
func hashAll[K comparable, T any](b *block[K], r *Reader[K, T]) {
	for _, key := range b.keys[:b.n] {
		b.touched ^= keytable.Touch(r.parts, key)
	}
	for i, key := range b.keys[:b.n] {
		b.hashes[i] = hashOf(r, key)
	}
}

// findAll looks up all keys, which have been hashed.
func findAll[K comparable, T any](b *block[K], st *slots.State[T]) {
	keys := keysOf[K](st)
	for i, hash := range b.hashes[:b.n] {
		b.slots[i], b.stored[i] = keytable.Likely(keys, hash)
	}
	for i, hash := range b.hashes[:b.n] {
		if b.stored[i] {
			b.slots[i], b.stored[i] = keytable.Find(keys, hash, b.keys[i])
		}
	}
}
