// Package memtest measures memory in tests, with the same result on an idle and on a busy machine.
// The runtime's counters cover the process. They include the runtime's own allocations (goroutines,
// timers, tables), which the scheduler triggers at any moment. Such memory is allocated once and
// reused, while a defect of the code shows each time. So every measurement is repeated, and the
// smallest result counts.
//
// A test that uses this package must not run in parallel with others. Under the race detector
// the numbers mean nothing, see [Race].
package memtest

import (
	"runtime"
	"testing"
)

// tries is the number of repetitions of a measurement.
const tries = 5

// Allocs returns the number of allocations per call of f. Each try calls f once more than runs
// and takes the average, rounded down.
func Allocs(runs int, f func()) float64 {
	least := testing.AllocsPerRun(runs, f)
	for n := 1; n < tries && least > 0; n++ {
		least = min(least, testing.AllocsPerRun(runs, f))
	}
	return least
}

// Bytes returns the number of bytes that f allocates, whether they stay reachable or not. It
// stops early at a result of enough or less.
func Bytes(enough int64, f func()) int64 {
	return Least(enough, func() int64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		f()
		runtime.ReadMemStats(&after)
		return int64(after.TotalAlloc - before.TotalAlloc)
	})
}

// Least returns the smallest result of several calls of measure. It stops early at a result of
// enough or less.
func Least(enough int64, measure func() int64) int64 {
	least := measure()
	for n := 1; n < tries && least > enough; n++ {
		least = min(least, measure())
	}
	return least
}

// Heap returns the size of all reachable objects. It first collects garbage twice, because
// pools and finalizers keep objects for one more collection.
func Heap() int64 {
	var stats runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}
