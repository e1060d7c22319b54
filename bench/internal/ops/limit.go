package ops

import (
	"runtime/debug"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/kinform/kinform/bench/internal/measure"
	"github.com/kinform/kinform/with/controllerruntime"
)

// perPod is the memory limit of a process, as GOMEMLIMIT sets it, for each pod in its cache.
const perPod = 2600

// limits are starts of processes that have a memory limit. The limit ends no process, so the peak shows what it takes.
func limits(w *World) []measure.Op {
	objects := min(w.Pods, 50_000)
	n := some(objects, "pod", "pods")
	return []measure.Op{{
		Name: "packed/limit", Whole: true, Rounds: 3,
		Lines: []measure.Line{
			{Title: "packed NewCache beside controller-runtime: peak of resident memory at a start with " + n + ", limit 2.6 KB per pod", Unit: peakRSS, Goal: 3},
			{Title: "packed NewCache beside controller-runtime: processor time of that start", Unit: measure.Nanoseconds, Goal: 1},
		},
		Setup: func() (measure.Sides, error) {
			s, err := startServer(Contents{Kind: "pods", Objects: objects, Streams: true})
			if err != nil {
				return measure.Sides{}, err
			}
			sides := measure.Sides{Kinform: limited(s, true), ClientGo: limited(s, false)}
			sides.Kinform.Close = s.Close
			return sides, nil
		},
	}}
}

// limited measures the starts of processes.
func limited(s *server, packed bool) measure.Side {
	return measure.Side{Run: func(m measure.Meter, n int) error {
		var taken measure.Series
		for range n {
			p, err := startOther()
			if err != nil {
				return err
			}
			var used Used
			err = p.calls.Call("Cache.Fill", Filling{Packed: packed, URL: s.URL, Pods: s.objects}, &used)
			p.Close()
			if err != nil {
				return err
			}
			taken.Add(float64(used.CPU), measure.Nanoseconds)
			taken.Add(float64(used.Peak), peakRSS)
		}
		taken.Report(m)
		return nil
	}}
}

// Filling is a cache of pods that a process fills.
type Filling struct {
	Packed bool // else it is controller-runtime's own
	URL    string
	Pods   int
}

// fillingCache fills a cache in its process. Its method is a call by the rules of net/rpc.
type fillingCache struct{}

// Fill fills a cache.
func (fillingCache) Fill(what Filling, used *Used) error {
	debug.SetMemoryLimit(int64(what.Pods) * perPod)
	open, transform := cache.New, cache.TransformStripManagedFields()
	if what.Packed {
		open, transform = controllerruntime.CacheOptions{DropManagedFields: true, Packed: true}.New, nil
	}
	began := time.Now()
	_, stop, err := openCache(&server{URL: what.URL}, what.Pods, open, transform)
	if err != nil {
		return err
	}
	defer stop()
	used.Wall, used.CPU = time.Since(began), processTime()
	used.Peak, err = peakMemory()
	return err
}
