package ops

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kinform/kinform/bench/internal/measure"
)

// wireRelists are relists of unchanged objects from the bytes of an API server.
func wireRelists(w *World) []measure.Op {
	n := some(min(w.Pods, wirePods), "unchanged pod", "unchanged pods")
	var all []measure.Op
	for _, c := range []struct {
		name, accept string
		goal         float64
	}{{"json", "application/json", 10}, {"protobuf", protobufType, 5}} {
		all = append(all, measure.Op{
			Name: "wire-relist/" + c.name, Whole: true, Rounds: 6,
			Lines: []measure.Line{
				{Title: "relist of " + n + " over HTTP, " + c.name, Unit: measure.Nanoseconds, Goal: c.goal},
				{Title: "processor time of the relist, " + c.name, Unit: "cpu-ns", Goal: 12},
				{Title: "peak of the heap in the relist, " + c.name, Unit: "B/peak", Goal: 2},
				{Title: "allocations in the relist, " + c.name, Unit: measure.Allocs, Goal: 12},
			},
			Setup: func() (measure.Sides, error) {
				return bothOverHTTP(func(start handlerStarter) (measure.Side, error) { return w.wireRelist(start, c.accept) })
			},
		})
	}
	return all
}

// wireRelist measures from the answer to the second list to the first event after it, as the
// handler sees it. The client's wait before it lists again does not count.
func (w *World) wireRelist(start handlerStarter, accept string) (measure.Side, error) {
	server, err := startServer(Contents{Kind: "pods", Objects: min(w.Pods, wirePods)})
	if err != nil {
		return measure.Side{}, err
	}
	once := func(m measure.Meter) (used time.Duration, peak float64, err error) {
		version, err := server.encode(Events{MediaType: accept, N: 1, Burst: 1})
		if err != nil {
			return 0, 0, err
		}
		done := make(chan struct{})
		stop, err := start(server, accept, func(_, pod *corev1.Pod) {
			if pod.ResourceVersion == version {
				close(done)
			}
		})
		if err != nil {
			return 0, 0, err
		}
		defer stop()
		if err := server.expireWatch(); err != nil {
			return 0, 0, err
		}
		base := live()
		end := watchHeap()
		began := processTime()
		m.StartTimer()
		if err := server.answerList(); err != nil {
			return 0, 0, err
		}
		<-done
		m.StopTimer()
		return processTime() - began, max(end()-base, 1), nil
	}
	return measure.Side{Close: server.Close, Run: func(m measure.Meter, n int) error {
		m.StopTimer()
		var series measure.Series
		for range n {
			used, peak, err := once(m)
			if err != nil {
				return err
			}
			series.Add(float64(used), "cpu-ns")
			series.Add(peak, "B/peak")
		}
		series.Report(m)
		return nil
	}}, nil
}
