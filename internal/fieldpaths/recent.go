package fieldpaths

import (
	"encoding/json"
	"hash/maphash"
)

// Hash returns a hash of a value that Each gives.
func Hash(seed maphash.Seed, value any) uint64 {
	text, _ := json.Marshal(value) // it was JSON
	return maphash.Bytes(seed, text)
}

// Recent are the newest four values that a field got, as hashes. The zero value has none.
type Recent struct {
	values [4]uint64
	n      int // of all
}

// Add adds a value, and reports whether it was there before.
func (r *Recent) Add(value uint64) (back bool) {
	for _, v := range r.values[:min(r.n, len(r.values))] {
		back = back || v == value
	}
	r.values[r.n%len(r.values)] = value
	r.n++
	return back
}

// Last returns the newest value. There is none before the first Add.
func (r *Recent) Last() (value uint64, ok bool) {
	if r.n == 0 {
		return 0, false
	}
	return r.values[(r.n-1)%len(r.values)], true
}
