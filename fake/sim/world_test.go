package sim_test

import (
	"testing"
	"time"

	"github.com/kinform/kinform/fake/sim"
	"github.com/kinform/kinform/fake/sim/internal/planted"
)

// To wait for no time takes none.
func TestWaitForNothing(t *testing.T) {
	var took time.Duration
	found := sim.Again(t, func() sim.Program {
		p := planted.Tickets()
		p.Run = idle
		p.Users = func(w *sim.World) error {
			begun := time.Now()
			w.Wait(0)
			w.Wait(-time.Hour)
			took = time.Since(begun)
			w.Wait(time.Hour)
			if hour := time.Since(begun); hour != time.Hour {
				t.Errorf("an hour took %v", hour)
			}
			return nil
		}
		return p
	}, "")
	if found != "" || took != 0 {
		t.Errorf("it took %v; %s", took, found)
	}
}
