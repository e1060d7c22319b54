// Package followers keeps track of those who follow a set while it changes. They are not kept alive.
package followers

import "weak"

// Of are followers F. The zero value is none. It belongs to the lock of the set.
type Of[F any] []weak.Pointer[F]

// Living returns those that are still in use, and forgets the others.
//
//go:noinline
func Living[F any](s *Of[F]) (all []*F) {
	n := 0
	for _, w := range *s {
		if f := w.Value(); f != nil {
			all = append(all, f)
			(*s)[n] = w
			n++
		}
	}
	clear((*s)[n:])
	*s = (*s)[:n]
	return all
}

// Add adds f, and forgets those that are not in use any more.
func (s *Of[F]) Add(f *F) {
	Living(s)
	*s = append(*s, weak.Make(f))
}
