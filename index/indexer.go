package index

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kinform/kinform/internal/slots"
)

// Indexer finds the indexes of one store by name, for programs that know the index only at run
// time. A typed [Index] is faster, and checked by the compiler. All methods may be called by any
// goroutine. A store converts its own slots to an Indexer; the zero value is of no use.
type Indexer[T any] slots.Slots[T]

func slotsOf[T any](x *Indexer[T]) *slots.Slots[T] { return (*slots.Slots[T])(x) }

// dynamic is what an Indexer does with an index, whatever the type of its values.
type dynamic[T any] interface {
	definition() Definition[T]
	get(s *slots.Slots[T], value string) ([]T, error)
	shared(s *slots.Slots[T], obj T) ([]T, error)
	texts(s *slots.Slots[T]) ([]string, error)
}

// Definitions returns the indexes by name, in a new map.
func (x *Indexer[T]) Definitions() map[string]Definition[T] {
	s := slotsOf(x)
	st := s.Read()
	defer s.Done()
	m := make(map[string]Definition[T], len(st.Indexes()))
	for _, ix := range st.Indexes() {
		m[ix.Name()] = ix.(dynamic[T]).definition()
	}
	return m
}

// ByIndex returns the objects that have value in the index called name, in no order.
// Errors: ErrUnknownIndex; ErrInvalid if the values are not strings.
func (x *Indexer[T]) ByIndex(name, value string) ([]T, error) {
	ix, err := lookup(x, name)
	if err != nil {
		return nil, err
	}
	return ix.get(slotsOf(x), value)
}

// Index returns the objects that share at least one value with obj in the index called
// name, each once, in no order.
// Errors: ErrUnknownIndex, *informer.PanicError.
func (x *Indexer[T]) Index(name string, obj T) ([]T, error) {
	ix, err := lookup(x, name)
	if err != nil {
		return nil, err
	}
	return ix.shared(slotsOf(x), obj)
}

// Values returns the values that at least one object has in the index called name, each
// once, in no order.
// Errors: ErrUnknownIndex; ErrInvalid if the values are not strings.
func (x *Indexer[T]) Values(name string) ([]string, error) {
	ix, err := lookup(x, name)
	if err != nil {
		return nil, err
	}
	return ix.texts(slotsOf(x))
}

func lookup[T any](x *Indexer[T], name string) (dynamic[T], error) {
	s := slotsOf(x)
	st := s.Read()
	defer s.Done()
	ix := slots.Lookup(st, name)
	if ix == nil {
		return nil, unknown(name, st)
	}
	return ix.(dynamic[T]), nil
}

func (l *live[T, V]) definition() Definition[T] { return l.def }

// get reads through the definition and not from l, because a commit may have replaced l by a
// clone.
func (l *live[T, V]) get(s *slots.Slots[T], value string) ([]T, error) {
	if l.def.parse == nil {
		return nil, fmt.Errorf("index %q: %w", l.def.name, errNotString)
	}
	v, _ := l.def.parse(value)
	return l.def.Get((*Indexer[T])(s), v), nil
}

func (l *live[T, V]) shared(s *slots.Slots[T], obj T) ([]T, error) {
	return sharing(l.def, s, obj)
}

//go:noinline
func (l *live[T, V]) texts(s *slots.Slots[T]) ([]string, error) {
	if l.def.format == nil {
		return nil, fmt.Errorf("index %q: %w", l.def.name, errNotString)
	}
	var out []string
	eachValue(l.def, (*Indexer[T])(s), func(v V) bool {
		out = append(out, l.def.format(v))
		return true
	})
	return out, nil
}

// Indexer returns x itself, so that an Indexer is a Reader.
func (x *Indexer[T]) Indexer() *Indexer[T] { return x }

// Stats are the sizes of an index.
type Stats struct {
	Name string
	// Values is the number of distinct values, and Entries the number of objects under them all: an
	// object with two values counts twice. Entries/Values is the mean fan-out of a value.
	Values, Entries int
	// Largest is the largest number of objects under one value. If there are more than 1,024
	// values, it looks at 1,024 of them, spread over all.
	Largest int
}

// Stats returns the sizes of all indexes, sorted by name. It holds the store's lock for some
// microseconds per index, and the writer waits for that.
func (x *Indexer[T]) Stats() []Stats {
	s := slotsOf(x)
	st := s.Read()
	defer s.Done()
	var all []Stats
	for _, l := range st.Indexes() {
		one := Stats{Name: l.Name()}
		one.Values, one.Entries, one.Largest = l.Shape()
		all = append(all, one)
	}
	sortStats(all)
	return all
}

func sortStats(all []Stats) {
	slices.SortFunc(all, func(a, b Stats) int { return strings.Compare(a.Name, b.Name) })
}
