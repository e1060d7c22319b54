package informer

import (
	"time"

	"github.com/kinform/kinform/internal/objsize"
	"github.com/kinform/kinform/internal/usercode"
)

const (
	// sampled is the number of objects whose size is estimated.
	sampled = 16
	// sampledFor is how long their mean is used.
	sampledFor = time.Minute
)

// Bytes estimates the memory of the objects in the store, without the memory of the store itself:
// the mean size of 16 objects, as they are or packed, times their number. A part that several objects share, such as a
// string, counts for each of them. An unexported field counts without the memory that it refers to.
// Bytes computes the mean at the first call, and again a minute after that. That takes up to some
// 200 µs; any other call costs as much as Store().Len. Bytes reads objects, so nobody may write to
// them.
func (i *Informer[K, T]) Bytes() uint64 { return i.engine.Bytes() }

// sizeOf returns the size of an object in the store. packedOf is nil if objects are not packed.
func sizeOf[K comparable, T any](i *core[K, T], packedOf func(K) string, obj T) uint64 {
	if packedOf != nil {
		if key, err := usercode.Key(i.key, obj); err == nil {
			if n := len(packedOf(key)); n > 0 {
				return uint64(n)
			}
		}
	}
	return objsize.Of(obj)
}

func (i *core[K, T]) Bytes() uint64 {
	n := i.store.Len()
	if n == 0 {
		return 0
	}
	s := &i.size
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := time.Now(); s.mean == 0 || now.Sub(s.at) >= sampledFor {
		_, packedOf := i.store.Packing()
		sum, objs := uint64(0), i.store.Sample(sampled)
		for _, obj := range objs {
			sum += sizeOf(i, packedOf, obj)
		}
		if len(objs) > 0 {
			s.at, s.mean = now, float64(sum)/float64(len(objs))
		}
	}
	return uint64(s.mean * float64(n))
}
