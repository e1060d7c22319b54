package sim_test

import (
	"testing"

	"github.com/kinform/kinform/fake/sim"
	"github.com/kinform/kinform/fake/sim/internal/planted"
)

// TestExplore explores a correct program as authors do, and plays a schedule in which it must make up for two faults.
func TestExplore(t *testing.T) {
	program := planted.Correct()[0].Program
	sim.Explore(t, program, 60)
	sim.Replay(t, program, `
		crash after create configs.example.com prod/shop-1 # and the new process finds it
		users update configs.example.com prod/shop-1
	`)
}
