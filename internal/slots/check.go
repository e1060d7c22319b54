package slots

import (
	"fmt"

	"github.com/kinform/kinform/internal/cowvec"
)

// Check verifies the invariants of the State and returns the first breach. find returns
// the slot that keys has for the key of an object, and whether it has one. Cost: O(objects).
// Only the writer may call it.
func Check[T any](s *Slots[T], find func(T) (slot uint32, ok bool, err error)) error {
	st := s.Read()
	view := ViewOf(st)
	s.Done()
	if err := checkSizes(st.keys.Len(), view.Live(), view.Len()); err != nil {
		return err
	}
	seen := 0
	var c cowvec.Cursor
	for run, ok := view.Next(&c); ok; run, ok = view.Next(&c) {
		for i, obj := range run.Elems {
			at, ok, err := find(obj)
			if err := checkSlot(run.First+uint32(i), at, ok, err); err != nil {
				return err
			}
		}
		seen += len(run.Elems)
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

func checkSizes(keys, objects, slots int) error {
	if keys != objects {
		return fmt.Errorf("%d objects, but %d keys", objects, keys)
	}
	if slots > minSlots && objects < slots/8 {
		return fmt.Errorf("%d objects occupy %d slots", objects, slots)
	}
	return nil
}

// checkSlot checks what find has returned for the object in slot.
func checkSlot(slot, at uint32, ok bool, err error) error {
	if err != nil {
		return fmt.Errorf("object in slot %d: %w", slot, err)
	}
	if !ok || at != slot {
		return fmt.Errorf("object in slot %d is not found by its key: was it changed after it was stored?", slot)
	}
	return nil
}
