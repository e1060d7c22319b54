package ops

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/kinform/kinform/bench/internal/measure"
)

// relists are the operations on objects that did not change.
func relists(w *World) []measure.Op {
	return []measure.Op{
		{
			Name: "relist/same", Whole: true, Rounds: 6,
			Lines: line("relist of identical objects, 1 handler, 1 index", measure.Nanoseconds, 8),
			Setup: w.relistSame,
		},
		{
			Name:    "resync",
			Lines:   line("resync of all objects, 1 handler", measure.Nanoseconds, 8),
			Missing: noResync,
		},
	}
}

// relistSame measures from the second list to the handler's seeing the first event after
// it. client-go's handler is called for every object of the list, kinform's is not.
func (w *World) relistSame() (measure.Sides, error) {
	relist := func(start starter) measure.Side {
		return measure.Side{Run: func(m measure.Meter, n int) error {
			for range n {
				m.StopTimer()
				if err := w.relistOnce(m, start); err != nil {
					return err
				}
			}
			return nil
		}}
	}
	return measure.Sides{Kinform: relist(startKinform), ClientGo: relist(startClientGo)}, nil
}

// relistOnce is called with the timer stopped and returns so. Each relist has an informer
// of its own, because client-go waits longer before each.
func (w *World) relistOnce(m measure.Meter, start starter) error {
	f := newFeed(w.Fleet.Pods())
	last := w.Fleet.Copies(1)[0]
	done := make(chan struct{})
	r, err := start(f, 1, func(_, pod *corev1.Pod) {
		if pod == last {
			close(done)
		}
	})
	if err != nil {
		return err
	}
	defer r.stop()
	r.awaitSync()
	f.expire <- struct{}{}
	<-f.relisting
	m.StartTimer()
	f.proceed <- struct{}{}
	last.ResourceVersion = "999999999"
	f.send <- batch{pods: []*corev1.Pod{last}}
	<-done
	m.StopTimer()
	return nil
}
