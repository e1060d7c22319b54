package posting

import (
	"github.com/kinform/kinform/internal/cowvec"
	"github.com/kinform/kinform/internal/keytable"
)

// Value is an index value with its hash. Equal values must have equal hashes, and a value must
// equal itself: see package mapkey.
type Value[V comparable] struct {
	V    V
	Hash uint32
}

// values gives a number to each value that some slot has. Its id is the number less one.
type values[V comparable] struct {
	table keytable.Table // value -> id
	all   cowvec.Vec[V]  // by id
}

// numbering is values without their type.
type numbering interface {
	// last returns the highest number in use.
	last() int
	live() int
	// free takes away the value of number, which no slot has any more.
	free(number uint32)
	// lower gives the value of number the lowest free one.
	lower(number uint32) uint32
}

// find returns the number of value, and 0 if no slot has it.
func find[V comparable](v *values[V], value Value[V]) uint32 {
	var pr keytable.Probe
	for {
		id, ok := v.table.Next(value.Hash, &pr)
		if !ok {
			return 0
		}
		if v.all.At(id) == value.V {
			return id + 1
		}
	}
}

// create gives a number to value.
func create[V comparable](v *values[V], value Value[V]) (number uint32) {
	id := cowvec.Insert(&v.all, value.V)
	v.table.Insert(value.Hash, id)
	return id + 1
}

func clone[V comparable](v *values[V]) values[V] {
	return values[V]{table: v.table.Clone(), all: cowvec.Clone(&v.all)}
}

func (v *values[V]) last() int { return v.all.Len() }

func (v *values[V]) live() int { return v.all.Live() }

func (v *values[V]) free(number uint32) {
	v.table.Remove(number - 1)
	cowvec.Remove(&v.all, number-1)
	v.table.Truncate(v.all.Len())
}

func (v *values[V]) lower(number uint32) uint32 {
	to := cowvec.Insert(&v.all, v.all.At(number-1))
	v.table.Move(number-1, to)
	cowvec.Remove(&v.all, number-1)
	v.table.Truncate(v.all.Len())
	return to + 1
}
