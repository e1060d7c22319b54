package queue

import (
	"slices"
	"time"
)

// bounds are the bounds of a Histogram: all bounds that controller-runtime has for the durations of
// queues (10 ns × 10ⁿ) and of reconciles (5 ms to a minute).
var bounds = [...]time.Duration{
	10 * time.Nanosecond, 100 * time.Nanosecond,
	1 * time.Microsecond, 10 * time.Microsecond, 100 * time.Microsecond,
	1 * time.Millisecond, 5 * time.Millisecond, 10 * time.Millisecond, 25 * time.Millisecond, 50 * time.Millisecond,
	100 * time.Millisecond, 150 * time.Millisecond, 200 * time.Millisecond, 250 * time.Millisecond, 300 * time.Millisecond,
	350 * time.Millisecond, 400 * time.Millisecond, 450 * time.Millisecond, 500 * time.Millisecond, 600 * time.Millisecond,
	700 * time.Millisecond, 800 * time.Millisecond, 900 * time.Millisecond,
	1000 * time.Millisecond, 1250 * time.Millisecond, 1500 * time.Millisecond, 1750 * time.Millisecond,
	2000 * time.Millisecond, 2500 * time.Millisecond, 3000 * time.Millisecond, 3500 * time.Millisecond,
	4000 * time.Millisecond, 4500 * time.Millisecond,
	5 * time.Second, 6 * time.Second, 7 * time.Second, 8 * time.Second, 9 * time.Second,
	10 * time.Second, 15 * time.Second, 20 * time.Second, 25 * time.Second, 30 * time.Second, 40 * time.Second, 50 * time.Second,
	60 * time.Second, 100 * time.Second, 1000 * time.Second,
}

// Histogram counts durations in buckets. Their bounds include all that controller-runtime has for
// workqueue_* and controller_runtime_reconcile_time_seconds. The zero value is empty.
type Histogram struct {
	// Counts has one count per bucket, not cumulated: Counts[i] is the number of durations up to
	// Bound(i) and above Bound(i-1). The last one counts the durations above all bounds.
	Counts [len(bounds) + 1]uint64
	// Sum is the sum of all durations.
	Sum time.Duration
}

// Bound is the upper bound of bucket i, inclusive. Bounds grow. The last bucket has none: i must be
// less than len(h.Counts)-1.
func (h *Histogram) Bound(i int) time.Duration { return bounds[i] }

// Count is the number of durations.
func (h *Histogram) Count() uint64 {
	n := uint64(0)
	for _, c := range h.Counts {
		n += c
	}
	return n
}

// observe counts a duration in nanoseconds.
func (h *Histogram) observe(d int64) {
	d = max(0, d)
	h.Sum += time.Duration(d)
	i, _ := slices.BinarySearch(bounds[:], time.Duration(d))
	h.Counts[i]++
}
