package ops

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/kinform/kinform/bench/internal/measure"
)

// watches are the operations on watch events.
func watches(w *World) []measure.Op {
	var all []measure.Op
	for _, c := range []struct {
		handlers int
		goal     float64
	}{{1, 3}, {4, 3.5}, {16, 3.5}, {40, 3.5}, {200, 10}} {
		all = append(all, measure.Op{
			Name:  fmt.Sprintf("watch/handlers=%d", c.handlers),
			Lines: line("watch event to "+some(c.handlers, "handler", "handlers")+", 1 index", measure.Nanoseconds, c.goal, atMost(0.1, measure.Allocs)),
			Setup: func() (measure.Sides, error) { return w.watch(c.handlers, func(s starter) starter { return s }) },
		})
	}
	all = append(all, measure.Op{
		Name:  "watch/unmarked/handlers=1",
		Lines: line("watch event of a source that never sets Idle to 1 handler, 1 index", measure.Nanoseconds, 3, atMost(0.1, measure.Allocs)),
		Setup: func() (measure.Sides, error) { return w.watch(1, unmarked) },
	})
	return append(all, latencies(w)...)
}

// pipeline is a synced informer with a feed that sends updates.
type pipeline struct {
	*running
	feed    *feed
	updates *updates
	tallies []*tally
}

// tally counts a handler's updates. left and at are not written while an event is on its way.
type tally struct {
	left int
	at   int
	done chan struct{}
	each func(i int) // called for the i-th of a batch; nil for nothing
}

func (t *tally) handle(old, _ *corev1.Pod) {
	if old == nil {
		return
	}
	if t.each != nil {
		t.each(t.at)
	}
	t.at++
	if t.left--; t.left == 0 {
		t.done <- struct{}{}
	}
}

func (w *World) newPipeline(start starter, handlers int) (*pipeline, error) {
	f := newFeed(w.Fleet.Pods())
	p := &pipeline{feed: f, updates: w.newUpdates(f)}
	var hs []handler
	for range handlers {
		t := &tally{done: make(chan struct{})}
		p.tallies = append(p.tallies, t)
		hs = append(hs, t.handle)
	}
	var err error
	if p.running, err = start(f, 1, hs...); err != nil {
		return nil, err
	}
	p.awaitSync()
	return p, nil
}

// send sends pods and returns when every handler has had all of them.
func (p *pipeline) send(b batch) {
	for _, t := range p.tallies {
		t.left, t.at = len(b.pods), 0
	}
	p.feed.send <- b
	for _, t := range p.tallies {
		<-t.done
	}
}

// watch measures events to handlers, with informers as with starts them.
func (w *World) watch(handlers int, with func(starter) starter) (measure.Sides, error) {
	side := func(start starter) (measure.Side, error) {
		p, err := w.newPipeline(with(start), handlers)
		if err != nil {
			return measure.Side{}, err
		}
		return measure.Side{Close: p.stop, Run: func(m measure.Meter, n int) error {
			for n > 0 {
				m.StopTimer()
				some := p.updates.next(n)
				m.StartTimer()
				p.send(batch{pods: some})
				n -= len(some)
			}
			return nil
		}}, nil
	}
	return bothSides(side)
}

// bothSides makes each side with its own kind of informer.
func bothSides(side func(starter) (measure.Side, error)) (measure.Sides, error) {
	return sidesWith[starter](startKinform, startClientGo, side)
}

// sidesWith makes each side with its own way to start an informer.
func sidesWith[S any](kinform, clientGo S, side func(S) (measure.Side, error)) (sides measure.Sides, err error) {
	if sides.Kinform, err = side(kinform); err != nil {
		return measure.Sides{}, err
	}
	if sides.ClientGo, err = side(clientGo); err != nil {
		sides.Close()
	}
	return sides, err
}
