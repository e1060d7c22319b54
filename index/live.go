package index

import (
	"fmt"

	"github.com/kinform/kinform/internal/cowvec"
	"github.com/kinform/kinform/internal/mistake"
	"github.com/kinform/kinform/internal/posting"
	"github.com/kinform/kinform/internal/slots"
)

// live is an Index over the slots of one store. Only its index function knows the objects: see side.
type live[T any, V comparable] struct {
	def     *Index[T, V]
	values  values[V]
	entries entries
}

// Live implements [Definition].
func (x *Index[T, V]) Live() (slots.Index[T], error) {
	if x == nil {
		return nil, fmt.Errorf("%w: the index is nil: make it with index.New or index.By", mistake.Index)
	}
	if err := usable(x.name, x.fn != nil); err != nil {
		return nil, err
	}
	values, entries, err := x.side(x.seed)
	if err != nil {
		return nil, badValues(x.name, err)
	}
	return &live[T, V]{x, values, entries}, nil
}

func usable(name string, hasFunc bool) error {
	switch {
	case name == "":
		return fmt.Errorf("%w: an index has no name: give it one", mistake.Index)
	case !hasFunc:
		return fmt.Errorf("index %q: %w: it has no function: pass one that returns the values of an object", name, mistake.Index)
	}
	return nil
}

func badValues(name string, err error) error {
	return fmt.Errorf("index %q: %w: values: %w", name, mistake.Index, err)
}

// Name is the definition's.
func (l *live[T, V]) Name() string { return l.def.name }

// Stage evaluates the index function for obj.
func (l *live[T, V]) Stage(n int, obj T) { l.values.add(n, l.def.fn(l.values.room(n), obj)) }

// Prepare does what Put need not do under the lock.
func (l *live[T, V]) Prepare(n int, slot uint32, stored bool) (changed bool) {
	return l.entries.prepare(n, slot, stored)
}

// ReadAhead reads the values from set n on.
func (l *live[T, V]) ReadAhead(n int) { l.entries.readAhead(n) }

// Unstage forgets all but the first n value sets.
func (l *live[T, V]) Unstage(n int) { l.entries.unstage(n) }

// Put makes value set n the values of slot.
func (l *live[T, V]) Put(slot uint32, n int) { l.entries.put(slot, n) }

// Drop removes all values of slot.
func (l *live[T, V]) Drop(slot uint32) { l.entries.drop(slot) }

// Move renames a slot.
func (l *live[T, V]) Move(from, to uint32) { l.entries.move(from, to) }

// Truncate gives back memory of slots at and above n, none of which is in use.
func (l *live[T, V]) Truncate(n int) { l.entries.truncate(n) }

// Warm reads the memory that Drop will read for slot.
func (l *live[T, V]) Warm(slot uint32) uint32 { return l.entries.warm(slot) }

// Shape implements slots.Index.
func (l *live[T, V]) Shape() (values, slots, longest int) { return l.entries.shape() }

// Use makes column col of rows the place of the back-references.
func (l *live[T, V]) Use(rows *posting.Rows, col int) { l.entries.use(rows, col) }

// Clone returns a copy that shares only the staged values.
func (l *live[T, V]) Clone(rows *posting.Rows) slots.Index[T] {
	values, entries := l.values.clone(rows)
	return &live[T, V]{l.def, values, entries}
}

// Check compares the index with a fresh evaluation of all objects.
func (l *live[T, V]) Check(objs slots.View[T]) error {
	if err := l.entries.check(objs.Len()); err != nil {
		return err
	}
	values, probe, err := l.def.side(l.def.seed)
	if err != nil {
		return err
	}
	var c cowvec.Cursor
	for run, ok := objs.Next(&c); ok; run, ok = objs.Next(&c) {
		for i, obj := range run.Elems {
			values.add(0, l.def.fn(values.room(0), obj))
			if err := l.entries.checkSlot(run.First+uint32(i), probe); err != nil {
				return err
			}
			probe.unstage(0)
		}
	}
	return nil
}
