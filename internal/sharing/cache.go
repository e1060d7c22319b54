package sharing

import (
	"hash/maphash"
	"math/bits"
	"unsafe"
)

// maxPart is the size of the largest part kept, in bytes including its content.
const maxPart = 64 << 10

// maxDepth is the limit for the nesting of values that are followed, as in JSON.
const maxDepth = 10_000

// Cache is a fixed-size table of the parts that objects share. A part enters when it comes for
// the second time, and replaces a part that has been there longer. So parts that never repeat
// neither replace others nor stay alive. A Cache serves one plan, and one goroutine at a time.
type Cache struct {
	buckets []bucket
	seed    maphash.Seed

	// State of the current walk.
	weight uintptr // bytes seen
	depth  int
}

// ways is the number of parts in one bucket of the table.
const ways = 4

// bucket is one place of the table.
type bucket struct {
	hashes [ways]uint32
	once   [ways]uint32 // hashes of the last parts that did not enter
	parts  [ways]part
	in     uint8 // place of the next part
	out    uint8 // place of the next hash
}

type part struct {
	at   unsafe.Pointer // target of the pointer, slice or map
	node *node          // of the target
	len  int            // of a slice
}

// NewCache returns a cache of at least the given number of parts, at 34 bytes each. It keeps
// its parts alive: each came twice and has at most 64 KiB.
func NewCache(parts int) *Cache {
	return &Cache{buckets: make([]bucket, 1<<bits.Len(uint(max(parts, 1)-1)/ways)), seed: maphash.MakeSeed()}
}

// find returns the part equal to p, and the hash for the value that holds it. p has a hash,
// and began when the walk had seen the given number of bytes.
func (c *Cache) find(p part, hash uint64, before uintptr) (unsafe.Pointer, uint64) {
	if p.node.own || c.weight-before > maxPart {
		return p.at, uint64(uintptr(p.at)) // equal only to itself
	}
	b := &c.buckets[hash&uint64(len(c.buckets)-1)]
	high := uint32(hash>>32) | 1
	for i, h := range b.hashes {
		if q := &b.parts[i]; h == high && q.node == p.node && q.len == p.len && p.node.equal(q.at, p.at, p.len) {
			return q.at, hash
		}
	}
	for i, h := range b.once {
		if h == high {
			b.once[i] = 0
			b.hashes[b.in], b.parts[b.in] = high, p
			b.in = (b.in + 1) % ways
			return p.at, hash
		}
	}
	b.once[b.out] = high
	b.out = (b.out + 1) % ways
	return p.at, hash
}

// mix adds a hash to another. Order matters.
func mix(h, x uint64) uint64 {
	hi, lo := bits.Mul64(h^0x9e3779b97f4a7c15, x^0xbf58476d1ce4e5b9)
	return hi ^ lo + x
}

// bytes returns a hash of memory.
func (c *Cache) bytes(p unsafe.Pointer, size uintptr) uint64 {
	switch size {
	case 1:
		return uint64(*(*uint8)(p))
	case 4:
		return uint64(*(*uint32)(p))
	case 8:
		return *(*uint64)(p)
	}
	return maphash.String(c.seed, unsafe.String((*byte)(p), size))
}
