// Package memtest measures memory in tests, so that the answer is the same on a machine with nothing else to do and on one
// that is busy. The runtime's counters are those of the process. They include what the runtime allocates for itself at
// moments that the scheduler chooses: goroutines, timers, tables. That memory is allocated once and used again, while a
// defect of the code shows each time. So everything is measured several times, and the least counts.
//
// A test that uses this package must not run in parallel with others. Under the race detector the numbers mean nothing.
package memtest

import (
	"runtime"
	"testing"
)

// tries is how often a measurement is made.
const tries = 5

// Allocs returns how often f allocates. Each try calls f once more than runs and takes the average, rounded down.
func Allocs(runs int, f func()) float64 {
	least := testing.AllocsPerRun(runs, f)
	for n := 1; n < tries && least > 0; n++ {
		least = min(least, testing.AllocsPerRun(runs, f))
	}
	return least
}

// Bytes returns how many bytes f allocates, whether or not they can be reached afterwards. It stops early at a result of
// enough or less.
func Bytes(enough int64, f func()) int64 {
	return Least(enough, func() int64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		f()
		runtime.ReadMemStats(&after)
		return int64(after.TotalAlloc - before.TotalAlloc)
	})
}

// Least returns the least of what some calls of measure return. It stops early at a result of enough or less.
func Least(enough int64, measure func() int64) int64 {
	least := measure()
	for n := 1; n < tries && least > enough; n++ {
		least = min(least, measure())
	}
	return least
}

// Heap returns the size of all objects that are reachable. It collects garbage first, twice: pools and finalizers hold
// on to objects for one collection more.
func Heap() int64 {
	var stats runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}
