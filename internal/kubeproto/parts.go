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

// maxPart is the largest number of bytes of a part. Larger values seldom repeat, and the tables would keep
// much memory for them.
const maxPart = 8 << 10

// deepestPart is the largest depth of messages at which fields are parts, and so of the messages in
// parts. Otherwise each byte could be hashed and kept once for each level, and a known part could
// get around MaxDepth.
const deepestPart = 64

// Parts lets objects share equal parts in memory, as package sharing does. But it knows a part by
// its bytes, before it is decoded: a part that is known is not decoded again and makes no garbage.
// A part is the value of a pointer, slice or map of a message, with all that is in it.
//
// A part enters when it comes for the second time, so that parts which never repeat push out no others.
// Fields whose values seldom repeat are not looked up: see luck. The tables grow with the parts that enter.
// Parts that nobody asks for leave when as many others have entered as there is room for: see generation.
//
// Values whose methods may write to them are no parts, nor is what contains them (see
// [sharing.Owned]). Nobody may write to an object that was decoded with Parts, except to its own
// struct.
//
// Parts belong to one Plan and one value of Options.DropManagedFields. Any number of goroutines may
// use them at the same time.
type Parts struct {
	young, old atomic.Pointer[generation]
	once       atomic.Pointer[[]atomic.Uint32] // hashes of the last parts that did not enter
	missed     atomic.Int64                    // number of parts that did not enter

	most  int       // slots of a generation
	small *smalls   // in its own memory, so that an object that outlives the Parts does not keep all of them
	spare sync.Pool // of *recent, without parts
}

// generation is a table of parts. All parts enter the young one. When that is half full, or has bytes
// enough, it becomes the old one, and the old one's parts go that did not come again meanwhile.
type generation struct {
	rows         []row
	added, bytes atomic.Int64
}

// rowParts is the number of places in a row.
const rowParts = 4

// row has places for parts with some bits of their hashes in common. Other bits of a hash are the part's mark. They are
// side by side, because most of the time that a part takes is waiting for memory.
//
// A mark is stored after its part. For a moment they may not match, so a part is known by its bytes alone.
type row struct {
	parts [rowParts]atomic.Pointer[part]
	marks [rowParts]atomic.Uint32 // of parts; 0 if there is none
}

// slotBytes is the number of encoded bytes per slot after which a generation is full.
const slotBytes = 256

// The tables begin small: many collections have few objects, or few that are alike.
const (
	fewParts = 512
	fewOnce  = 2048
	mostOnce = 1 << 16
)

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

// NewParts returns an empty memory, which takes 20 KB. It grows to two tables of at most so many slots, at 12
// bytes each, for half as many parts and their encoded bytes, up to 256 per slot.
func NewParts(most int) *Parts { return newParts(min(most, fewParts), most) }

// newParts is NewParts with tables that begin with a number of slots.
func newParts(first, most int) *Parts {
	small := &smalls{bools: [2]bool{false, true}}
	for i := range smallNumbers {
		small.int32s[i], small.int64s[i] = int32(i), int64(i)
	}
	s := &Parts{most: most, small: small}
	s.young.Store(newGeneration(first))
	s.old.Store(newGeneration(1))
	once := make([]atomic.Uint32, max(fewOnce, powerOfTwo(first)))
	s.once.Store(&once)
	return s
}

func newGeneration(slots int) *generation {
	return &generation{rows: make([]row, powerOfTwo((slots+rowParts-1)/rowParts))}
}

// powerOfTwo returns the smallest one that is not below n.
func powerOfTwo(n int) int { return 1 << bits.Len(uint(max(n, 1)-1)) }

// place returns the row and the mark of a part, and one of the places in the row.
func (g *generation) place(hash uint64) (r *row, mark uint32, at int) {
	return &g.rows[hash&uint64(len(g.rows)-1)], uint32(hash>>32) | 1, int(hash>>30) % rowParts
}

// find returns the part of a field that has the bytes raw.
func (g *generation) find(of *naming, raw []byte, hash uint64) *part {
	r, mark, _ := g.place(hash)
	for i := range r.marks {
		if r.marks[i].Load() != mark {
			continue
		}
		if p := r.parts[i].Load(); p != nil && p.of == of && bytes.Equal(p.raw, raw) {
			return p
		}
	}
	return nil
}

// find returns the part of a field that has the bytes raw. If there is none, again reports whether
// it was looked up before, so that it is worth a place.
func (s *Parts) find(of *naming, raw []byte, hash uint64) (known *part, again bool) {
	if known = s.young.Load().find(of, raw, hash); known != nil {
		return known, false
	}
	if known = s.old.Load().find(of, raw, hash); known != nil {
		s.add(known, hash)
		return known, false
	}
	all := *s.once.Load()
	once, high := &all[hash&uint64(len(all)-1)], uint32(hash>>32)|1
	if once.Load() == high {
		return nil, true
	}
	once.Store(high)
	return nil, false
}

// add gives p a place: a free one, or another part's.
func (s *Parts) add(p *part, hash uint64) {
	g := s.young.Load()
	r, mark, at := g.place(hash)
	for i := range r.parts {
		if r.parts[i].Load() == nil {
			at = i
			break
		}
	}
	r.parts[at].Store(p)
	r.marks[at].Store(mark)
	added, size := g.added.Add(1), g.bytes.Add(int64(len(p.raw)))
	slots := len(g.rows) * rowParts
	if added*2 < int64(slots) && size < int64(slots)*slotBytes {
		return
	}
	if s.young.CompareAndSwap(g, newGeneration(min(2*slots, s.most))) {
		s.old.Store(g)
	}
}

// Begin says that a new list begins. A part enters then when it comes twice in the list: once before is no sign that
// two objects have it, because most objects of a list were in the last one.
func (s *Parts) Begin() {
	once := make([]atomic.Uint32, fewOnce)
	s.once.Store(&once)
	s.missed.Store(0)
}

// miss counts parts that did not enter, and makes room for more of their hashes.
func (s *Parts) miss(n int) {
	all := s.once.Load()
	if many := len(*all); s.missed.Add(int64(n)) < int64(many) || many >= mostOnce {
		return
	}
	more := make([]atomic.Uint32, 2*len(*all))
	for i := range more {
		more[i].Store((*all)[i%len(*all)].Load())
	}
	s.once.CompareAndSwap(all, &more)
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
	luck := d.recent.luckOf(f.naming)
	if luck.rests() {
		return end, d.run(f, p, data, tag, start, cut, end)
	}
	h := f.hashOf(raw)
	known, again := d.parts.find(f.naming, raw, h)
	if known == nil {
		known = d.recent.find(f.naming, raw, h)
	}
	luck.count(known != nil, again)
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
	if !again || d.recent.closed {
		d.recent.add(one, hash)
		return
	}
	known := one // one itself does not escape
	known.raw = bytes.Clone(one.raw)
	d.parts.add(&known, hash)
}

// recentParts is the number of parts of an object that are remembered although no other object had
// them.
const recentParts = 8

// recent are the last parts of the object that is being decoded that did not enter Parts. An equal
// part that follows shares their memory, and does not enter either. Their bytes are the object's.
// The luck of the fields is kept from one object to the next.
//
// It takes a KB. The decoder has a pointer to it, so that an object which is decoded without
// parts need not clear it.
type recent struct {
	parts  [recentParts]part
	hashes [recentParts]uint64
	added  int
	closed bool      // no part enters Parts
	lucks  [256]luck // by field; a few may have one in common
}

// lend returns a recent without parts. Call giveBack next.
func (s *Parts) lend(closed bool) *recent {
	r, ok := s.spare.Get().(*recent)
	if !ok {
		r = new(recent)
	}
	r.closed = closed
	return r
}

// giveBack takes a recent that nobody uses any more.
func (s *Parts) giveBack(r *recent) {
	if r.added > 0 {
		s.miss(r.added)
		clear(r.parts[:min(r.added, recentParts)])
		r.added = 0
	}
	s.spare.Put(r)
}

// luckOf returns the luck of a field.
func (r *recent) luckOf(of *naming) *luck {
	return &r.lucks[uintptr(unsafe.Pointer(of))/unsafe.Sizeof(*of)%uintptr(len(r.lucks))]
}

// luck tells whether it is worth while to look up the values of a field. It counts those that were unknown. A known
// one makes up for four others, and one that enters for one. When too many are left, the field rests: its next values
// are not looked up, although those within them are. So a collection without equal parts costs a thousand objects'
// lookups.
type luck int16

const (
	mostUnlucky = 1024
	longestRest = 1 << 15
)

// rests reports whether the next value is not looked up.
func (l *luck) rests() bool {
	if *l >= 0 {
		return false
	}
	*l++
	return true
}

// count notes how a lookup went.
func (l *luck) count(known, again bool) {
	switch {
	case known:
		*l = max(0, *l-4)
	case again:
		*l = max(0, *l-1)
	default:
		if *l++; *l == mostUnlucky {
			*l = -longestRest
		}
	}
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
