package slots

import (
	"fmt"

	"github.com/kinform/kinform/internal/keytable"
)

// Check verifies the invariants of the State and returns the first breach. hashOf
// returns the hash of an object's key. Cost: O(objects). It is a writer's call.
func (s *Slots[T]) Check(hashOf func(T) (uint32, error)) error {
	st := s.st
	s.mu.RLock()
	view := st.objs.View()
	s.mu.RUnlock()
	if n := st.keys.Len(); n != view.Live() {
		return fmt.Errorf("%d objects, but %d keys", view.Live(), n)
	}
	if n := view.Len(); n > minSlots && st.objs.Live() < n/8 {
		return fmt.Errorf("%d objects occupy %d slots", view.Live(), n)
	}
	seen := 0
	for slot, obj := range view.All {
		seen++
		hash, err := hashOf(obj)
		if err != nil {
			return fmt.Errorf("object in slot %d: %w", slot, err)
		}
		if !st.holds(hash, slot) {
			return fmt.Errorf("object in slot %d is not found by its key: was it changed after it was stored?", slot)
		}
	}
	if seen != view.Live() {
		return fmt.Errorf("%d objects counted, %d found", view.Live(), seen)
	}
	for _, x := range st.indexes {
		if err := x.Check(view); err != nil {
			return fmt.Errorf("index %q: %w", x.Name(), err)
		}
	}
	return nil
}

func (st *State[T]) holds(hash, slot uint32) bool {
	var p keytable.Probe
	for {
		got, ok := st.Next(hash, &p)
		if !ok || got == slot {
			return ok
		}
	}
}
