// Package measure runs the same operation on two sides in turns and compares them.
package measure

import (
	"fmt"
	"time"
)

// Meter measures an operation. A *testing.B is one. The timer runs when an operation begins.
type Meter interface {
	StartTimer()
	StopTimer()
	// ReportMetric sets a measure that the operation took itself. It replaces the meter's
	// measure with the same unit.
	ReportMetric(value float64, unit string)
}

// The units that every meter takes, all per operation.
const (
	Nanoseconds = "ns/op"
	Bytes       = "B/op"
	Allocs      = "allocs/op"
)

// Side is one implementation of an operation.
type Side struct {
	// Run does the operation n times. An error ends the measurement.
	Run func(m Meter, n int) error
	// Close frees the resources of Run. It may be nil.
	Close func()
}

// Op is an operation that both sides can do.
type Op struct {
	// Name is short and without blanks, for benchmarks and for choosing.
	Name string
	// Lines are the operation's lines in a report, at least one.
	Lines []Line
	// Whole says that one operation takes long and leaves much garbage: it is done once
	// a round, after a garbage collection.
	Whole bool
	// Exact says that the operation measures amounts that hardly vary: few rounds are enough,
	// and it needs no warm-up. It runs once a round.
	Exact bool
	// Rounds is the largest number of rounds that it needs; zero means no such limit.
	Rounds int
	// Missing says why it cannot be measured yet. Setup is then nil.
	Missing string
	// Setup makes both sides ready.
	Setup func() (Sides, error)
}

// Sides are the two implementations of an operation.
type Sides struct{ Kinform, ClientGo Side }

// Close closes both.
func (s Sides) Close() {
	for _, side := range []Side{s.Kinform, s.ClientGo} {
		if side.Close != nil {
			side.Close()
		}
	}
}

// Options of a measurement.
type Options struct {
	// Slice is the time for one side before it is the other's turn, unless the operation is
	// Whole. Zero means one operation.
	Slice time.Duration
	// Rounds is the number of measurements of each side. Zero means one.
	Rounds int
}

// Values are the measures of one side: one value per round, by unit.
type Values map[string][]float64

// Result is the result of Run.
type Result struct {
	Op                Op
	Kinform, ClientGo Values
}

// exactRounds is the number of rounds of an operation that is Exact.
const exactRounds = 3

// Run measures op. It first runs each side once, to warm up and to find the number of
// operations that fill a slice. Then the sides take turns, so that other load on the machine
// affects both.
func Run(op Op, opts Options) (Result, error) {
	res := Result{Op: op, Kinform: Values{}, ClientGo: Values{}}
	sides, err := op.Setup()
	if err != nil {
		return res, fmt.Errorf("%s: %w", op.Name, err)
	}
	defer sides.Close()
	turns := []*turn{
		{side: sides.Kinform, values: res.Kinform, whole: op.Whole, n: 1},
		{side: sides.ClientGo, values: res.ClientGo, whole: op.Whole, n: 1},
	}
	rounds := opts.Rounds
	if op.Rounds > 0 {
		rounds = min(op.Rounds, rounds)
	}
	if op.Exact {
		rounds = min(exactRounds, rounds)
	}
	for _, t := range turns {
		if op.Exact {
			continue
		}
		if err := t.calibrate(opts.Slice); err != nil {
			return res, fmt.Errorf("%s: %w", op.Name, err)
		}
	}
	for round := range max(rounds, 1) {
		for i := range turns {
			// The sides alternate in going first.
			if err := turns[(i+round)%2].take(); err != nil {
				return res, fmt.Errorf("%s: %w", op.Name, err)
			}
		}
	}
	return res, nil
}
