package kubeproto

import (
	"bytes"
	"math/bits"
	"reflect"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/kinform/kinform/internal/sharing"
)

// maxPart is the largest number of bytes of a part.
const maxPart = 64 << 10

// deepestPart is the largest depth of messages at which fields are parts, and so of the messages in
// parts. Otherwise each byte could be hashed and kept once for each level, and a known part could
// get around MaxDepth.
const deepestPart = 64

// Parts lets objects share equal parts in memory, as package sharing does. But it knows a part by
// its bytes, before it is decoded: a part that is known is not decoded again and makes no garbage.
// A part is the value of a pointer, slice or map of a message, with all that is in it. It enters
// when it comes for the second time, so that parts which never repeat push out no others, and
// leaves when another one needs its place.
//
// Values whose methods may write to them are no parts, nor is what contains them (see
// [sharing.Owned]). Nobody may write to an object that was decoded with Parts, except to its own
// struct.
//
// Parts belong to one Plan and one value of Options.DropManagedFields. Any number of goroutines may
// use them at the same time.
type Parts struct {
	rows  []row
	small *smalls   // in its own memory, so that an object that outlives the Parts does not keep all of them
	spare sync.Pool // of *recent, empty ones
}

// rowParts is the number of places in a row.
const rowParts = 4

// row has places for parts with some bits of their hashes in common. Other bits of a hash are the part's mark. A row is
// one line of the processor's cache, because most of the time that a part takes is waiting for memory. With two places
// for a part in lines of their own, and once in a third, pods take 4–8% more time (BenchmarkShapes in bench/decode).
//
// A mark is stored after its part. For a moment they may not match, so a part is known by its bytes alone.
type row struct {
	parts [rowParts]atomic.Pointer[part]
	marks [rowParts]atomic.Uint32 // of parts; 0 if there is none
	once  [rowParts]atomic.Uint32 // of the last parts that did not enter
}

// smalls are the targets of pointers to small numbers, by value. Nobody writes to them.
type smalls struct {
	bools  [2]bool
	int32s [smallNumbers]int32
	int64s [smallNumbers]int64
}

// part is immutable.
type part struct {
	of   *naming // the field
	raw  []byte
	at   unsafe.Pointer // the target of the pointer, slice or map
	len  int            // of a slice
	cost int64          // against Options.MaxMemory
}

// NewParts returns an empty memory of at least so many parts. Each takes 16 bytes, and the part and
// its encoded bytes once it is known.
func NewParts(most int) *Parts {
	n := 1 << bits.Len(uint(max(most, 1)-1)/rowParts)
	small := &smalls{bools: [2]bool{false, true}}
	for i := range smallNumbers {
		small.int32s[i], small.int64s[i] = int32(i), int64(i)
	}
	return &Parts{rows: make([]row, n), small: small}
}

// place returns the row and the mark of a part, and one of the places in the row.
func (s *Parts) place(hash uint64) (r *row, mark uint32, at int) {
	return &s.rows[hash&uint64(len(s.rows)-1)], uint32(hash>>32) | 1, int(hash>>30) % rowParts
}

// find returns the part of a field that has the bytes raw. If there is none, again reports whether
// it was looked up before, so that it is worth a place.
func (s *Parts) find(of *naming, raw []byte, hash uint64) (known *part, again bool) {
	r, mark, at := s.place(hash)
	for i := range r.marks {
		if r.marks[i].Load() != mark {
			continue
		}
		if p := r.parts[i].Load(); p != nil && p.of == of && bytes.Equal(p.raw, raw) {
			return p, false
		}
	}
	if r.once[at].Load() == mark {
		return nil, true
	}
	r.once[at].Store(mark)
	return nil, false
}

// add gives p a place: a free one, or another part's.
func (s *Parts) add(p *part, hash uint64) {
	r, mark, at := s.place(hash)
	for i := range r.parts {
		if r.parts[i].Load() == nil {
			at = i
			break
		}
	}
	r.parts[at].Store(p)
	r.marks[at].Store(mark)
}

// hashOf returns the hash of a field's bytes.
func (n *naming) hashOf(raw []byte) uint64 {
	const k = 0xd6e8feb86659fd93
	h := (hash(raw) ^ uint64(uintptr(unsafe.Pointer(n)))) * k
	return h ^ h>>32
}

// partRule says whether the values of a field can be parts.
type partRule uint8

const (
	noPart    partRule = iota // no, but its container can be
	wholePart                 // yes
	apart                     // no, and neither can its container
)

// rule returns the rule of a field.
func (f *field) rule() partRule {
	if f.wire != wireBytes {
		return noPart // see scalars
	}
	owned := false
	switch f.holder {
	case holdPointer, holdSlice, holdPointers, holdManagedFields:
		owned = sharing.Owned(f.element.typ)
	case holdStringMap, holdQuantityMap, holdMap: // a value in a map has no address
	default:
		return noPart
	}
	if owned {
		return apart
	}
	return wholePart
}

// keepsApart reports whether a value of t, which only its own method can decode, may hold more than
// memory that nobody writes to.
func keepsApart(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Struct:
		if t.PkgPath() == "unique" { // as in metav1.FieldsV1 from apimachinery 0.38 on
			return false
		}
		for i := range t.NumField() {
			if keepsApart(t.Field(i).Type) {
				return true
			}
		}
		return false
	case reflect.Slice, // it may have spare room, as the generated code leaves it
		reflect.Pointer, reflect.Map, reflect.Array, reflect.Func, reflect.Chan:
		return true
	}
	return false // an interface is nil: an Unmarshal method does not know what to put in
}

// part reads the value data[start:cut] of a field that has a rule, whose length is at from, or
// takes it from the parts. Of a slice or map, these are all values that follow each other. It
// returns the position after them.
func (d *decoder) part(f *field, p unsafe.Pointer, data []byte, tag uint64, from, start, cut int) (int, *DecodeError) {
	if f.parts == apart || d.depth > deepestPart {
		d.owned++
		return cut, d.held(f, p, data, tag, start, cut)
	}
	target := (*unsafe.Pointer)(p) // the first word of all holders
	if *target != nil {
		// The field comes once more, and what it has so far may be a part of other objects.
		return 0, d.without(start)
	}
	if f.holder == holdManagedFields && d.dropManaged {
		return cut, nil
	}
	end := cut
	if f.holder != holdPointer {
		_, end = following(data, tag, cut)
	}
	raw := data[from:end] // with the first length, which says how many values there are
	if len(raw) > maxPart {
		d.owned++
		return end, d.run(f, p, data, tag, start, cut, end)
	}
	h := f.hashOf(raw)
	known, again := d.parts.find(f.naming, raw, h)
	if known == nil {
		known = d.recent.find(f.naming, raw, h)
	}
	if known != nil {
		if d.left -= known.cost; d.left < 0 {
			return 0, d.without(start)
		}
		*target = known.at
		if f.isSlice() {
			list := (*sliceHeader)(p)
			list.len, list.cap = known.len, known.len
		}
		return end, nil
	}
	owned, left := d.owned, d.left
	if err := d.run(f, p, data, tag, start, cut, end); err != nil {
		return 0, err
	}
	if d.owned == owned {
		one := part{of: f.naming, raw: raw, at: *target, cost: left - d.left}
		if f.isSlice() {
			one.len = (*sliceHeader)(p).len
		}
		d.keep(one, h, again)
	}
	return end, nil
}

// keep gives a new part a place in Parts if it came before, in another object. If not, it may come
// again in this one.
func (d *decoder) keep(one part, hash uint64, again bool) {
	if !again {
		d.recent.add(one, hash)
		return
	}
	one.raw = bytes.Clone(one.raw)
	d.parts.add(&one, hash)
}

// recentParts is the number of parts of an object that are remembered although no other object had
// them.
const recentParts = 8

// recent are the last parts of the object that is being decoded that did not enter Parts. An equal
// part that follows shares their memory, and does not enter either. Their bytes are the object's.
//
// It takes half a KB. The decoder has a pointer to it, so that an object which is decoded without
// parts need not clear it.
type recent struct {
	parts  [recentParts]part
	hashes [recentParts]uint64
	added  int
}

// lend returns an empty recent. Call giveBack next.
func (s *Parts) lend() *recent {
	if r, ok := s.spare.Get().(*recent); ok {
		return r
	}
	return new(recent)
}

// giveBack takes a recent that nobody uses any more.
func (s *Parts) giveBack(r *recent) {
	*r = recent{}
	s.spare.Put(r)
}

// find returns the part of a field that has the bytes raw, or nil.
func (r *recent) find(of *naming, raw []byte, hash uint64) *part {
	for i, h := range r.hashes[:min(r.added, recentParts)] {
		if p := &r.parts[i]; h == hash && p.of == of && bytes.Equal(p.raw, raw) {
			return p
		}
	}
	return nil
}

// add replaces the oldest part.
func (r *recent) add(p part, hash uint64) {
	i := r.added % recentParts
	r.parts[i], r.hashes[i] = p, hash
	r.added++
}

// without lets the object be decoded again, without parts: a field comes twice in a message, which protobuf
// merges, and nobody may write to a part that is known.
func (d *decoder) without(at int) *DecodeError {
	d.again = true
	return &DecodeError{Offset: at}
}

// within keeps the container of a map entry from becoming a part if the entry's values extend beyond
// its end, because then the result depends on more than the bytes of the entry.
func (d *decoder) within(at, end int) {
	if at > end {
		d.owned++
	}
}

// run reads the value at start and those that follow it with the same tag, up to end.
func (d *decoder) run(f *field, p unsafe.Pointer, data []byte, tag uint64, start, cut, end int) *DecodeError {
	for {
		if err := d.held(f, p, data, tag, start, cut); err != nil {
			return err
		}
		if cut == end {
			break
		}
		_, next := uvarint(data, cut)
		start, cut = span(data, next)
	}
	if f.isSlice() {
		list := (*sliceHeader)(p)
		list.cap = list.len // so that appending to a part makes a copy
	}
	return nil
}

func (f *field) isSlice() bool {
	return f.holder == holdSlice || f.holder == holdPointers || f.holder == holdManagedFields
}

// smallNumbers is the number of small numbers that all objects share: seconds, percentages, ports
// below 512.
const smallNumbers = 512

// target returns the common target of pointers to the value v of a field, or nil if there is none.
func (s *smalls) target(f *field, v uint64) unsafe.Pointer {
	switch {
	case f.shape == shapeBool && v == 0:
		return unsafe.Pointer(&s.bools[0])
	case f.shape == shapeBool:
		return unsafe.Pointer(&s.bools[1])
	case f.wire != wireVarint || v >= smallNumbers:
		return nil
	case f.shape == shape32:
		return unsafe.Pointer(&s.int32s[v])
	case f.shape == shape64:
		return unsafe.Pointer(&s.int64s[v])
	}
	return nil
}

// scalar stores a scalar in the field at p, as storeScalar does. The targets of pointers are
// shared.
func (d *decoder) scalar(f *field, p unsafe.Pointer, v uint64) {
	if f.holder == holdPointer {
		if at := d.parts.small.target(f, v); at != nil {
			*(*unsafe.Pointer)(p) = at
			return
		}
	}
	d.storeScalar(f, p, v)
	if f.holder == holdSlice {
		d.scalars((*sliceHeader)(p))
	}
}

// exactScalars is the longest list of scalars that may be within a part. It has no spare room, so
// that appending to it makes a copy.
const exactScalars = 16

// scalars drops the spare room of a short list of scalars, so that appending to it makes a copy.
// The container of a longer list cannot be a part.
func (d *decoder) scalars(list *sliceHeader) {
	if list.len > exactScalars {
		d.owned++
		return
	}
	list.cap = list.len
}
