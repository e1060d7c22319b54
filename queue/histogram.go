package queue

import (
	"math/bits"
	"time"
)

// histogramBuckets is the number of bounds of a Histogram: 1 µs doubled 32 times is more than an hour.
const histogramBuckets = 33

// Histogram counts durations in buckets that double. The zero value is empty.
type Histogram struct {
	// Counts has one count per bucket, not cumulated: Counts[i] is the number of durations up to Bound(i) and above
	// Bound(i-1). The last one counts the durations above all bounds.
	Counts [histogramBuckets + 1]uint64
	// Sum is the sum of all durations.
	Sum time.Duration
}

// Bound is the upper bound of bucket i, inclusive: a microsecond times 2 to the i.
func (h *Histogram) Bound(i int) time.Duration { return time.Microsecond << i }

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
	i := 0
	if d > 1000 {
		i = bits.Len64(uint64(d-1) / 1000)
	}
	h.Counts[min(i, histogramBuckets)]++
}
