// Package assign divides the hashes of keys among members. It has no clock, goroutine or network: a
// table and a state of the members give the next table.
//
// A table covers all hashes with ranges that follow each other. Every hash has one owner or none,
// and only that owner may work on it. [Next] takes a range from its owner in two cases: the owner
// is gone for good, or it has answered that it has stopped. So two members never own one hash, as
// long as both are true.
package assign

import (
	"errors"
	"fmt"
	"slices"
)

// Range is a part of the hashes. It ends before First of the range that follows, the last one at
// 2⁶⁴.
type Range struct {
	First uint64
	// Owner may work on the range, unless Next is set. Empty means that nobody may.
	Owner string
	// Next gets the range when Owner has stopped. Empty means that Owner keeps it.
	Next string
	// Since is the epoch in which Owner was asked to stop or was given the range. The answer of
	// Owner repeats it, so an answer to another request is none to this one.
	Since int64
	// Number is the epoch in which Owner got the range: the fencing number. It never goes back for
	// a hash.
	Number int64
}

// Table is all ranges, sorted.
type Table []Range

// Free returns the table in which nobody owns anything.
func Free(epoch int64) Table { return Table{{Since: epoch, Number: epoch}} }

// ErrTable is wrapped by the errors of [Table.Check].
var ErrTable = errors.New("not a table of ranges")

// Check returns an error unless the ranges cover each hash exactly once.
func (t Table) Check() error {
	if len(t) == 0 || t[0].First != 0 {
		return fmt.Errorf("%w: it does not begin at 0", ErrTable)
	}
	for n := 1; n < len(t); n++ {
		if t[n].First <= t[n-1].First {
			return fmt.Errorf("%w: range %d does not begin after the one before", ErrTable, n)
		}
	}
	return nil
}

// Last is the last hash of range n.
func (t Table) Last(n int) uint64 {
	if n+1 < len(t) {
		return t[n+1].First - 1
	}
	return ^uint64(0)
}

// Find returns the index of the range with a hash. The table must not be empty.
func (t Table) Find(hash uint64) int {
	n, found := slices.BinarySearchFunc(t, hash, func(r Range, h uint64) int {
		switch {
		case r.First < h:
			return -1
		case r.First > h:
			return 1
		}
		return 0
	})
	if found {
		return n
	}
	return n - 1
}

// all is the number of hashes.
const all = float64(1<<63) * 2

// width is the part of all hashes that range n has.
func (t Table) width(n int) float64 { return (float64(t.Last(n)-t[n].First) + 1) / all }

// holder is the member that has the range once the move under way has ended.
func (r Range) holder() string {
	if r.Next != "" {
		return r.Next
	}
	return r.Owner
}

// cut makes two ranges of range n, of which the first has part of all hashes. It returns false if
// one of them would be empty.
func (t *Table) cut(n int, part float64) bool {
	r := (*t)[n]
	if part <= 0 || part >= t.width(n) {
		return false
	}
	size := uint64(part * all)
	if size == 0 || size > t.Last(n)-r.First {
		return false
	}
	r.First += size
	*t = slices.Insert(*t, n+1, r)
	return true
}

// merge joins neighbours of one owner.
func (t Table) merge() Table {
	out := t[:0]
	for _, r := range t {
		if n := len(out) - 1; n >= 0 && out[n].Owner == r.Owner && out[n].Next == "" && r.Next == "" {
			out[n].Since, out[n].Number = max(out[n].Since, r.Since), max(out[n].Number, r.Number)
			continue
		}
		out = append(out, r)
	}
	return out
}
