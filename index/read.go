package index

import (
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/kinform/kinform/internal/cowvec"
	"github.com/kinform/kinform/internal/posting"
	"github.com/kinform/kinform/internal/slots"
	"github.com/kinform/kinform/internal/usercode"
)

// Reader is a source for reads of an index: a *store.Store or a *store.Reader, which may be
// frozen.
type Reader[T any] interface {
	// Indexer returns the indexes of the store, never nil.
	Indexer() *Indexer[T]
}

// iterBatch is the largest number of objects that each copies to the stack.
const iterBatch = 128

// Check returns ErrUnknownIndex, with the name, unless from has this *Index; another one of the
// same name does not count. All other reads of an index that the store does not have find
// nothing, and report this error once to the store's Options.OnError. Call Check while you set up
// a program.
func (x *Index[T, V]) Check(from Reader[T]) error {
	s := slotsOf(from.Indexer())
	st := s.Read()
	defer s.Done()
	if in(x, st) == nil {
		return unknown(x.name, st)
	}
	return nil
}

// Get returns the objects that have value, in no order, in a new slice. Cost: one allocation, or
// none if there are no objects.
func (x *Index[T, V]) Get(from Reader[T], value V) []T {
	return x.Append(nil, from, value)
}

// Append appends the objects that have value to dst, in no order. Cost: no allocation
// when dst has room.
func (x *Index[T, V]) Append(dst []T, from Reader[T], value V) []T {
	want := valueOf(x, value)
	s, st, l := beginRead(x, from)
	if l == nil {
		return dst
	}
	return appendValues(l, dst, s, st, want)
}

// appendValues appends the objects that have want to dst, and ends the read of s.
func appendValues[T any, V comparable](l *live[T, V], dst []T, s *slots.Slots[T], st *slots.State[T], want posting.Value[V]) []T {
	if ids, ok := l.values.find(want); ok && !st.Packs() {
		dst = slices.Grow(dst, len(ids))
		for _, id := range ids {
			dst = append(dst, st.At(id))
		}
		s.Done()
		return dst
	}
	ids, view := l.values.freeze(want), slots.ViewOf(st)
	s.Done()
	dst = slices.Grow(dst, ids.Len())
	ids.All(func(id uint32) bool {
		dst = append(dst, view.At(id))
		return true
	})
	return dst
}

// All iterates over the objects that have value, in no order, as they are when the loop begins, so
// the loop's body may write to the store. The sequence can be used again; each loop sees the state
// at its own beginning. Cost: no allocation.
func (x *Index[T, V]) All(from Reader[T], value V) iter.Seq[T] {
	return func(yield func(T) bool) { each(x, from, value, yield) }
}

func each[T any, V comparable](x *Index[T, V], from Reader[T], value V, yield func(T) bool) {
	want := valueOf(x, value)
	s, st, l := beginRead(x, from)
	if l == nil {
		return
	}
	if ids, ok := l.values.find(want); ok && len(ids) <= iterBatch && !st.Packs() {
		var batch [iterBatch]T
		for i, id := range ids {
			batch[i] = st.At(id)
		}
		n := len(ids)
		s.Done()
		for i := range n {
			if !yield(batch[i]) {
				return
			}
		}
		return
	}
	ids, view := l.values.freeze(want), slots.ViewOf(st)
	s.Done()
	ids.All(func(id uint32) bool { return yield(view.At(id)) })
}

// Count returns the number of objects that have value. Cost: O(1).
func (x *Index[T, V]) Count(from Reader[T], value V) int {
	want := valueOf(x, value)
	s, _, l := beginRead(x, from)
	if l == nil {
		return 0
	}
	n := l.values.count(want)
	s.Done()
	return n
}

// Values iterates over the distinct values of all objects, in no order, as they are when the loop
// begins, so the loop's body may write to the store. The sequence can be used again; each loop
// sees the state at its own beginning. Cost: no allocation, but the next write that adds or
// removes a value copies a few KB.
func (x *Index[T, V]) Values(from Reader[T]) iter.Seq[V] {
	return func(yield func(V) bool) { eachValue(x, from, yield) }
}

func eachValue[T any, V comparable](x *Index[T, V], from Reader[T], yield func(V) bool) {
	s, _, l := beginRead(x, from)
	if l == nil {
		return
	}
	view := l.values.all()
	s.Done()
	var c cowvec.Cursor
	for run, ok := view.Next(&c); ok; run, ok = view.Next(&c) {
		for _, v := range run.Elems {
			if !yield(v) {
				return
			}
		}
	}
}

// Index returns the objects that share at least one value with obj, each once, in no
// order. obj need not be in the store; if it is, the result includes it. If the index function
// panics, the result is empty, and the first panic is reported to the store's Options.OnError.
func (x *Index[T, V]) Index(from Reader[T], obj T) []T {
	s := slotsOf(from.Indexer())
	objs, err := sharing(x, s, obj)
	var panicked *usercode.PanicError
	if errors.As(err, &panicked) {
		slots.Report(s, "panic in index "+x.name, err)
	} else if err != nil {
		report(x, s, err)
	}
	return objs
}

// Has reports whether obj has value. obj need not be in a store. Error: an *informer.PanicError of the
// index function.
func (x *Index[T, V]) Has(obj T, value V) (has bool, err error) {
	values, err := x.ValuesOf(obj)
	return slices.Contains(values, value), err
}

// ValuesOf returns the values of obj, which need not be in a store. Treat them as read-only: they
// may be a part of obj. Error: an *informer.PanicError of the index function.
func (x *Index[T, V]) ValuesOf(obj T) (values []V, err error) {
	defer func() {
		if r := recover(); r != nil {
			panicked := usercode.Panicked("index function", r)
			panicked.Name = x.name
			values, err = nil, panicked
		}
	}()
	return x.fn(nil, obj), nil
}

func sharing[T any, V comparable](x *Index[T, V], s *slots.Slots[T], obj T) (objs []T, err error) {
	wanted, err := x.ValuesOf(obj)
	if err != nil {
		return nil, err
	}
	st := s.Read()
	l := in(x, st)
	if l == nil {
		err := unknown(x.name, st)
		s.Done()
		return nil, err
	}
	if len(wanted) == 1 {
		return appendValues(l, nil, s, st, valueOf(x, wanted[0])), nil
	}
	frozen := make([]posting.IDs, len(wanted))
	for i, v := range wanted {
		frozen[i] = l.values.freeze(valueOf(x, v))
	}
	view := slots.ViewOf(st)
	s.Done()
	ids := union(frozen)
	objs = make([]T, len(ids))
	for i, id := range ids {
		objs[i] = view.At(id)
	}
	return objs, nil
}

// union returns the slots in any of the postings, sorted.
func union(postings []posting.IDs) (ids []uint32) {
	for _, one := range postings {
		ids = one.AppendTo(ids)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// beginRead begins a read, which the caller must end with Done of the slots returned. If from does not
// have x, begin ends the read itself, reports the error, and returns a nil index.
func beginRead[T any, V comparable](x *Index[T, V], from Reader[T]) (*slots.Slots[T], *slots.State[T], *live[T, V]) {
	s := slotsOf(from.Indexer())
	st := s.Read()
	l := in(x, st)
	if l == nil {
		err := unknown(x.name, st)
		s.Done()
		report(x, s, err)
	}
	return s, st, l
}

// in returns the live index of x in st, or nil if there is none.
func in[T any, V comparable](x *Index[T, V], st *slots.State[T]) *live[T, V] {
	for _, ix := range st.Indexes() {
		if l, ok := ix.(*live[T, V]); ok && l.def == x {
			return l
		}
	}
	return nil
}

func report[T any, V comparable](x *Index[T, V], s *slots.Slots[T], err error) {
	slots.Report(s, "index "+x.name, err)
}

// unknown returns the error for a read of an index that a store with the state st does not have.
func unknown[T any](name string, st *slots.State[T]) error {
	have := make([]string, 0, len(st.Indexes()))
	for _, ix := range st.Indexes() {
		have = append(have, ix.Name())
	}
	return unknownIn(name, have)
}

// unknownIn is unknown for the names of the indexes that there are. It is compiled once, and not for each T.
func unknownIn(name string, have []string) error {
	slices.Sort(have)
	switch {
	case slices.Contains(have, name):
		return fmt.Errorf("index %q: %w: another index has this name: use the same variable in both places", name, ErrUnknownIndex)
	case len(have) == 0:
		return fmt.Errorf("index %q: %w: add it to the Indexes of the Options; the store has none", name, ErrUnknownIndex)
	}
	return fmt.Errorf("index %q: %w: add it to the Indexes of the Options; the store has %q", name, ErrUnknownIndex, have)
}
