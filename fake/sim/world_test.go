package sim_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/kinform/kinform/fake/sim"
	"github.com/kinform/kinform/fake/sim/internal/planted"
)

// Users wait for some time, and not for none.
func TestWait(t *testing.T) {
	for d, want := range map[time.Duration]string{time.Hour: "", 0: "Wait of 0s: want more", -time.Second: "Wait of -1s: want more"} {
		found := sim.Again(t, func() sim.Program {
			p := planted.Tickets()
			p.Users = func(w *sim.World) error {
				begun := time.Now()
				if w.Wait(d); time.Since(begun) != d {
					return fmt.Errorf("it took %v", time.Since(begun))
				}
				return nil
			}
			return p
		}, "")
		if !strings.Contains(found, want) || want == "" && found != "" {
			t.Errorf("to wait for %v: %s", d, found)
		}
	}
}

// A program that cannot be struck is an error, and does not pass.
func TestNothingToExplore(t *testing.T) {
	found := sim.Search(t, func() sim.Program {
		p := planted.Tickets()
		p.Run = idle
		return p
	}, 20)
	if found == nil || !strings.Contains(found.Text, "the program sends no request") {
		t.Errorf("found %+v", found)
	}
}
