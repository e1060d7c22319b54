package ops

import (
	"fmt"
	"runtime"
	"time"

	"github.com/kinform/kinform/bench/internal/measure"
)

// idles are informers of empty collections. Their stacks count too.
func idles() []measure.Op {
	all := []measure.Op{
		idleOp(0, atMost(10*1024, perInformer), atMost(1, workers)),
		idleOp(1, atMost(14*1024, perInformer), atMost(2, workers)),
		idleOp(4, atMost(24*1024, perInformer), atMost(5, workers)),
		idleOp(40, atMost(41, workers)),
	}
	return append(all, measure.Op{
		Name: "idle/informers=500", Whole: true, Rounds: 6,
		Lines: line("500 idle informers, 1 handler each", "B/500", 0, atMost(1000, "goroutines/500")),
		Setup: idleSides(500, 1, 1, "/500"),
	})
}

const (
	perInformer = "B/informer"
	workers     = "goroutines/informer"
	// idleInformers is the number of informers counted together, so that other activity hardly
	// matters for each.
	idleInformers = 100
)

func idleOp(handlers int, limits ...measure.Limit) measure.Op {
	return measure.Op{
		Name: fmt.Sprintf("idle/handlers=%d", handlers), Whole: true, Rounds: 6,
		Lines: line("idle informer, "+some(handlers, "handler", "handlers"), perInformer, 0, limits...),
		Setup: idleSides(idleInformers, handlers, idleInformers, "/informer"),
	}
}

// idleSides divides the amounts of all informers by share, and adds per to their names.
func idleSides(informers, handlers int, share float64, per string) func() (measure.Sides, error) {
	side := func(start starter) measure.Side {
		return measure.Side{Run: func(m measure.Meter, n int) error {
			var taken measure.Series
			for range n {
				bytes, goroutines, err := idle(start, informers, handlers)
				if err != nil {
					return err
				}
				taken.Add(bytes/share, "B"+per)
				taken.Add(goroutines/share, "goroutines"+per)
			}
			taken.Report(m)
			return nil
		}}
	}
	return func() (measure.Sides, error) {
		return measure.Sides{Kinform: side(startKinform), ClientGo: side(startClientGo)}, nil
	}
}

// idle returns the amounts of all informers together.
func idle(start starter, informers, handlers int) (bytes, goroutines float64, err error) {
	hs := make([]handler, handlers)
	for i := range hs {
		hs[i] = ignore
	}
	workers, before := runtime.NumGoroutine(), liveWithStacks()
	var all []*running
	for range informers {
		r, err := start(&feed{rv: 1}, 0, hs...)
		if err != nil {
			return 0, 0, err
		}
		all = append(all, r)
	}
	for _, r := range all {
		r.awaitSync()
	}
	time.Sleep(20 * time.Millisecond) // some start a goroutine after that
	bytes, goroutines = liveWithStacks()-before, float64(runtime.NumGoroutine()-workers)
	for _, r := range all {
		r.stop()
	}
	return bytes, goroutines, nil
}

// liveWithStacks is settled plus the stacks of all goroutines. A collection halves stacks that
// are too large, so an informer that is idle for long has small ones.
func liveWithStacks() float64 {
	for range 3 {
		runtime.GC()
	}
	settled() // for its collections
	heap, stacks := inUse()
	return heap + stacks
}
