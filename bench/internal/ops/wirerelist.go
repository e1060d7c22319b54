package ops

import (
	"bytes"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinform/kinform/bench/internal/measure"
	"github.com/kinform/kinform/bench/internal/pods"
)

// wireRelists are relists of unchanged objects from the bytes of an API server.
func wireRelists(w *World) []measure.Op {
	n := some(min(w.Pods, wirePods), "unchanged pod", "unchanged pods")
	var all []measure.Op
	for _, c := range []struct {
		name, accept string
		reach        float64
	}{{"json", "application/json", 10}, {"protobuf", protobufType, 5}} {
		all = append(all, measure.Op{
			Name: "wire-relist/" + c.name, Whole: true, Rounds: 6,
			Lines: []measure.Line{
				{Title: "relist of " + n + " over HTTP, " + c.name, Unit: measure.Nanoseconds, Reach: c.reach},
				{Title: "peak of the heap in the relist, " + c.name, Unit: "B/peak", Reach: 2},
				{Title: "allocations in the relist, " + c.name, Unit: measure.Allocs, Reach: 12},
			},
			Setup: func() (measure.Sides, error) {
				return bothOverHTTP(func(start handlerStarter) (measure.Side, error) { return w.wireRelist(start, c.accept) })
			},
		})
	}
	return all
}

// wireRelist measures from the answer to the second list to the first event after it, as the
// handler sees it. What a client waits before it lists again does not count.
func (w *World) wireRelist(start handlerStarter, accept string) (measure.Side, error) {
	n := min(w.Pods, wirePods)
	server, err := newWireServer(pods.List(n), false)
	if err != nil {
		return measure.Side{}, err
	}
	server.events = make(chan []byte)
	server.relist = &relistGate{expire: make(chan struct{}), listing: make(chan struct{}), proceed: make(chan struct{})}
	const version = "999999999"
	pod := pods.List(n).Items[n-1]
	pod.ResourceVersion = version
	var marker bytes.Buffer
	if err := eventEncoder(&marker, accept)(watch.Modified, &pod); err != nil {
		server.Close()
		return measure.Side{}, err
	}
	once := func(m measure.Meter) (peak float64, err error) {
		done := make(chan struct{})
		stop, err := start(server, accept, func(_, pod *corev1.Pod) {
			if pod.ResourceVersion == version {
				close(done)
			}
		})
		if err != nil {
			return 0, err
		}
		defer stop()
		server.relist.expire <- struct{}{}
		<-server.relist.listing
		base := live()
		end := watchHeap()
		m.StartTimer()
		server.relist.proceed <- struct{}{}
		server.events <- marker.Bytes() // the next watch takes it, so the list was read
		<-done
		m.StopTimer()
		return max(end()-base, 1), nil
	}
	return measure.Side{Close: server.Close, Run: func(m measure.Meter, n int) error {
		m.StopTimer()
		var peaks measure.Series
		for range n {
			peak, err := once(m)
			if err != nil {
				return err
			}
			peaks.Add(peak, "B/peak")
		}
		peaks.Report(m)
		return nil
	}}, nil
}
