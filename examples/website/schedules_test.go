package website_test

import (
	"testing"

	"github.com/kinform/kinform/fake/sim"
	"github.com/kinform/kinform/internal/longtest"
)

// TestSchedules explores as TestExplore does, for longer.
func TestSchedules(t *testing.T) {
	if !longtest.On() {
		t.Skip(longtest.Variable + " is not set")
	}
	sim.Explore(t, explored, 10_000)
}
