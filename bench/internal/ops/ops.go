// Package ops has the operations that kinform and client-go are compared in: the same
// work by both, as their users do it.
//
// client-go runs with its default feature gates: its informers have RealFIFO with atomic
// and batched events. Its fake list is a list of pointers, which spares it the copy of
// every object that it makes of a typed client's list; its fake watch has an unbuffered
// channel, as the watch of a real client has.
package ops

import (
	"strconv"
	"time"

	"github.com/kinform/kinform/bench/internal/measure"
	"github.com/kinform/kinform/bench/internal/pods"
)

// World is what the operations work on.
type World struct {
	// Fleet is a cluster of Pods pods.
	Fleet *pods.Fleet
	Pods  int
	// Span is how long operations last that measure a distribution over time.
	Span time.Duration
}

// seed is that of all that is random.
const seed = 20260901

// NewWorld returns a world of n pods. Its pods are made when the first operation asks for
// them.
func NewWorld(n int, span time.Duration) *World {
	return &World{Fleet: pods.New(n, seed), Pods: n, Span: span}
}

// All returns every operation, in the order of a report. Those that start with an idle
// program's memory need no pods and should be run before the others.
func All(w *World) []measure.Op {
	var all []measure.Op
	for _, group := range [][]measure.Op{
		lookups(w), contended(w), fillings(w), writes(w), lists(w), heaps(w), syncs(w), wires(w), watches(w), slows(w), relists(w), idles(),
	} {
		all = append(all, group...)
	}
	return all
}

// line is a line that asks for a ratio, in time unless the unit says otherwise.
func line(title, unit string, reach float64, limits ...measure.Limit) []measure.Line {
	return []measure.Line{{Title: title, Unit: unit, Reach: reach, Limits: limits}}
}

func atMost(v float64, unit string) measure.Limit { return measure.Limit{Unit: unit, AtMost: v} }

// noAllocs is the limit of what must not allocate.
func noAllocs() measure.Limit { return atMost(0, measure.Allocs) }

// loop returns a Run that calls f with 0, 1, 2 … for ever, across its calls.
func loop(f func(i int) error) func(measure.Meter, int) error {
	i := 0
	return func(_ measure.Meter, n int) error {
		for range n {
			if err := f(i); err != nil {
				return err
			}
			i++
		}
		return nil
	}
}

// scatter maps 0, 1, 2 … to numbers below n in an order that no cache foresees, each once
// per n.
func scatter(i, n int) int { return int(uint64(i) * 7919 % uint64(n)) }

// some is n of what, such as "1 handler".
func some(n int, what, plural string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + plural
}
