package ops

import (
	"fmt"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kinform/kinform/bench/internal/measure"
	"github.com/kinform/kinform/informer"
)

// slows are the operations in which fast handlers have a slow one beside them, which
// coalesces. client-go gives it a buffer without bounds.
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
	// pause is what the slow handler takes for an event: two intervals and what a sleep
	// takes longer.
	pause = 2 * interval
	// headStart is how many events the slow handler is given at once, so that it is at its
	// limit when the measurement begins.
	headStart = informer.HandlerLag + 1000
)

// sluggish is a handler that can be made slow.
type sluggish struct{ slow atomic.Bool }

func (s *sluggish) handle(_, _ *corev1.Pod) {
	if s.slow.Load() {
		time.Sleep(pause)
	}
}

// besideSlow measures a fast handler's latency twice in a row: while the handler beside it
// is fast as well, and while it is slow.
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
				alone, err := p.latencies(w.Span)
				if err != nil {
					return err
				}
				s.slow.Store(true)
				p.send(batch{pods: p.updates.next(min(headStart, p.updates.turn()/2))})
				beside, err := p.latencies(w.Span)
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

// patience is how long a handler has that is not slow any more to catch up.
const patience = time.Minute

func await(what func() bool) error {
	for deadline := time.Now().Add(patience); !what(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			return fmt.Errorf("a handler is still behind after %v", patience)
		}
	}
	return nil
}
