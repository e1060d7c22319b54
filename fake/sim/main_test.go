package sim_test

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		goleak.IgnoreAnyFunction("github.com/kinform/kinform/fake/sim_test.stay"),
		goleak.IgnoreAnyFunction("github.com/kinform/kinform/fake/sim.(*run).live")) // it waits for stay
}
