package index

import (
	"hash/maphash"
	"reflect"

	"github.com/kinform/kinform/internal/posting"
	"github.com/kinform/kinform/internal/slots"
	"github.com/kinform/kinform/internal/typekind"
)

// IndexFunc appends the values of obj to dst and returns the extended slice, as append
// does. An object may have any number of values, or none; duplicates count once.
//
// It must be pure: it always returns the same values for the same object, and changes neither the
// object nor the elements of dst. It runs with no lock held that readers take, in the goroutine of
// the writer before the commit, and in the goroutine of the reader in [Index.Index]. It must not
// write to the store that it indexes. A panic in it is contained: see informer.PanicError. After the
// first few calls dst has room, so that appending need not allocate.
type IndexFunc[T any, V comparable] func(dst []V, obj T) []V

// Index defines a named index from objects T to values V, and is the typed handle to
// read it. It holds no objects: one Index, say in a package-level variable, can be used in any
// number of stores. It never changes, and many goroutines may use it.
//
// V may be any type whose values equal themselves; use a struct of several fields for a compound
// index. V cannot be a float, a complex number, an interface, or an array or struct that holds
// one: a NaN could never be found, and a value in an interface may not be comparable.
type Index[T any, V comparable] struct {
	name   string
	fn     IndexFunc[T, V]
	seed   maphash.Seed
	side   func(maphash.Seed) (values[V], entries, error)
	parse  func(string) (V, bool) // nil when V is no string
	format func(V) string         // nil when V is no string
	role   role
}

// role marks the indexes that [Select] can use.
type role struct {
	namespace bool            // the values are namespaces
	labels    bool            // the values are labels
	keys      map[string]bool // of the labels; nil for all
}

// New defines an index. If it has no name, no function, or a V that cannot be used, the store to
// which you add it returns ErrInvalid.
func New[T any, V comparable](name string, fn IndexFunc[T, V]) *Index[T, V] {
	x := define(name, fn, newSide[V])
	if typekind.Of((*V)(nil)) == reflect.String {
		x.parse, x.format = parseString[V], formatString[V]
	}
	return x
}

// By defines an index of objects with one value each. It is New otherwise.
func By[T any, V comparable](name string, value func(T) V) *Index[T, V] {
	if value == nil {
		return New[T, V](name, nil)
	}
	return New(name, func(dst []V, obj T) []V { return append(dst, value(obj)) })
}

// define is New with the side of a live index, without names for its values.
func define[T any, V comparable](name string, fn IndexFunc[T, V], side func(maphash.Seed) (values[V], entries, error)) *Index[T, V] {
	return &Index[T, V]{name: name, fn: fn, seed: maphash.MakeSeed(), side: side}
}

// Name returns the name under which dynamic lookups find the index.
func (x *Index[T, V]) Name() string { return x.name }

// valueOf returns a value as the postings have it.
func valueOf[T any, V comparable](x *Index[T, V], value V) posting.Value[V] {
	return posting.Value[V]{V: value, Hash: hashOf(x.seed, value)}
}

func hashOf[V comparable](seed maphash.Seed, value V) uint32 {
	return uint32(maphash.Comparable(seed, value) >> 32)
}

func parseString[V comparable](s string) (V, bool) {
	var v V
	if p, ok := any(&v).(*string); ok {
		*p = s
	} else {
		setText(&v, s)
	}
	return v, true
}

func formatString[V comparable](v V) string {
	if s, ok := any(v).(string); ok {
		return s
	}
	return textOf(v)
}

// setText makes s the string that pointer points to, whose type may be of any name.
//
//go:noinline
func setText(pointer any, s string) { reflect.ValueOf(pointer).Elem().SetString(s) }

// textOf returns a string whose type may be of any name.
//
//go:noinline
func textOf(v any) string { return reflect.ValueOf(v).String() }

// Definition is an [Index] of objects T without the type of its values, so that a store can take
// indexes of any V. Only *Index and types that embed it satisfy it.
type Definition[T any] interface {
	// Name returns the index's name, unique within a store.
	Name() string

	// Live returns an empty index of this definition, for a store to fill. Its type is internal,
	// so only the stores of this module can use it. Errors: [ErrInvalid].
	Live() (slots.Index[T], error)
}
