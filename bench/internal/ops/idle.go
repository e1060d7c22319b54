package ops

import (
	"fmt"
	"runtime"
	"time"

	"github.com/kinform/kinform/bench/internal/measure"
)

// idles are informers of nothing. They are counted with their stacks.
func idles() []measure.Op {
	var all []measure.Op
	for _, c := range []struct {
		handlers           int
		kilobytes, workers float64
	}{{0, 10, 2}, {1, 14, 3}, {4, 24, 6}} {
		all = append(all, measure.Op{
			Name: fmt.Sprintf("idle/handlers=%d", c.handlers), Whole: true, Rounds: 6,
			Lines: line("idle informer, "+some(c.handlers, "handler", "handlers"), "B/informer", 0,
				atMost(c.kilobytes*1024, "B/informer"), atMost(c.workers, "goroutines/informer")),
			Setup: func() (measure.Sides, error) {
				return measure.Sides{
					Kinform:  measure.Side{Run: idle(startKinform, c.handlers)},
					ClientGo: measure.Side{Run: idle(startClientGo, c.handlers)},
				}, nil
			},
		})
	}
	return all
}

// idleInformers is how many are counted at once, so that what else goes on is little to
// each.
const idleInformers = 100

func idle(start starter, handlers int) func(measure.Meter, int) error {
	return func(m measure.Meter, n int) error {
		var taken measure.Series
		for range n {
			if err := idleOnce(&taken, start, handlers); err != nil {
				return err
			}
		}
		taken.Report(m)
		return nil
	}
}

func idleOnce(taken *measure.Series, start starter, handlers int) error {
	hs := make([]handler, handlers)
	for i := range hs {
		hs[i] = ignore
	}
	goroutines, before := runtime.NumGoroutine(), liveWithStacks()
	var all []*running
	for range idleInformers {
		r, err := start(&feed{rv: 1}, 0, hs...)
		if err != nil {
			return err
		}
		all = append(all, r)
	}
	for _, r := range all {
		r.awaitSync()
	}
	time.Sleep(20 * time.Millisecond) // some start a goroutine after that
	bytes := liveWithStacks() - before
	taken.Add(bytes/idleInformers, "B/informer")
	taken.Add(float64(runtime.NumGoroutine()-goroutines)/idleInformers, "goroutines/informer")
	for _, r := range all {
		r.stop()
	}
	return nil
}

// liveWithStacks is settled and the stacks of all goroutines, which a collection shrinks
// by half if they are too large: an informer that is idle for long has small ones.
func liveWithStacks() float64 {
	for range 3 {
		runtime.GC()
	}
	heap := settled()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return heap + float64(m.StackInuse)
}
