package queue

import (
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

type key = types.NamespacedName

// contender is one implementation of the measured work. round does the work of n operations.
type contender struct {
	name  string
	round func(n int)
}

// clock is the time source of a race.
type clock func() time.Duration

// wall is elapsed time, for work whose latency matters.
func wall() clock {
	start := time.Now()
	return func() time.Duration { return time.Since(start) }
}

// cpu is the processor time of the whole process, for work that waits or runs in several
// goroutines.
func cpu() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// race lets the contenders do rounds of n operations in turns and reports the median time of an
// operation for each, its allocations, and the ratio to the first one, which is ours.
func race(b *testing.B, n int, now clock, contenders ...contender) {
	b.Helper()
	times := make([][]float64, len(contenders))
	allocs := make([]uint64, len(contenders))
	rounds := 0
	for _, c := range contenders {
		c.round(n) // warm up
	}
	var before, after runtime.MemStats
	for b.Loop() {
		rounds++
		for i := range contenders {
			c := (i + rounds) % len(contenders) // so that no contender always follows the same one
			runtime.GC()
			runtime.ReadMemStats(&before)
			start := now()
			contenders[c].round(n)
			times[c] = append(times[c], float64(now()-start)/float64(n))
			runtime.ReadMemStats(&after)
			allocs[c] += after.Mallocs - before.Mallocs
		}
	}
	b.ReportMetric(0, "ns/op") // a round of everybody: says nothing
	for i, c := range contenders {
		b.ReportMetric(median(times[i]), c.name+"-ns")
		b.ReportMetric(float64(allocs[i])/float64(rounds*n), c.name+"-allocs")
		if i > 0 {
			b.ReportMetric(median(times[i])/median(times[0]), c.name+"-ratio")
		}
	}
}

func median(x []float64) float64 {
	x = slices.Clone(x)
	slices.Sort(x)
	return x[len(x)/2]
}

// makeKeys gives n different keys as a busy cluster has them.
func makeKeys(n int) []key {
	keys := make([]key, n)
	for i := range keys {
		keys[i] = key{Namespace: "namespace-" + strconv.Itoa(i%100), Name: fmt.Sprintf("deployment-7d9c6b8f5-%05d", i)}
	}
	return keys
}
