package ops

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kinform/kinform/bench/internal/measure"
)

// contended are the operations in which readers and a writer meet.
func contended(w *World) []measure.Op {
	return []measure.Op{
		{
			Name: "get-stall", Whole: true, Rounds: 12,
			Lines: line("longest stall of a get during a list of all", "stall-ns", 20),
			Setup: w.getStall,
		},
		{
			Name:  "get-while-writing",
			Lines: line("get, with a writer flat out", measure.Nanoseconds, 2),
			Setup: w.getWhileWriting,
		},
		{
			Name: "write-while-iterating",
			Lines: []measure.Line{
				{Title: "write while others iterate all, p99", Unit: "p99-ns", Goal: 20},
				{Title: "write while others iterate all, p99.9", Unit: "p99.9-ns", Goal: 20},
			},
			Setup: w.writeWhileIterating,
		},
	}
}

// beside calls f with 0, 1, 2 … in another goroutine until stop is called. stop waits for the
// last call and returns the number of calls and f's error. beside returns after the first
// call.
func beside(f func(i int) error) (stop func() (int, error)) {
	var stopped atomic.Bool
	var wg sync.WaitGroup
	var calls int
	var failed error
	begun := make(chan struct{})
	wg.Go(func() {
		for failed == nil && !stopped.Load() {
			failed = f(calls)
			if calls++; calls == 1 {
				close(begun)
			}
		}
	})
	<-begun
	return func() (int, error) {
		stopped.Store(true)
		wg.Wait()
		return calls, failed
	}
}

func (w *World) getStall() (measure.Sides, error) {
	s, ix, err := both(w, 3)
	if err != nil {
		return measure.Sides{}, err
	}
	keys, lister := w.Fleet.Keys(), podLister(ix)
	typed := states{w.Fleet.Updated(), w.Fleet.Pods()}
	boxed := [2][]any{untyped(typed[0]), untyped(typed[1])}
	return measure.Sides{
		Kinform: measure.Side{Run: stall(
			func(i int) error { _, ok := s.Get(keys[i%len(keys)]); return found(btoi(ok), 1) },
			func(i int) error { return writeList(s, typed[i%2]) })},
		ClientGo: measure.Side{Run: stall(
			func(i int) error {
				k := &keys[i%len(keys)]
				_, err := lister.Pods(k.Namespace).Get(k.Name)
				return err
			},
			func(i int) error { return ix.Replace(boxed[i%2], "1") })},
	}, nil
}

func btoi(ok bool) int {
	if ok {
		return 1
	}
	return 0
}

// stall measures the longest get while list runs.
func stall(get, list func(i int) error) func(measure.Meter, int) error {
	lists := 0
	return func(m measure.Meter, n int) error {
		var longest measure.Series
		for range n {
			var worst time.Duration
			stop := beside(func(i int) error {
				start := time.Now()
				err := get(i)
				worst = max(worst, time.Since(start))
				return err
			})
			err := list(lists)
			lists++
			if _, getErr := stop(); err == nil {
				err = getErr
			}
			if err != nil {
				return err
			}
			longest.Add(float64(worst), "stall-ns")
		}
		longest.Report(m)
		return nil
	}
}

func (w *World) getWhileWriting() (measure.Sides, error) {
	s, ix, err := both(w, 3)
	if err != nil {
		return measure.Sides{}, err
	}
	keys, lister := w.Fleet.Keys(), podLister(ix)
	next := states{w.Fleet.Updated(), w.Fleet.Pods()}
	return measure.Sides{
		Kinform: measure.Side{Run: readBeside(
			func(i int) error { _, ok := s.Get(keys[i%len(keys)]); return found(btoi(ok), 1) },
			func(i int) error { return s.Set(next.at(i)) })},
		ClientGo: measure.Side{Run: readBeside(
			func(i int) error {
				k := &keys[i%len(keys)]
				_, err := lister.Pods(k.Namespace).Get(k.Name)
				return err
			},
			func(i int) error { return ix.Update(next.at(i)) })},
	}, nil
}

// readBeside measures reads while another goroutine writes as fast as it can. It also reports
// the time of a write, as write-ns.
func readBeside(read, write func(i int) error) func(measure.Meter, int) error {
	at := 0
	return func(m measure.Meter, n int) error {
		m.StopTimer()
		stop := beside(write)
		m.StartTimer()
		start := time.Now()
		var err error
		for range n {
			if err = read(at); err != nil {
				break
			}
			at++
		}
		took := time.Since(start)
		m.StopTimer()
		writes, writeErr := stop()
		if err != nil {
			return err
		}
		m.ReportMetric(float64(took)/float64(writes), "write-ns")
		return writeErr
	}
}

func (w *World) writeWhileIterating() (measure.Sides, error) {
	s, ix, err := both(w, 3)
	if err != nil {
		return measure.Sides{}, err
	}
	next := states{w.Fleet.Updated(), w.Fleet.Pods()}
	return measure.Sides{
		Kinform: measure.Side{Run: w.writeTail(
			func(i int) error { return s.Set(next.at(i)) },
			func(int) error {
				n := 0
				for chunk := range s.Chunks() {
					for _, p := range chunk {
						n += btoi(p.Spec.NodeName != "")
					}
				}
				return found(n, w.Pods)
			})},
		ClientGo: measure.Side{Run: w.writeTail(
			func(i int) error { return ix.Update(next.at(i)) },
			func(int) error {
				n := 0
				for _, obj := range ix.List() {
					n += btoi(obj.(*corev1.Pod).Spec.NodeName != "")
				}
				return found(n, w.Pods)
			})},
	}, nil
}

// writeInterval is the time between two writes of writeTail.
const writeInterval = 50 * time.Microsecond

// writeTail measures single writes while all processors but one iterate. A write is due every
// writeInterval, and its time counts from then: if a writer has to wait for a millisecond,
// twenty writes are late, not one.
func (w *World) writeTail(write, iterate func(i int) error) func(measure.Meter, int) error {
	written := 0
	return func(m measure.Meter, n int) error {
		var tail measure.Series
		for range n {
			var stops []func() (int, error)
			for range max(runtime.GOMAXPROCS(0)-1, 1) {
				stops = append(stops, beside(iterate))
			}
			took, err := paced(max(int(w.Span/writeInterval), 1), func() error { written++; return write(written) })
			for _, stop := range stops {
				if _, iterErr := stop(); err == nil {
					err = iterErr
				}
			}
			if err != nil {
				return err
			}
			tail.Add(measure.Percentile(took, 0.99), "p99-ns")
			tail.Add(measure.Percentile(took, 0.999), "p99.9-ns")
		}
		tail.Report(m)
		return nil
	}
}

// paced calls f n times, each time when it is due, and returns the nanoseconds from then until
// the call has returned. It waits without sleeping, since sleeps are longer than the measured
// times.
func paced(n int, f func() error) ([]float64, error) {
	took := make([]float64, n)
	begin := time.Now()
	for i := range took {
		due := time.Duration(i) * writeInterval
		for time.Since(begin) < due {
		}
		if err := f(); err != nil {
			return nil, err
		}
		took[i] = float64(time.Since(begin) - due)
	}
	return took, nil
}
