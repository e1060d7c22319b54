package ops

import (
	"runtime"
	"time"

	"k8s.io/client-go/tools/cache"

	"github.com/kinform/kinform/bench/internal/measure"
	"github.com/kinform/kinform/store"
)

// fillings are operations on a store that grows from nothing and is emptied again, one
// object per write. It has ten times as many objects as the world has pods.
func fillings(w *World) []measure.Op {
	times := func(what string) string {
		return "longest " + what + " while a store fills to ten times as many and empties"
	}
	return []measure.Op{{
		Name: "fill-and-empty", Whole: true, Rounds: 3,
		Lines: []measure.Line{
			{Title: times("set") + ", processor time", Unit: "set-ns"},
			{Title: times("delete") + ", processor time", Unit: "delete-ns"},
			{Title: times("get"), Unit: "get-ns"},
		},
		Setup: func() (measure.Sides, error) { return fillAndEmpty(10 * w.Pods) },
	}}
}

// filling is what fill needs of a store.
type filling struct {
	set, remove, get func(i int) error
}

func fillAndEmpty(n int) (measure.Sides, error) {
	c, err := newCrowd(n)
	if err != nil {
		return measure.Sides{}, err
	}
	if err := c.kinform.Replace(nil, ""); err != nil {
		return measure.Sides{}, err
	}
	if err := c.peer.Replace(nil, ""); err != nil {
		return measure.Sides{}, err
	}
	return measure.Sides{
		Kinform:  measure.Side{Run: c.fill(c.kinformFilling(c.kinform))},
		ClientGo: measure.Side{Run: c.fill(c.peerFilling(c.peer))},
	}, nil
}

func (c *crowd) kinformFilling(s *store.Store[key, *item]) filling {
	return filling{
		set: func(i int) error { return s.Set(c.items[i]) },
		remove: func(i int) error {
			_, _, err := s.Delete(key{Namespace: c.items[i].Namespace, Name: c.items[i].Name})
			return err
		},
		get: func(i int) error { s.Get(c.keys[i%len(c.keys)]); return nil },
	}
}

func (c *crowd) peerFilling(ix cache.Indexer) filling {
	return filling{
		set:    func(i int) error { return ix.Add(c.items[i]) },
		remove: func(i int) error { return ix.Delete(c.items[i]) },
		get: func(i int) error {
			k := &c.keys[i%len(c.keys)]
			_, _, err := ix.GetByKey(k.Namespace + "/" + k.Name)
			return err
		},
	}
}

// fill measures the longest write by the processor time that its thread took, which other
// work on the machine does not lengthen, and the longest read beside them by the clock.
func (c *crowd) fill(f filling) func(measure.Meter, int) error {
	return func(m measure.Meter, times int) error {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		for range times {
			var get time.Duration
			stop := beside(func(i int) error {
				start := time.Now()
				err := f.get(i)
				get = max(get, time.Since(start))
				return err
			})
			set, err := longest(len(c.items), f.set)
			var remove time.Duration
			if err == nil {
				remove, err = longest(len(c.items), f.remove)
			}
			if _, getErr := stop(); err == nil {
				err = getErr
			}
			if err != nil {
				return err
			}
			m.ReportMetric(float64(set), "set-ns")
			m.ReportMetric(float64(remove), "delete-ns")
			m.ReportMetric(float64(get), "get-ns")
		}
		return nil
	}
}

// longest returns the processor time of the longest of n calls of write.
func longest(n int, write func(i int) error) (worst time.Duration, err error) {
	for i := 0; i < n && err == nil; i++ {
		start := threadTime()
		err = write(i)
		worst = max(worst, threadTime()-start)
	}
	return worst, err
}
