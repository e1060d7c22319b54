package store

import (
	"github.com/kinform/kinform/internal/keytable"
	"github.com/kinform/kinform/internal/slots"
)

// newKeys returns the keys of an empty store. Keys of the usual types are packed as bytes.
func newKeys[K comparable]() *keytable.Map[K] { return keytable.NewMap(keytable.PartsOf[K]()) }

// keysOf returns the keys of st, which must be a state of a store with keys K.
func keysOf[K comparable, T any](st *slots.State[T]) *keytable.Map[K] {
	return st.Keys().(*keytable.Map[K])
}
