package ops_test

import (
	"io"
	"math"
	"regexp"
	"testing"
	"time"

	"go.uber.org/goleak"
	"k8s.io/klog/v2"

	"github.com/kinform/kinform/bench/internal/measure"
	"github.com/kinform/kinform/bench/internal/ops"
	"github.com/kinform/kinform/internal/longtest"
)

func TestMain(m *testing.M) {
	if ops.ServeOthers() {
		return
	}
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard) // client-go logs what takes long
	goleak.VerifyTestMain(m)
}

func smallWorld() *ops.World { return ops.NewWorld(200, 5*time.Millisecond) }

// TestEveryOperation does each operation on both sides and finds every measure that its
// lines name.
func TestEveryOperation(t *testing.T) {
	all := func() []measure.Op {
		all := append(ops.All(smallWorld()), ops.Growing(1000)...)
		if longtest.On() {
			all = append(all, ops.Savings()...)
		}
		return all
	}
	for i := range all() {
		op := all()[i] // in its own world
		t.Run(op.Name, func(t *testing.T) {
			t.Parallel() // most of them wait
			if op.Missing != "" {
				t.Skip(op.Missing)
			}
			rounds := longtest.N(1, 3)
			if op.Rounds > 0 {
				rounds = min(rounds, op.Rounds)
			}
			res, err := measure.Run(op, measure.Options{Slice: 2 * time.Millisecond, Rounds: rounds})
			if err != nil {
				t.Fatal(err)
			}
			for _, line := range op.Lines {
				units := []string{line.Unit}
				for _, limit := range line.Limits {
					units = append(units, limit.Unit)
				}
				for _, unit := range units {
					checkValues(t, unit, rounds, res.Kinform[unit])
					checkValues(t, unit, rounds, res.ClientGo[unit])
				}
			}
		})
	}
}

func checkValues(t *testing.T, unit string, rounds int, values []float64) {
	t.Helper()
	if len(values) != rounds {
		t.Errorf("%d values of %s, want one in each of %d rounds", len(values), unit, rounds)
	}
	for _, v := range values {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			t.Errorf("%s is %v", unit, v)
		}
	}
}

// TestNames holds to what benchstat and report -run rely on.
func TestNames(t *testing.T) {
	seen, titles := map[string]bool{}, map[string]bool{}
	for _, op := range append(ops.All(smallWorld()), ops.Savings()...) {
		if seen[op.Name] || !regexp.MustCompile(`^[a-z0-9/=-]+$`).MatchString(op.Name) {
			t.Errorf("bad name %q", op.Name)
		}
		seen[op.Name] = true
		if (op.Missing == "") != (op.Setup != nil) {
			t.Errorf("%s: needs a setup or a reason to have none", op.Name)
		}
		if len(op.Lines) == 0 {
			t.Errorf("%s: nothing is reported", op.Name)
		}
		for _, line := range op.Lines {
			if line.Title == "" || titles[line.Title] {
				t.Errorf("%s: bad title %q", op.Name, line.Title)
			}
			titles[line.Title] = true
			if line.Goal == 0 && len(line.Limits) == 0 {
				t.Errorf("%s: no goal", line.Title)
			}
		}
	}
}
