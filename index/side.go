package index

import (
	"hash/maphash"
	"slices"

	"github.com/kinform/kinform/internal/cowvec"
	"github.com/kinform/kinform/internal/keytable"
	"github.com/kinform/kinform/internal/mapkey"
	"github.com/kinform/kinform/internal/posting"
)

// A live index is compiled in two parts, because a package with indexes by namespace only need not compile
// the larger one: side, which knows no objects. The definition makes it, and live calls it as values and
// entries.

// values is what a side does with values of type V.
type values[V comparable] interface {
	// room returns the buffer for the index function, for value set n. add must follow, unless the
	// function panics.
	room(n int) []V
	// add keeps what the index function has found as value set n.
	add(n int, found []V)
	// find, freeze, count and all read the postings, see posting.Lists.
	find(want posting.Value[V]) (ids []uint32, ok bool)
	freeze(want posting.Value[V]) posting.IDs
	count(want posting.Value[V]) int
	all() cowvec.View[V]
	// clone returns a copy that shares only the staged values.
	clone(rows *posting.Rows) (values[V], entries)
}

// entries is what a side does without the type of its values. It has the methods of slots.Index.
type entries interface {
	prepare(n int, slot uint32, stored bool) (changed bool)
	readAhead(n int)
	unstage(n int)
	put(slot uint32, n int)
	drop(slot uint32)
	move(from, to uint32)
	truncate(n int)
	warm(slot uint32) uint32
	shape() (values, slots, longest int)
	use(rows *posting.Rows, col int)
	// check verifies the invariants.
	check(slots int) error
	// checkSlot verifies that slot has the values of set 0 of another side, of the same type.
	checkSlot(slot uint32, want entries) error
}

// side holds values on their way into an index, and the slots under each value.
type side[V comparable] struct {
	lists posting.Lists[V] // guarded by the lock of the slots
	stage *stage[V]        // the writer's
	parts keytable.Parts[V]
	seed  maphash.Seed
}

// newSide returns an empty side. Error: values of the type cannot be used.
func newSide[V comparable](seed maphash.Seed) (values[V], entries, error) {
	if err := mapkey.Check[V](); err != nil {
		return nil, nil, err
	}
	x := &side[V]{parts: keytable.PartsOf[V](), stage: &stage[V]{}, seed: seed}
	return x, x, nil
}

// newStrings and newLabels are newSide for the values of [Namespace] and [Labels]. They are compiled here, and
// not for each user of these.
//
//go:noinline
func newStrings(seed maphash.Seed) (values[string], entries, error) { return newSide[string](seed) }

//go:noinline
func newLabels(seed maphash.Seed) (values[Label], entries, error) { return newSide[Label](seed) }

// stage holds the values of objects on their way into the index.
type stage[V comparable] struct {
	values []posting.Value[V]
	sets   []valueSet
	buf    []V    // the index function appends to it; zeroed after use
	dirty  bool   // a panic left values in buf, or values after the last set
	warmed uint32 // keeps reads ahead from being optimized away
}

// valueSet is the values of one object: from the end of the previous set up to end.
type valueSet struct {
	end  int
	same bool // the slot of the set has these values already
}

// keepStaged is the number of staged values for which an idle stage keeps room.
const keepStaged = 2048

func (x *side[V]) room(n int) []V {
	s := x.stage
	if s.dirty {
		x.unstage(n)
	}
	s.dirty = true
	return s.buf[:0]
}

func (x *side[V]) add(n int, found []V) {
	s := x.stage
	begin := s.begin(n)
	s.values = s.values[:begin]
	for _, v := range found {
		s.values = append(s.values, posting.Value[V]{V: v})
	}
	if len(found) > 1 {
		s.values = s.values[:begin+distinct(s.values[begin:])]
	}
	s.sets = append(s.sets[:n], valueSet{end: len(s.values)})
	s.keep(found)
	s.dirty = false
}

// begin returns where value set n begins.
func (s *stage[V]) begin(n int) int {
	if n == 0 {
		return 0
	}
	return s.sets[n-1].end
}

// keep clears the buffer for the next object. found is the buffer, or a longer slice that append
// allocated, or a slice of the function's own. That last one may be part of an object, so keep
// does not change it.
func (s *stage[V]) keep(found []V) {
	switch {
	case len(found) > cap(s.buf):
		s.buf = make([]V, 0, len(found))
	case len(found) == 1: // the usual case, without a call of the runtime
		var zero V
		s.buf[:1][0] = zero
	default:
		clear(s.buf[:len(found)])
	}
}

// distinct removes repeated values, of which it keeps the first, and returns the number of values
// left.
func distinct[V comparable](values []posting.Value[V]) int {
	const few = 32
	var seen map[V]bool
	if len(values) > few {
		seen = make(map[V]bool, len(values))
	}
	out := values[:0]
	for _, v := range values {
		if seen != nil {
			if seen[v.V] {
				continue
			}
			seen[v.V] = true
		} else if slices.Contains(out, v) {
			continue
		}
		out = append(out, v)
	}
	clear(values[len(out):])
	return len(out)
}

// unstage forgets all but the first n value sets, and lets go of what they referred to.
func (x *side[V]) unstage(n int) {
	s := x.stage
	end := s.begin(n)
	dropValues(s, end)
	if s.dirty { // the function panicked
		clear(s.values[:cap(s.values)][end:])
		clear(s.buf[:cap(s.buf)])
		s.dirty = false
	}
	s.sets = s.sets[:n]
	if n == 0 && (large(s) || cap(s.sets) > keepStaged) {
		*s = stage[V]{}
	}
}

// large reports whether an idle stage must give back the room for values.
func large[V comparable](s *stage[V]) bool {
	return cap(s.values) > keepStaged || cap(s.buf) > keepStaged
}

// dropValues drops the values from begin on.
func dropValues[V comparable](s *stage[V], begin int) {
	if gone := s.values[begin:]; len(gone) == 1 { // the usual case, without a call of the runtime
		gone[0] = posting.Value[V]{}
	} else {
		clear(gone)
	}
	s.values = s.values[:begin]
}

func (s *stage[V]) set(n int) []posting.Value[V] {
	return s.values[s.begin(n):s.sets[n].end]
}

// prepare hashes the values of set n, unless slot has them already. add does not hash them, so
// that the index functions run one after the other without a wait for memory that the values
// refer to.
func (x *side[V]) prepare(n int, slot uint32, stored bool) (changed bool) {
	s := x.stage
	values := s.set(n)
	if stored {
		if x.lists.Has(slot, values) {
			set := &s.sets[n]
			set.same = true
			if n == len(s.sets)-1 {
				set.end = s.begin(n)
				dropValues(s, set.end)
				if n == 0 && large(s) { // unstage may not follow
					s.values, s.buf = nil, nil
				}
			}
			return false
		}
		s.warmed ^= x.lists.Warm(slot)
	}
	for i := range values {
		values[i].Hash = hashOf(x.seed, values[i].V)
	}
	return true
}

// readAhead reads the bytes of the values from set n on. The loop is so short that the processor
// has many reads from memory under way at a time. So a watch event to one handler takes 1.15 times
// less processor time (bench, row watch/handlers=1).
func (x *side[V]) readAhead(n int) {
	s := x.stage
	for _, v := range s.values[s.begin(n):] {
		s.warmed ^= keytable.Touch(x.parts, v.V)
	}
}

func (x *side[V]) put(slot uint32, n int) {
	if !x.stage.sets[n].same {
		x.lists.Set(slot, x.stage.set(n))
	}
}

func (x *side[V]) drop(slot uint32) { x.lists.Drop(slot) }

func (x *side[V]) move(from, to uint32) { x.lists.Move(from, to) }

// truncate gives back memory of slots at and above n, none of which is in use. All staged values
// have been put.
func (x *side[V]) truncate(n int) {
	x.lists.Truncate(n)
	if room := 64 + 4*n; cap(x.stage.values) > room || cap(x.stage.sets) > room {
		*x.stage = stage[V]{}
	}
}

func (x *side[V]) warm(slot uint32) uint32 { return x.lists.Warm(slot) }

// shapeLists is the number of lists that shape looks at.
const shapeLists = 1024

func (x *side[V]) shape() (values, slots, longest int) {
	return x.lists.Len(), x.lists.Slots(), x.lists.Longest(shapeLists)
}

func (x *side[V]) use(rows *posting.Rows, col int) { x.lists.Use(rows, col) }

func (x *side[V]) find(want posting.Value[V]) (ids []uint32, ok bool) { return x.lists.Find(want) }

func (x *side[V]) freeze(want posting.Value[V]) posting.IDs { return x.lists.Freeze(want) }

func (x *side[V]) count(want posting.Value[V]) int { return x.lists.Count(want) }

func (x *side[V]) all() cowvec.View[V] { return x.lists.Values() }

func (x *side[V]) clone(rows *posting.Rows) (values[V], entries) {
	c := &side[V]{lists: x.lists.Clone(rows), stage: x.stage, parts: x.parts, seed: x.seed}
	return c, c
}

func (x *side[V]) check(slots int) error { return x.lists.Check(slots) }

func (x *side[V]) checkSlot(slot uint32, want entries) error {
	return x.lists.CheckSlot(slot, want.(*side[V]).stage.set(0))
}
