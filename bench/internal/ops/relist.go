package ops

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/kinform/kinform/bench/internal/measure"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/reflector"
	"github.com/kinform/kinform/store"
)

// relists are the operations on objects that did not change.
func relists(w *World) []measure.Op {
	return []measure.Op{
		{
			Name: "relist/same", Whole: true, Rounds: 6,
			Lines: line("relist of identical objects, 1 handler, 1 index", measure.Nanoseconds, 8),
			Setup: func() (measure.Sides, error) { return w.relistSame(startKinform) },
		},
		{
			Name: "relist/told", Whole: true, Rounds: 6,
			Lines: line("relist of identical objects, the handler told of all", measure.Nanoseconds, 1),
			Setup: func() (measure.Sides, error) { return w.relistSame(startUnchanged) },
		},
		{
			Name: "resync", Whole: true, Rounds: 6,
			Lines: line("resync of all objects, 1 handler", measure.Nanoseconds, 8),
			Setup: w.resync,
		},
	}
}

// relistSame measures from the second list to the first event after it, as the handler sees
// it. client-go calls its handler for every object of the list, kinform only if the handler
// asks for that.
func (w *World) relistSame(kinform starter) (measure.Sides, error) {
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
	return measure.Sides{Kinform: relist(kinform), ClientGo: relist(startClientGo)}, nil
}

// relistOnce is called with the timer stopped and returns with it stopped. Each relist has its
// own informer, because client-go waits longer before each further one.
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

// resyncEvery is the shortest period that client-go accepts.
const resyncEvery = time.Second

// resync measures from the first event of a resync to the last, as the handler sees them. This
// favours client-go, whose work before the first event does not count. Only one side has an
// informer at a time, since resyncs also come during the other side's turn.
func (w *World) resync() (measure.Sides, error) {
	side := func(start resyncStarter) measure.Side {
		return measure.Side{Run: func(m measure.Meter, n int) error {
			m.StopTimer()
			for range n {
				if err := w.resyncOnce(m, start); err != nil {
					return err
				}
			}
			return nil
		}}
	}
	return measure.Sides{Kinform: side(resyncKinform), ClientGo: side(resyncClientGo)}, nil
}

// resyncOnce is called with the timer stopped and returns with it stopped.
func (w *World) resyncOnce(m measure.Meter, start resyncStarter) error {
	seen, done := 0, make(chan struct{})
	r, err := start(newFeed(w.Fleet.Pods()), func() {
		switch seen++; seen {
		case 1:
			m.StartTimer()
		case w.Pods:
			m.StopTimer()
			close(done)
		}
	})
	if err != nil {
		return err
	}
	defer r.stop()
	<-done
	return nil
}

// resyncStarter starts an informer with one handler, which calls each for every object of a
// resync.
type resyncStarter func(f *feed, each func()) (*running, error)

func resyncKinform(f *feed, each func()) (*running, error) {
	inf, err := informer.New(f, store.ObjectKey, informer.Options[*corev1.Pod]{Indexes: definitions(1), Reflector: reflector.Tuning{DisableWatchList: true}})
	if err != nil {
		return nil, err
	}
	if _, err := inf.AddHandler(informer.HandlerFunc[key, *corev1.Pod](func(ev informer.Event[key, *corev1.Pod]) {
		if ev.Sync {
			each()
		}
	}), informer.HandlerOptions[*corev1.Pod]{Resync: resyncEvery}); err != nil {
		return nil, err
	}
	r := &running{}
	var ctx context.Context
	ctx, r.cancel = context.WithCancel(context.Background())
	r.wg.Go(func() { _ = inf.Run(ctx) })
	return r, nil
}

func resyncClientGo(f *feed, each func()) (*running, error) {
	inf := cache.NewSharedIndexInformer(newListWatch(f), &corev1.Pod{}, resyncEvery, indexers(1))
	if _, err := inf.AddEventHandler(cache.ResourceEventHandlerFuncs{UpdateFunc: func(_, _ any) { each() }}); err != nil {
		return nil, err
	}
	r := &running{}
	var ctx context.Context
	ctx, r.cancel = context.WithCancel(context.Background())
	r.wg.Go(func() { inf.RunWithContext(ctx) })
	return r, nil
}
