package slots

import "github.com/kinform/kinform/internal/cowvec"

// View is a frozen view of the objects of a State, for any number of goroutines, without a lock. Objects that are
// packed are unpacked by each read.
type View[T any] struct {
	objs   cowvec.View[T]
	opener *opener // nil unless objects are packed
}

// ViewOf freezes the objects.
func ViewOf[T any](st *State[T]) View[T] { return View[T]{cowvec.ViewOf(&st.objs), st.opener} }

// Live returns the number of objects.
func (v *View[T]) Live() int { return v.objs.Live() }

// Len returns the number of slots.
func (v *View[T]) Len() int { return v.objs.Len() }

// At returns the object in slot, which must be in use.
func (v *View[T]) At(slot uint32) T {
	if v.opener != nil {
		return viewed(v, slot)
	}
	return v.objs.At(slot)
}

func viewed[T any](v *View[T], slot uint32) T {
	return open(v.opener, v.objs.At(slot), v.objs.Beside(slot))
}

// Used reports whether slot, which must be below Len, holds an object.
func (v *View[T]) Used(slot uint32) bool { return cowvec.ViewUsed(&v.objs, slot) }

// Next returns the next objects in adjacent slots, as cowvec.View.Next does.
func (v *View[T]) Next(c *cowvec.Cursor) (run cowvec.Run[T], ok bool) {
	run, ok = v.objs.Next(c)
	if ok && v.opener != nil {
		openRun(v, &run)
	}
	return run, ok
}

// openRun replaces the objects of a run by unpacked ones.
//
//go:noinline
func openRun[T any](v *View[T], run *cowvec.Run[T]) {
	objs := make([]T, len(run.Elems))
	for i := range objs {
		objs[i] = viewed(v, run.First+uint32(i))
	}
	run.Elems = objs
}

// AppendTo appends the objects to dst.
func AppendTo[T any](dst []T, v *View[T]) []T {
	var c cowvec.Cursor
	for run, ok := v.Next(&c); ok; run, ok = v.Next(&c) {
		dst = append(dst, run.Elems...)
	}
	return dst
}

// Diff is cowvec.Diff. Objects that are packed are the same if their bytes are.
func Diff[T any](v, other *View[T], same func(a, b T) bool, yield func(T) bool) {
	cowvec.Diff(&v.objs, &other.objs, same, func(slot uint32, obj T) bool {
		if v.opener != nil {
			obj = viewed(v, slot)
		}
		return yield(obj)
	})
}
