package ops

import (
	"math"
	"runtime"
	"slices"
	"time"

	"k8s.io/client-go/tools/cache"

	"github.com/kinform/kinform/bench/internal/measure"
	"github.com/kinform/kinform/store"
)

// longestWrite is the limit for a write of one object in nanoseconds, whatever else the store
// holds. Readers wait no longer than that.
const longestWrite = 200_000

// passes is the number of times that a store is filled and emptied, to find the writes that
// are always long.
const passes = 3

// betweenGets is the pause between reads during the writes, so that not every write waits for
// a reader.
const betweenGets = 20 * time.Microsecond

// fillings are operations on a store that grows from nothing and is emptied again, one
// object per write. It has ten times as many objects as the world has pods.
func fillings(w *World) []measure.Op {
	times := func(what string) string {
		return "longest " + what + " while a store fills to ten times as many and empties"
	}
	return []measure.Op{{
		Name: "fill-and-empty", Whole: true, Rounds: 2,
		Lines: []measure.Line{
			{Title: times("set") + ", processor time", Unit: "set-ns", Limits: []measure.Limit{atMost(longestWrite, "set-ns")}},
			{Title: times("delete") + ", processor time", Unit: "delete-ns", Limits: []measure.Limit{atMost(longestWrite, "delete-ns")}},
			{Title: times("get"), Unit: "get-ns", Goal: 1},
		},
		Setup: func() (measure.Sides, error) { return fillAndEmpty(10 * w.Pods) },
	}}
}

// filling is the interface of a store that fill needs.
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

// fill measures the longest write by the processor time of its thread, which other load on the
// machine does not lengthen, and the longest concurrent read by the clock. The collector
// charges other writes in each pass, but the store's own work hits the same write each time.
// So the shortest time of each write counts.
func (c *crowd) fill(f filling) func(measure.Meter, int) error {
	return func(m measure.Meter, times int) error {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		sets, removes := make(pass, len(c.items)), make(pass, len(c.items))
		get := time.Duration(math.MaxInt64)
		for range times * passes {
			longest, err := c.longestGet(f.get, func() error {
				if err := sets.time(f.set); err != nil {
					return err
				}
				return removes.time(f.remove)
			})
			if err != nil {
				return err
			}
			get = min(get, longest)
		}
		m.ReportMetric(float64(slices.Max(sets)), "set-ns")
		m.ReportMetric(float64(slices.Max(removes)), "delete-ns")
		m.ReportMetric(float64(get), "get-ns")
		return nil
	}
}

// longestGet returns the longest call of get during write.
func (c *crowd) longestGet(get func(i int) error, write func() error) (longest time.Duration, err error) {
	stop := beside(func(i int) error {
		start := time.Now()
		err := get(i)
		longest = max(longest, time.Since(start))
		time.Sleep(betweenGets)
		return err
	})
	err = write()
	if _, getErr := stop(); err == nil {
		err = getErr
	}
	return longest, err
}

// pass has the shortest processor time of each write, zero before the first.
type pass []time.Duration

func (p pass) time(write func(i int) error) error {
	for i, before := range p {
		start := threadTime()
		if err := write(i); err != nil {
			return err
		}
		if took := threadTime() - start; before == 0 || took < before {
			p[i] = took
		}
	}
	return nil
}
