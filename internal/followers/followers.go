// Package followers keeps track of those who follow a set while it changes. They are not kept alive.
package followers

import (
	"slices"
	"weak"
)

// Of are followers F. The zero value is none. It belongs to the lock of the set.
type Of[F any] []weak.Pointer[F]

// Living returns those that are still in use, and forgets the others.
func Living[F any](s *Of[F]) (all []*F) {
	*s = slices.DeleteFunc(*s, func(w weak.Pointer[F]) bool {
		f := w.Value()
		if f != nil {
			all = append(all, f)
		}
		return f == nil
	})
	return all
}

// Add adds f, and forgets those that are not in use any more.
func (s *Of[F]) Add(f *F) {
	Living(s)
	*s = append(*s, weak.Make(f))
}
