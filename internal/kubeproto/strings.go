package kubeproto

import (
	"encoding/binary"
	"math/bits"
	"unsafe"
)

// DefaultSlots is enough slots for most repeated strings of a large cluster's pods: names of
// namespaces, nodes, images and applications, label keys.
const DefaultSlots = 8192

// maxInterned is the longest string that is looked up, in bytes. Longer ones, such as
// the last-applied annotation, seldom repeat.
const maxInterned = 128

// Strings is a fixed-size cache that makes equal strings share memory: a string in the cache is
// not allocated again. A string enters the cache when it comes for the second time, and leaves
// it when another string with the same slot has come twice. So strings that never repeat neither
// push out others nor are kept alive, except for a few of the last ones: a string that only one
// object has, but has twice, is then allocated once, and does not enter.
//
// A plan also keeps other things here from one object to the next: see scalars and quantities.
//
// Any number of plans can use it, in one goroutine at a time. The zero value keeps no strings, and
// nil keeps nothing.
type Strings struct {
	slots []slot
	last  [lastStrings]last

	scalars    scalars
	quantities *quantities // nil until there is one
}

// lastStrings is a power of two that is much larger than the number of strings that one object has
// and no other.
const lastStrings = 128

// last is the last string that came once, of those that have a place in common.
type last struct {
	text string
	hash uint32 // of text
}

type slot struct {
	text string
	hash uint32 // of text
	once uint32 // hash of the last string that was not text
}

// NewStrings returns a cache of at least the given number of slots, each 24 bytes and a
// string of up to 128 bytes, and of 128 more strings. 0 and less mean [DefaultSlots].
func NewStrings(slots int) *Strings {
	if slots <= 0 {
		slots = DefaultSlots
	}
	return &Strings{slots: make([]slot, 1<<bits.Len(uint(slots-1)))}
}

// Get returns b as a string that does not share b's memory.
func (s *Strings) Get(b []byte) string {
	if s == nil || len(b) == 0 || len(b) > maxInterned || len(s.slots) == 0 {
		return string(b)
	}
	h := hash(b)
	at := &s.slots[h&uint64(len(s.slots)-1)]
	high := uint32(h>>32) | 1
	if at.hash == high && at.text == string(b) { // the hash first: the text may be far away
		return at.text
	}
	recent := &s.last[h>>32%lastStrings]
	if recent.hash == high && recent.text == string(b) {
		at.once = high
		return recent.text
	}
	text := string(b)
	if at.once == high {
		at.text, at.hash = text, high
		return text
	}
	at.once = high
	recent.text, recent.hash = text, high
	return text
}

// Intern is Get for a string, which is not copied.
func (s *Strings) Intern(text string) string {
	if s == nil || text == "" || len(text) > maxInterned || len(s.slots) == 0 {
		return text
	}
	h := hash(unsafe.Slice(unsafe.StringData(text), len(text)))
	at := &s.slots[h&uint64(len(s.slots)-1)]
	switch high := uint32(h>>32) | 1; {
	case at.hash == high && at.text == text:
		return at.text
	case at.once != high:
		at.once = high
	default:
		at.text, at.hash = text, high
	}
	return text
}

// hash mixes all of b, 16 bytes at a time. It is fast rather than good: a collision costs one
// allocation, so a hostile server gains nothing by causing collisions.
func hash(b []byte) uint64 {
	const k0, k1 = 0x9e3779b97f4a7c15, 0xbf58476d1ce4e5b9
	n := len(b)
	h := uint64(n+1) * k0
	for ; len(b) > 16; b = b[16:] {
		hi, lo := bits.Mul64(binary.LittleEndian.Uint64(b)^k1, binary.LittleEndian.Uint64(b[8:])^h)
		h = hi ^ lo
	}
	var x, y uint64
	switch n = len(b); {
	case n >= 8:
		x, y = binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[n-8:])
	case n >= 4:
		x, y = uint64(binary.LittleEndian.Uint32(b)), uint64(binary.LittleEndian.Uint32(b[n-4:]))
	case n > 0:
		x, y = uint64(b[0])<<8|uint64(b[n/2]), uint64(b[n-1])
	}
	hi, lo := bits.Mul64(x^k1, y^h)
	hi, lo = bits.Mul64(hi^lo^k0, k1)
	return hi ^ lo
}
