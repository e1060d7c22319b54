package ops

import (
	"runtime"

	corev1 "k8s.io/api/core/v1"

	"github.com/kinform/kinform/bench/internal/measure"
)

// opener makes the feed of an informer.
type opener func(all []*corev1.Pod) *feed

// syncs are the initial lists.
func syncs(w *World) []measure.Op {
	perObject := func(allocs float64) measure.Limit { return atMost(allocs*float64(w.Pods), measure.Allocs) }
	return []measure.Op{
		{
			Name: "sync/list", Whole: true, Rounds: 12,
			Lines: line("initial sync by LIST, no decoding, 1 handler, 1 index", measure.Nanoseconds, 2.5, perObject(0.5)),
			Setup: func() (measure.Sides, error) { return w.initialSync(newFeed) },
		},
		{
			Name: "sync/watchlist", Whole: true, Rounds: 12,
			Lines: line("initial sync by WatchList, no decoding, 1 handler, 1 index", measure.Nanoseconds, 3.5, perObject(0.5)),
			Setup: func() (measure.Sides, error) { return w.initialSync(newStream) },
		},
		{
			Name: "sync-heap/list", Exact: true,
			Lines: line("transient heap of a sync by LIST", "B/sync", 1),
			Setup: func() (measure.Sides, error) { return w.syncHeap(newFeed) },
		},
		{
			Name: "sync-heap/watchlist", Exact: true,
			Lines: line("transient heap of a sync by WatchList", "B/sync", 4),
			Setup: func() (measure.Sides, error) { return w.syncHeap(newStream) },
		},
	}
}

func (w *World) initialSync(open opener) (measure.Sides, error) {
	all := w.Fleet.Pods()
	sync := func(start starter) measure.Side {
		return measure.Side{Run: func(m measure.Meter, n int) error {
			for range n {
				r, err := start(open(all), 1, ignore)
				if err != nil {
					return err
				}
				r.awaitSync()
				m.StopTimer()
				r.stop()
				m.StartTimer()
			}
			return nil
		}}
	}
	return measure.Sides{Kinform: sync(startKinform), ClientGo: sync(startClientGo)}, nil
}

// syncHeap measures the transient memory of a sync: the amount by which the heap would grow
// for a moment if the garbage collector came late.
func (w *World) syncHeap(open opener) (measure.Sides, error) {
	all := w.Fleet.Pods()
	sync := func(start starter) measure.Side {
		return measure.Side{Run: func(m measure.Meter, n int) error {
			var transient measure.Series
			for range n {
				bytes, err := transientBytes(open(all), start)
				if err != nil {
					return err
				}
				transient.Add(bytes, "B/sync")
			}
			transient.Report(m)
			return nil
		}}
	}
	return measure.Sides{Kinform: sync(startKinform), ClientGo: sync(startClientGo)}, nil
}

func transientBytes(f *feed, start starter) (float64, error) {
	before := live()
	var began, ended runtime.MemStats
	runtime.ReadMemStats(&began)
	r, err := start(f, 1, ignore)
	if err != nil {
		return 0, err
	}
	defer r.stop()
	r.awaitSync()
	runtime.ReadMemStats(&ended)
	kept := live() - before
	return float64(ended.TotalAlloc-began.TotalAlloc) - kept, nil
}
