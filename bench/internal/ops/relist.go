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
			Setup: w.relistSame,
		},
		{
			Name: "resync", Whole: true, Rounds: 6,
			Lines: line("resync of all objects, 1 handler", measure.Nanoseconds, 8),
			Setup: w.resync,
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

// resyncEvery is the shortest period that client-go takes.
const resyncEvery = time.Second

// resync measures from the first event of a resync to the last, as the handler sees them:
// what client-go does before the first is to its favour.
func (w *World) resync() (measure.Sides, error) {
	resync := func(start func(*feed, func()) (*running, error)) (measure.Side, error) {
		rounds := make(chan time.Duration)
		seen, begin := 0, time.Time{}
		r, err := start(newFeed(w.Fleet.Pods()), func() {
			if seen == 0 {
				begin = time.Now()
			}
			if seen++; seen == w.Pods {
				seen = 0
				select {
				case rounds <- time.Since(begin):
				default: // nobody measures
				}
			}
		})
		if err != nil {
			return measure.Side{}, err
		}
		r.awaitSync()
		return measure.Side{Close: r.stop, Run: func(m measure.Meter, n int) error {
			var took measure.Series
			for range n {
				took.Add(float64(<-rounds), measure.Nanoseconds)
			}
			took.Report(m)
			return nil
		}}, nil
	}
	kinform, err := resync(resyncKinform)
	if err != nil {
		return measure.Sides{}, err
	}
	clientGo, err := resync(resyncClientGo)
	sides := measure.Sides{Kinform: kinform, ClientGo: clientGo}
	if err != nil {
		sides.Close()
	}
	return sides, err
}

// resyncKinform starts an informer whose handler calls each for every object of a resync.
func resyncKinform(f *feed, each func()) (*running, error) {
	inf, err := informer.New(f, store.ObjectKey, informer.Options[*corev1.Pod]{Indexes: definitions(1), Reflector: reflector.Options{DisableWatchList: true}})
	if err != nil {
		return nil, err
	}
	reg, err := inf.AddHandler(informer.HandlerFunc[key, *corev1.Pod](func(ev informer.Event[key, *corev1.Pod]) {
		if ev.Sync {
			each()
		}
	}), informer.HandlerOptions[*corev1.Pod]{Resync: resyncEvery})
	if err != nil {
		return nil, err
	}
	r := &running{synced: []<-chan struct{}{reg.Synced()}}
	var ctx context.Context
	ctx, r.cancel = context.WithCancel(context.Background())
	r.wg.Go(func() { _ = inf.Run(ctx) })
	return r, nil
}

func resyncClientGo(f *feed, each func()) (*running, error) {
	inf := cache.NewSharedIndexInformer(newListWatch(f), &corev1.Pod{}, resyncEvery, indexers(1))
	reg, err := inf.AddEventHandler(cache.ResourceEventHandlerFuncs{UpdateFunc: func(_, _ any) { each() }})
	if err != nil {
		return nil, err
	}
	r := &running{synced: []<-chan struct{}{reg.HasSyncedChecker().Done()}}
	var ctx context.Context
	ctx, r.cancel = context.WithCancel(context.Background())
	r.wg.Go(func() { inf.RunWithContext(ctx) })
	return r, nil
}
