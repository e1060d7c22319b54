package store

import (
	"fmt"

	"github.com/kinform/kinform/index"
	"github.com/kinform/kinform/internal/cowvec"
	"github.com/kinform/kinform/internal/mistake"
	"github.com/kinform/kinform/internal/slots"
	"github.com/kinform/kinform/internal/usercode"
)

// Set stores obj under its key, in its own commit, which does not move the resourceVersion.
// Errors: ErrClosed, *KeyError, *informer.PanicError.
func (s *Store[K, T]) Set(obj T) error {
	// Lock before the key function runs: a lock between two reads of obj would keep the
	// processor from doing both at a time.
	s.writeMu.Lock()
	defer s.writeMu.Unlock()
	if s.closed {
		return ErrClosed
	}
	key, err := keyOf(s, obj)
	if err != nil {
		return err
	}
	ops := [1]Op[K, T]{{Key: key, Object: obj}}
	s.plan.keyed = true
	commitPlan(s, "", ops[:])
	return ops[0].Err
}

// Delete removes the object under key, in its own commit, which does not move the resourceVersion.
// It returns the object. A missing object is no error. Errors: ErrClosed, *KeyError.
func (s *Store[K, T]) Delete(key K) (old T, had bool, err error) {
	ops := [1]Op[K, T]{{Key: key, Delete: true}}
	if err := s.Commit("", ops[:]); err != nil {
		return old, false, err
	}
	return ops[0].Old, ops[0].Had, ops[0].Err
}

// keyOf calls the key function and turns a panic of it into an error.
func keyOf[K comparable, T any](s *Store[K, T], obj T) (key K, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = &KeyError{Err: usercode.Panicked(keyFunction, r)}
		}
	}()
	if key, err = s.key(obj); err != nil {
		err = &KeyError{Err: err}
	}
	return key, err
}

// AddIndexes adds indexes to a store, which may be in use and hold objects. It adds all of them
// or none.
// Errors: ErrClosed, index.ErrInvalid, index.ErrDuplicate, *informer.PanicError.
func (s *Store[K, T]) AddIndexes(defs ...index.Definition[T]) error {
	s.writeMu.Lock()
	defer s.writeMu.Unlock()
	if s.closed {
		return ErrClosed
	}
	ixs, err := instances(s.slots, defs)
	if err != nil {
		return err
	}
	if err := slots.AddIndexes(s.slots, ixs, func() error { return fill(s, ixs) }); err != nil {
		return err
	}
	verifyCommit(s)
	return nil
}

// instances returns empty indexes of defs, whose names must be new to body and differ from each
// other. Errors: index.ErrInvalid, index.ErrDuplicate.
func instances[T any](body *slots.Slots[T], defs []index.Definition[T]) ([]slots.Index[T], error) {
	have := names{}
	for _, ix := range body.Own().Indexes() {
		have[ix.Name()] = true
	}
	out := make([]slots.Index[T], len(defs))
	for i, def := range defs {
		if def == nil {
			return nil, errNilIndex
		}
		ix, err := def.Live()
		if err == nil {
			err = have.add(ix.Name())
		}
		if err != nil {
			return nil, err
		}
		out[i] = ix
	}
	return out, nil
}

var errNilIndex = fmt.Errorf("%w: the index is nil: make it with index.New or index.By", mistake.Index)

// names are the names of indexes.
type names map[string]bool

func (have names) add(name string) error {
	if have[name] {
		return fmt.Errorf("index %q: %w", name, index.ErrDuplicate)
	}
	have[name] = true
	return nil
}

// fill puts all objects into new indexes that readers do not see yet.
func fill[K comparable, T any](s *Store[K, T], ixs []slots.Index[T]) (err error) {
	var at T
	defer func() {
		if r := recover(); r != nil {
			key, _ := keyOf(s, at)
			err = panicError(s, r, key, ixs)
		}
	}()
	s.plan.doing = indexFunction
	view := slots.ViewOf(s.slots.Own())
	var c cowvec.Cursor
	for run, ok := view.Next(&c); ok; run, ok = view.Next(&c) {
		for n, obj := range run.Elems {
			at = obj
			for i, x := range ixs {
				s.plan.index = i
				x.Stage(0, obj)
				x.Prepare(0, run.First+uint32(n), false)
				x.Put(run.First+uint32(n), 0)
				x.Unstage(0)
			}
		}
	}
	return nil
}
