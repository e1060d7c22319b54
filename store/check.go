package store

import (
	"github.com/kinform/kinform/internal/keytable"
	"github.com/kinform/kinform/internal/slots"
)

// Check verifies the invariants of the store and its indexes, and returns the first breach. It
// also detects stored objects whose key or index values were changed. It calls the key function
// and all index functions for every object: O(objects). Use it in tests, or to find a program
// that writes to cached objects.
func (s *Store[K, T]) Check() error {
	s.writeMu.Lock()
	defer s.writeMu.Unlock()
	return check(s)
}

func check[K comparable, T any](s *Store[K, T]) error {
	keys := keysOf[K](s.slots.Own())
	return slots.Check(s.slots, func(obj T) (uint32, bool, error) {
		key, err := keyOf(s, obj)
		if err != nil {
			return 0, false, err
		}
		slot, ok := keytable.Find(keys, hashOf(&s.readSide, key), key)
		return slot, ok, nil
	})
}
