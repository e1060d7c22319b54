package store

import (
	"reflect"
	"unsafe"

	"github.com/kinform/kinform/internal/cowvec"
)

// keyBatch is the number of keys that are read before the first one is yielded. The key
// function reads every object from memory; in a batch these reads overlap.
const keyBatch = 32

// pairs is a walk over the keys and objects of a snapshot. It leaves out objects that have no key.
//
// The loop over a batch is in the iterators of [Snapshot], so that the compiler can inline it
// together with the body of the caller's loop. Without a call per object, the processor reads many
// objects from memory at a time.
type pairs[K comparable, T any] struct {
	snap Snapshot[K, T]
	at   cowvec.Cursor
	rest []T // objects of the present run that were not read yet

	touched byte // keeps reads ahead from being optimized away

	n    int // the number of keys and objects of the present batch
	keys [keyBatch]K
	objs [keyBatch]T
}

// nextPairs reads the next batch, and returns false after the last one.
func nextPairs[K comparable, T any](p *pairs[K, T]) bool {
	for p.n = 0; p.n == 0; {
		if len(p.rest) == 0 {
			run, ok := p.snap.view.Next(&p.at)
			if !ok {
				return false
			}
			p.rest = run.Elems
		}
		batch := p.rest[:min(len(p.rest), keyBatch)]
		p.rest = p.rest[len(batch):]
		p.touched ^= touch(batch)
		for _, obj := range batch {
			if key, err := p.snap.key(obj); err == nil {
				p.keys[p.n], p.objs[p.n] = key, obj
				p.n++
			}
		}
	}
	return true
}

// touch reads the first and the 65th byte of each object that objs point to, or its last byte if it
// is smaller, and returns a value that depends on them. So the two cache lines that hold the name
// and the namespace of a Kubernetes object are there when the key function needs them. That
// function is so long that the processor would wait for one or two objects at a time. In this loop
// it waits for many. If T is no pointer, nothing is read. The race detector must not see the reads:
// the object may have an atomic field there, and the value that is read does not matter.
//
//go:norace
func touch[T any](objs []T) (x byte) {
	size := pointee((*T)(nil))
	if size == 0 {
		return 0
	}
	second := min(size-1, 64)
	for _, obj := range *(*[]unsafe.Pointer)(unsafe.Pointer(&objs)) { // a T is a pointer
		if obj != nil {
			x ^= *(*byte)(obj) ^ *(*byte)(unsafe.Add(obj, second))
		}
	}
	return x
}

// pointee returns the size of what a T points to, for a nil *T, and 0 if T is no pointer. See package typekind.
//
//go:noinline
func pointee(pointer any) uintptr {
	t := reflect.TypeOf(pointer).Elem()
	if t.Kind() != reflect.Pointer {
		return 0
	}
	return t.Elem().Size()
}
