package ops

import (
	"fmt"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kinform/kinform/bench/internal/measure"
)

// slows are operations with fast handlers next to a slow one, which coalesces. client-go gives
// the slow handler an unbounded buffer.
func slows(w *World) []measure.Op {
	return []measure.Op{
		{
			Name: "slow/coalesce", Whole: true,
			Lines: line("event to a fast handler beside a slow one, p99", "p99-ns", 0, atMost(2, "times-alone")),
			Setup: w.besideSlow,
		},
	}
}

const (
	fastHandlers = 4
	// pause is the time that the slow handler takes for an event: two intervals, and the
	// overrun of a sleep.
	pause = 2 * interval
	// headStart is the number of events that the slow handler gets at once, so that it is at
	// its limit when the measurement begins.
	headStart = 4096 + 1000
)

// evenly is the rhythm of the events.
var evenly = rhythm{every: interval, burst: 1}

// sluggish is a handler that can be made slow.
type sluggish struct{ slow atomic.Bool }

func (s *sluggish) handle(_, _ *corev1.Pod) {
	if s.slow.Load() {
		time.Sleep(pause)
	}
}

// besideSlow measures a fast handler's latency twice in a row: while the other handler is fast
// as well, and while it is slow.
func (w *World) besideSlow() (measure.Sides, error) {
	return bothSides(func(start starter) (measure.Side, error) {
		p, err := w.newPipeline(start, fastHandlers)
		if err != nil {
			return measure.Side{}, err
		}
		s := &sluggish{}
		caughtUp, err := p.add(s.handle)
		if err != nil {
			p.stop()
			return measure.Side{}, err
		}
		return measure.Side{Close: p.stop, Run: func(m measure.Meter, n int) error {
			var tail measure.Series
			for range n {
				if err := await(caughtUp); err != nil {
					return err
				}
				alone, err := p.latencies(evenly, w.Span)
				if err != nil {
					return err
				}
				s.slow.Store(true)
				p.send(batch{pods: p.updates.next(min(headStart, p.updates.turn()/2))})
				beside, err := p.latencies(evenly, w.Span)
				s.slow.Store(false)
				if err != nil {
					return err
				}
				p99 := measure.Percentile(beside, 0.99)
				tail.Add(p99, "p99-ns")
				tail.Add(p99/measure.Percentile(alone, 0.99), "times-alone")
			}
			tail.Report(m)
			return await(caughtUp)
		}}, nil
	})
}

// patience is the time that a handler has to catch up after it is fast again.
const patience = time.Minute

func await(what func() bool) error {
	for deadline := time.Now().Add(patience); !what(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			return fmt.Errorf("a handler is still behind after %v", patience)
		}
	}
	return nil
}
