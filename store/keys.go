package store

import (
	"github.com/kinform/kinform/internal/keytable"
	"github.com/kinform/kinform/internal/slots"
)

// keyMap is the slots.Keys of a store.
type keyMap[K comparable] struct{ keytable.Map[K] }

// newKeys returns the keys of an empty store. Keys of the usual types are packed as bytes.
func newKeys[K comparable]() *keyMap[K] { return &keyMap[K]{keytable.NewMap(keytable.PartsOf[K]())} }

// Clone returns an independent copy.
func (m *keyMap[K]) Clone() slots.Keys { return &keyMap[K]{m.Map.Clone()} }

// keysOf returns the keys of st, which must be a state of a store with keys K.
func keysOf[K comparable, T any](st *slots.State[T]) *keyMap[K] { return st.Keys().(*keyMap[K]) }
