package deltafifo

import (
	"hash/maphash"
	"math/bits"

	"github.com/kinform/kinform/internal/keytable"
	"github.com/kinform/kinform/internal/packed"
)

// keyedObject is one object of a list.
type keyedObject[K comparable, T any] struct {
	Key    K
	Object T
}

// Objects holds the objects of a list, one per key, in the order in which their keys were first
// set. The zero value is empty. Only one goroutine may use it. Once given to a queue it must not
// change, because the queue uses it without a copy. Cost: 25 bytes per object beyond the key and the
// object, 16 more if any object has a version, and 8 more if any has a sum.
type Objects[K comparable, T any] struct {
	chunks [][]keyedObject[K, T] // of chunkLen, but for the last
	numbers

	codec    packed.Codec   // nil unless objects are packed
	packedOf func(K) string // what the store's object of a key is packed into; nil as codec

	seed  maphash.Seed // set with the first object, as is parts
	parts keytable.Parts[K]
}

const (
	chunkShift = 10
	chunkLen   = 1 << chunkShift

	// blockLen is the number of objects that are looked up together. A lookup is mostly a wait for
	// memory, and the processor can wait for many reads at a time if they are independent.
	blockLen = 64
)

// Len returns the number of objects. A nil *Objects has none.
func (l *Objects[K, T]) Len() int {
	if l == nil {
		return 0
	}
	settleObjects(l)
	return l.n
}

// Set adds an object, or replaces the object with the same key. resourceVersion becomes
// Delta.ResourceVersion; leave it empty to save memory if the object itself has it. Amortized O(1).
func (l *Objects[K, T]) Set(key K, obj T, resourceVersion string) {
	l.unknown = true
	setObject(l, key, obj, resourceVersion, 0)
}

// setObject is Set for an object that carries its own version if resourceVersion is empty.
func setObject[K comparable, T any](l *Objects[K, T], key K, obj T, resourceVersion string, sum uint64) {
	if l.seed == (maphash.Seed{}) {
		l.seed, l.parts = maphash.MakeSeed(), keytable.PartsOf[K]()
	}
	item, text := keyedObject[K, T]{key, obj}, ""
	if l.codec != nil {
		var err error
		if text, err = l.codec.Pack(obj); err == nil { // else it is kept, and the store reports it
			item.Object = *new(T)
		}
		if had := l.packedOf(key); l.codec.Same(had, text) {
			text = had // so that there is one copy
		}
	}
	appendItem(l, item, resourceVersion, sum, text)
	if l.n-l.found == blockLen {
		settleObjects(l)
	}
}

// settleObjects adds the objects set since its last call to the table at. An object whose key is there
// already replaces the earlier object.
func settleObjects[K comparable, T any](l *Objects[K, T]) {
	first, end := l.found, l.n
	if first == end {
		return
	}
	var hashes [blockLen]uint32
	for n := first; n < end; n++ {
		l.touched ^= keytable.Touch(l.parts, itemAt(l, n).Key)
	}
	for n := first; n < end; n++ {
		hashes[n-first] = hashOf(l, itemAt(l, n).Key)
	}
	if end >= chunkLen && bits.Len(uint(first)) < bits.Len(uint(end)) {
		l.at.Reserve(end)
	}
	readAhead(&l.numbers, hashes[:end-first])
	for n := first; n < end; n++ {
		to, ok := lookUp(l, hashes[n-first], itemAt(l, n).Key)
		if !ok {
			to = insertFound(&l.numbers, hashes[n-first])
		}
		copyItem(l, to, n)
	}
	for l.n > l.found {
		dropLast(l)
	}
}

// appendItem adds an object to the last chunk. The first one grows with the list; a large list
// that grew in one piece would be copied over and over.
func appendItem[K comparable, T any](l *Objects[K, T], item keyedObject[K, T], version string, sum uint64, packed string) {
	last := l.n >> chunkShift
	if last == len(l.chunks) {
		addChunk(l)
	}
	l.chunks[last] = append(l.chunks[last], item)
	addNumber(&l.numbers, version, sum, packed)
}

//go:noinline
func addChunk[K comparable, T any](l *Objects[K, T]) {
	room := chunkLen
	if len(l.chunks) == 0 {
		room = 0
	}
	l.chunks = append(l.chunks, make([]keyedObject[K, T], 0, room))
}

// copyItem copies object n to the place of another object.
func copyItem[K comparable, T any](l *Objects[K, T], other, n int) {
	if other == n {
		return
	}
	*itemAt(l, other) = *itemAt(l, n)
	copyNumber(&l.numbers, other, n)
}

// replaced returns the delta of object n of a list.
func replaced[K comparable, T any](l *Objects[K, T], n int, initial bool) Delta[T] {
	return Delta[T]{
		Type: Replaced, Initial: initial, Object: listedObject(l, n), Packed: packedAt(&l.numbers, n),
		Sum: sumAt(&l.numbers, n), ResourceVersion: versionAt(&l.numbers, n),
	}
}

// Delete removes the object with the key, if there is one. The last object takes its place. O(1).
func (l *Objects[K, T]) Delete(key K) {
	if l.Len() == 0 {
		return
	}
	n, ok := lookUp(l, hashOf(l, key), key)
	if !ok {
		return
	}
	last := l.n - 1
	l.at.Remove(uint32(n))
	if n != last {
		copyItem(l, n, last)
		l.at.Move(uint32(last), uint32(n))
	}
	dropLast(l)
	l.found = l.n
}

// dropLast removes the last object.
func dropLast[K comparable, T any](l *Objects[K, T]) {
	*itemAt(l, l.n-1) = keyedObject[K, T]{}
	dropNumber(&l.numbers)
	chunk := &l.chunks[l.n>>chunkShift]
	if *chunk = (*chunk)[:l.n&(chunkLen-1)]; len(*chunk) == 0 {
		l.chunks = l.chunks[:l.n>>chunkShift]
	}
}

func hashOf[K comparable, T any](l *Objects[K, T], key K) uint32 {
	return uint32(maphash.Comparable(l.seed, key) >> 32)
}

func itemAt[K comparable, T any](l *Objects[K, T], n int) *keyedObject[K, T] {
	return &l.chunks[n>>chunkShift][n&(chunkLen-1)]
}

// listedObject returns object n, unpacked.
func listedObject[K comparable, T any](l *Objects[K, T], n int) T {
	if text := packedAt(&l.numbers, n); text != "" {
		return packed.Open[T](l.codec, text)
	}
	return itemAt(l, n).Object
}

// blockAt returns up to blockLen objects from number n on, a multiple of blockLen.
func blockAt[K comparable, T any](l *Objects[K, T], n int) []keyedObject[K, T] {
	chunk := l.chunks[n>>chunkShift][n&(chunkLen-1):]
	return chunk[:min(len(chunk), blockLen)]
}

// lookUp returns the number of the object with the key.
func lookUp[K comparable, T any](l *Objects[K, T], hash uint32, key K) (int, bool) {
	var p keytable.Probe
	for {
		n, ok := l.at.Next(hash, &p)
		if !ok {
			return 0, false
		}
		if itemAt(l, int(n)).Key == key {
			return int(n), true
		}
	}
}

// numberIn returns the number of the object with the key. All objects must be settled.
func numberIn[K comparable, T any](l *Objects[K, T], key K) (int, bool) {
	if l == nil || l.n == 0 {
		return 0, false
	}
	return lookUp(l, hashOf(l, key), key)
}
