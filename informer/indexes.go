package informer

import "github.com/kinform/kinform/index"

// AddIndexes adds indexes to the store: all of them, or none if it returns an error. It may be
// called before Run, while it runs, or between two runs. Package factory uses it for indexes that
// later requests ask for. It visits every object in the store, and nothing is committed meanwhile.
// Errors: the errors of store.Store.AddIndexes, such as index.ErrDuplicate, with the resource in
// their text.
//
//go:noinline
func (i *Informer[K, T]) AddIndexes(defs ...index.Definition[T]) error {
	return i.typed.AddIndexes(defs...)
}

//go:noinline
func (i *core[K, T]) AddIndexes(defs ...index.Definition[T]) error {
	if err := i.store.AddIndexes(defs...); err != nil {
		return about(i.name, err)
	}
	return nil
}
