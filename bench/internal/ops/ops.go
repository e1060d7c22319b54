// Package ops has the operations that compare kinform and client-go: both do the same work, in
// the way of their users.
//
// client-go runs with its default feature gates, so its informers have RealFIFO with atomic
// and batched events. Its fake list is a list of pointers, which saves it the copy of every
// object that it makes from a typed client's list. Its fake watch has an unbuffered channel,
// like a real client's watch.
//
// The servers of operations over HTTP are separate processes, which the program starts from its own
// file: see [ServeOthers].
package ops

import (
	"strconv"
	"time"

	"github.com/kinform/kinform/bench/internal/measure"
	"github.com/kinform/kinform/bench/internal/pods"
)

// World holds the data of the operations. What has a cache in its signature is a function and no
// method of World: otherwise all packages that use World compile that cache.
type World struct {
	// Fleet is a cluster of Pods pods.
	Fleet *pods.Fleet
	Pods  int
	// Span is the duration of operations that measure a distribution over time.
	Span time.Duration
}

// seed is the seed of all random data.
const seed = 20260901

// NewWorld returns a world of n pods. The first operation that needs the pods makes them.
func NewWorld(n int, span time.Duration) *World {
	return &World{Fleet: pods.New(n, seed), Pods: n, Span: span}
}

// All returns every operation, in the order of a report. Those that measure the memory of an
// idle program need no pods and should run before the others.
func All(w *World) []measure.Op {
	var all []measure.Op
	for _, group := range [][]measure.Op{
		wholes(w), lookups(w), contended(w), fillings(w), writes(w), lists(w), shapes(w), heaps(w), syncs(w), wires(w), customs(w), wireRelists(w), wireEvents(w), oneLines(w), newCaches(w), packs(w), limits(w), watches(w), reconciles(w), slows(w), relists(w), idles(),
	} {
		all = append(all, group...)
	}
	return all
}

// line returns a line with a goal for a ratio, in time unless the unit says otherwise.
func line(title, unit string, goal float64, limits ...measure.Limit) []measure.Line {
	return []measure.Line{{Title: title, Unit: unit, Goal: goal, Limits: limits}}
}

func atMost(v float64, unit string) measure.Limit { return measure.Limit{Unit: unit, AtMost: v} }

// noAllocs is the limit of operations that must not allocate.
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

// scatter maps 0, 1, 2 … to numbers below n in an order that no cache predicts, each once per
// n.
func scatter(i, n int) int { return int(uint64(i) * 7919 % uint64(n)) }

// some returns a number with its noun, such as "1 handler".
func some(n int, what, plural string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + plural
}
