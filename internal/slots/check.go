package slots

import (
	"fmt"

	"github.com/kinform/kinform/internal/cowvec"
)

// Check verifies the invariants of the State and returns the first breach. find returns
// the slot that keys has for the key of an object, and whether it has one. Cost: O(objects).
// Only the writer may call it.
func Check[T any](s *Slots[T], find func(T) (slot uint32, ok bool, err error)) error {
	st := s.st
	s.mu.RLock()
	view := cowvec.ViewOf(&st.objs)
	s.mu.RUnlock()
	if n := st.keys.Len(); n != view.Live() {
		return fmt.Errorf("%d objects, but %d keys", view.Live(), n)
	}
	if n := view.Len(); n > minSlots && st.objs.Live() < n/8 {
		return fmt.Errorf("%d objects occupy %d slots", view.Live(), n)
	}
	seen := 0
	for slot, obj := range cowvec.All(view) {
		seen++
		at, ok, err := find(obj)
		if err != nil {
			return fmt.Errorf("object in slot %d: %w", slot, err)
		}
		if !ok || at != slot {
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
