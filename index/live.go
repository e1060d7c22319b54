package index

import (
	"fmt"
	"slices"

	"github.com/kinform/kinform/internal/cowvec"
	"github.com/kinform/kinform/internal/mapkey"
	"github.com/kinform/kinform/internal/posting"
	"github.com/kinform/kinform/internal/slots"
)

// live is an Index over the slots of one store.
type live[T any, V comparable] struct {
	def   *Index[T, V]
	lists posting.Lists[V] // guarded by the lock of the slots
	stage *stage[V]        // the writer's
}

// stage holds the values of objects on their way into the index.
type stage[V comparable] struct {
	values []posting.Value[V]
	sets   []valueSet
	buf    []V  // the index function appends to it; zeroed after use
	dirty  bool // a panic left values in buf, or values after the last set
}

// valueSet is the values of one object: from the end of the previous set up to end.
type valueSet struct {
	end  int
	same bool // the slot of the set has these values already
}

// keepStaged is the number of staged values for which an idle stage keeps room.
const keepStaged = 2048

// Live implements [Definition].
func (x *Index[T, V]) Live() (slots.Index[T], error) {
	switch {
	case x == nil:
		return nil, fmt.Errorf("nil index: %w", ErrInvalid)
	case x.name == "":
		return nil, fmt.Errorf("index without a name: %w", ErrInvalid)
	case x.fn == nil:
		return nil, fmt.Errorf("index %q without a function: %w", x.name, ErrInvalid)
	}
	if err := mapkey.Check[V](); err != nil {
		return nil, fmt.Errorf("index %q: %w: values: %w", x.name, ErrInvalid, err)
	}
	return &live[T, V]{def: x, stage: &stage[V]{}}, nil
}

// Name is the definition's.
func (l *live[T, V]) Name() string { return l.def.name }

// Stage evaluates the index function for obj.
func (l *live[T, V]) Stage(obj T) {
	s := l.stage
	if s.dirty {
		l.Unstage(len(s.sets))
	}
	s.dirty = true
	found := l.def.fn(s.buf[:0], obj)
	begin := len(s.values)
	for _, v := range found {
		s.values = append(s.values, posting.Value[V]{V: v})
	}
	if len(s.values)-begin > 1 {
		s.values = s.values[:begin+distinct(s.values[begin:])]
	}
	s.sets = append(s.sets, valueSet{end: len(s.values)})
	s.keep(found)
	s.dirty = false
}

// keep clears the buffer for the next object. found is the buffer, or a longer slice that append
// allocated, or a slice of the function's own. That last one may be part of an object, so keep
// does not change it.
func (s *stage[V]) keep(found []V) {
	if len(found) > cap(s.buf) {
		s.buf = make([]V, 0, len(found))
		return
	}
	clear(s.buf[:len(found)])
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

// Unstage forgets all but the first n value sets, and lets go of what they referred to.
func (l *live[T, V]) Unstage(n int) {
	s := l.stage
	end := 0
	if n > 0 {
		end = s.sets[n-1].end
	}
	clear(s.values[end:])
	if s.dirty { // the function panicked
		clear(s.values[:cap(s.values)][end:])
		clear(s.buf[:cap(s.buf)])
		s.dirty = false
	}
	s.values, s.sets = s.values[:end], s.sets[:n]
	if n == 0 && (cap(s.values) > keepStaged || cap(s.sets) > keepStaged || cap(s.buf) > keepStaged) {
		*s = stage[V]{}
	}
}

func (s *stage[V]) set(n int) []posting.Value[V] {
	begin := 0
	if n > 0 {
		begin = s.sets[n-1].end
	}
	return s.values[begin:s.sets[n].end]
}

// Prepare hashes the values of set n, unless slot has them already. Stage does not hash them, so
// that the index functions run one after the other without a wait for memory that the values
// refer to.
func (l *live[T, V]) Prepare(n int, slot uint32, stored bool) (warmed uint32) {
	values := l.stage.set(n)
	if stored {
		if l.lists.Has(slot, values) {
			l.stage.sets[n].same = true
			return 0
		}
		warmed = l.lists.Warm(slot)
	}
	for i := range values {
		values[i].Hash = l.def.hash(values[i].V)
	}
	return warmed
}

// Put makes value set n the values of slot.
func (l *live[T, V]) Put(slot uint32, n int) {
	if !l.stage.sets[n].same {
		l.lists.Set(slot, l.stage.set(n))
	}
}

// Drop removes all values of slot.
func (l *live[T, V]) Drop(slot uint32) { l.lists.Drop(slot) }

// Move renames a slot.
func (l *live[T, V]) Move(from, to uint32) { l.lists.Move(from, to) }

// Truncate gives back memory of slots at and above n, none of which is in use. All staged values
// have been put.
func (l *live[T, V]) Truncate(n int) {
	l.lists.Truncate(n)
	if room := 64 + 4*n; cap(l.stage.values) > room || cap(l.stage.sets) > room {
		*l.stage = stage[V]{}
	}
}

// Warm reads the memory that Drop will read for slot.
func (l *live[T, V]) Warm(slot uint32) uint32 { return l.lists.Warm(slot) }

// shapeLists is the number of lists that Shape looks at.
const shapeLists = 1024

// Shape implements slots.Index.
func (l *live[T, V]) Shape() (values, slots, longest int) {
	return l.lists.Len(), l.lists.Slots(), l.lists.Longest(shapeLists)
}

// Clone returns a copy that shares only the staged values.
func (l *live[T, V]) Clone() slots.Index[T] {
	return &live[T, V]{def: l.def, lists: l.lists.Clone(), stage: l.stage}
}

// Check compares the index with a fresh evaluation of all objects.
func (l *live[T, V]) Check(objs cowvec.View[T]) error {
	if err := l.lists.Check(objs.Len()); err != nil {
		return err
	}
	probe := &live[T, V]{def: l.def, stage: &stage[V]{}}
	for slot, obj := range objs.All {
		probe.Stage(obj)
		want := probe.stage.set(0)
		if err := l.lists.CheckSlot(slot, want); err != nil {
			return err
		}
		probe.Unstage(0)
	}
	return nil
}
