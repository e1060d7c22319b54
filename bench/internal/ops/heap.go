package ops

import (
	"fmt"
	"runtime"

	"github.com/kinform/kinform/bench/internal/measure"
)

// heaps are the operations that measure the memory of stores.
func heaps(w *World) []measure.Op {
	var all []measure.Op
	for _, n := range []int{0, 1, 3} {
		all = append(all, measure.Op{
			Name: fmt.Sprintf("heap/indexes=%d", n), Exact: true,
			Lines: line("store, bytes per object beyond the object, "+some(n, "index", "indexes"), "B/object", 1/0.75),
			Setup: func() (measure.Sides, error) { return w.heap(n) },
		})
	}
	return append(all, measure.Op{
		Name: "kept", Exact: true,
		Lines: line("memory kept after all objects came and went", "B/store", 0, atMost(2, "times-empty")),
		Setup: w.kept,
	})
}

// live returns the bytes of everything reachable, including the contents of sync.Pools.
func live() float64 {
	runtime.GC()
	heap, _ := inUse()
	return heap
}

// inUse returns the bytes of objects and of stacks. It has a frame of 6 KB. Keep it out of the
// stack during a collection, when the runtime takes the average stack as the size for new ones.
//
//go:noinline
func inUse() (heap, stacks float64) {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc), float64(m.StackInuse)
}

// settled is live without the sync.Pools. It is for amounts so small that the pools matter;
// they are emptied one collection later.
func settled() float64 {
	runtime.GC()
	return live()
}

func (w *World) heap(indexes int) (measure.Sides, error) {
	all := w.Fleet.Pods()
	return measure.Sides{
		Kinform:  measure.Side{Run: w.bytesOf(func() (any, error) { return newStore(indexes, all) })},
		ClientGo: measure.Side{Run: w.bytesOf(func() (any, error) { return newIndexer(indexes, all) })},
	}, nil
}

// bytesOf measures the memory of a full store without the objects, which exist before.
func (w *World) bytesOf(fill func() (any, error)) func(measure.Meter, int) error {
	return func(m measure.Meter, n int) error {
		var bytes measure.Series
		for range n {
			before := live()
			full, err := fill()
			if err != nil {
				return err
			}
			bytes.Add((live()-before)/float64(w.Pods), "B/object")
			runtime.KeepAlive(full)
		}
		bytes.Report(m)
		return nil
	}
}

// emptier makes a store that had all objects and is empty now.
type emptier func() (any, error)

func (w *World) kept() (measure.Sides, error) {
	all := w.Fleet.Pods()
	return measure.Sides{
		Kinform: measure.Side{Run: bytesKept(
			func() (any, error) { return newStore(3, nil) },
			func() (any, error) {
				s, err := newStore(3, nil)
				for _, p := range all {
					if err == nil {
						err = s.Set(p)
					}
				}
				for _, p := range all {
					if err == nil {
						_, _, err = s.Delete(key{Namespace: p.Namespace, Name: p.Name})
					}
				}
				return s, err
			})},
		ClientGo: measure.Side{Run: bytesKept(
			func() (any, error) { return newIndexer(3, nil) },
			func() (any, error) {
				ix, err := newIndexer(3, nil)
				for _, do := range []func(any) error{ix.Add, ix.Delete} {
					for _, p := range all {
						if err == nil {
							err = do(p)
						}
					}
				}
				return ix, err
			})},
	}, nil
}

// bytesKept compares stores that were always empty with stores that are empty again.
func bytesKept(empty, emptied emptier) func(measure.Meter, int) error {
	return func(m measure.Meter, n int) error {
		var bytes measure.Series
		for range n {
			fresh, err := bytesEach(64, empty)
			if err != nil {
				return err
			}
			used, err := bytesEach(2, emptied)
			if err != nil {
				return err
			}
			bytes.Add(used, "B/store")
			bytes.Add(used/fresh, "times-empty")
		}
		bytes.Report(m)
		return nil
	}
}

// bytesEach makes n stores and returns the bytes of one.
func bytesEach(n int, create emptier) (float64, error) {
	kept := make([]any, n)
	before := settled()
	for i := range kept {
		s, err := create()
		if err != nil {
			return 0, err
		}
		kept[i] = s
	}
	bytes := (settled() - before) / float64(n)
	runtime.KeepAlive(kept)
	return max(bytes, 1), nil
}
