package informer

import (
	"slices"
	"weak"
)

// followers are the unions that follow a set while it changes. They do not keep each other alive.
type followers[F any] []weak.Pointer[F]

// living returns those that are still in use, and forgets the others.
func living[F any](s *followers[F]) (all []*F) {
	*s = slices.DeleteFunc(*s, func(w weak.Pointer[F]) bool {
		f := w.Value()
		if f != nil {
			all = append(all, f)
		}
		return f == nil
	})
	return all
}

// add adds f, and forgets those that are not in use any more.
func (s *followers[F]) add(f *F) {
	living(s)
	*s = append(*s, weak.Make(f))
}
