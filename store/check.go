package store

// Check verifies the invariants of the store and its indexes, and that no stored object
// was changed in its key or its index values, and returns the first breach. It calls all
// key and index functions: O(objects). It is meant for tests and for the search for a
// program that writes to cached objects.
func (s *Store[K, T]) Check() error {
	s.writeMu.Lock()
	defer s.writeMu.Unlock()
	return s.check()
}

func (s *Store[K, T]) check() error {
	keys := keysOf[K](s.slots.Own())
	return s.slots.Check(func(obj T) (uint32, bool, error) {
		key, err := s.keyOf(obj)
		if err != nil {
			return 0, false, err
		}
		slot, ok := keys.Find(s.hash(key), key)
		return slot, ok, nil
	})
}
