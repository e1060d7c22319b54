// Package measure runs the same operation on two sides in turns and tells how they
// compare.
package measure

import (
	"fmt"
	"time"
)

// Meter is what an operation is measured with. A *testing.B is one. The timer runs when
// an operation begins.
type Meter interface {
	StartTimer()
	StopTimer()
	// ReportMetric sets a measure of the operation's own, in place of one of that unit
	// which the meter took.
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
	// Close lets go of what Run needs. It may be nil.
	Close func()
}

// Op is an operation that both sides can do.
type Op struct {
	// Name is short and without blanks, for benchmarks and for choosing.
	Name string
	// Lines are what a report says of it, at least one.
	Lines []Line
	// Whole says that one operation takes long and leaves much garbage: it is done once
	// a round, after a garbage collection.
	Whole bool
	// Exact says that it measures amounts which hardly vary: few rounds do, and nothing has
	// to warm up. It is done once a round.
	Exact bool
	// Rounds is the most rounds that it needs; zero means no such limit.
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
	// Slice is how long one side is measured before it is the other's turn, unless the
	// operation is Whole. Zero means once.
	Slice time.Duration
	// Rounds is how often each side is measured. Zero means once.
	Rounds int
}

// Values are what one side was measured to take: by unit, one value per round.
type Values map[string][]float64

// Result is what Run measured.
type Result struct {
	Op                Op
	Kinform, ClientGo Values
}

// exactRounds is how often an operation is measured that is Exact.
const exactRounds = 3

// Run measures op: first each side once to warm up and to find out how many operations
// fill a slice, then in turns, so that what else the machine does hits both alike.
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
			// Nobody is always the first.
			if err := turns[(i+round)%2].take(); err != nil {
				return res, fmt.Errorf("%s: %w", op.Name, err)
			}
		}
	}
	return res, nil
}
