package informer

import "github.com/kinform/kinform/index"

// AddIndexes adds indexes to the store, before Run, while it runs or between two runs: all
// of them or none. Package factory adds those of later requests by it.
// It takes time for every object in the store, in which no changes are committed.
// Errors: those of store.Store.AddIndexes, such as index.ErrExists.
func (i *Informer[K, T]) AddIndexes(defs ...index.Definition[T]) error {
	return i.store.AddIndexes(defs...)
}
