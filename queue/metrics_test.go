package queue

import (
	"math"
	"reflect"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

func TestHistogram(t *testing.T) {
	if !slices.IsSorted(bounds[:]) || len(slices.Compact(slices.Clone(bounds[:]))) != len(bounds) {
		t.Errorf("bounds do not grow: %v", bounds)
	}
	for i, bound := range bounds {
		for d, bucket := range map[time.Duration]int{bound: i, bound + 1: i + 1, bound - 1: i} {
			var h Histogram
			h.observe(int64(d))
			if h.Counts[bucket] != 1 || h.Count() != 1 || h.Sum != d || h.Bound(i) != bound {
				t.Errorf("observe(%v): %+v, want bucket %d", d, h, bucket)
			}
		}
	}
	for d, bucket := range map[int64]int{math.MinInt64: 0, -5: 0, 0: 0, 1: 0, math.MaxInt64: len(bounds)} {
		var h Histogram
		h.observe(d)
		if h.Counts[bucket] != 1 || h.Sum != time.Duration(max(0, d)) {
			t.Errorf("observe(%d): %+v, want bucket %d", d, h, bucket)
		}
	}
}

// TestDurations follows one key through all durations that Metrics and Snapshot show.
func TestDurations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(Options[string]{Name: "pods", Timing: true})
		q.Add("k")
		time.Sleep(time.Second)
		if s := q.Snapshot(); len(s.Queued) != 1 || s.Queued[0] != (KeyStatus[string]{Key: "k", Waited: time.Second}) {
			t.Errorf("Queued = %+v", s.Queued)
		}
		it := mustGet(t, q)
		time.Sleep(2 * time.Second)
		q.Add("k")
		q.AddRateLimited("l")
		time.Sleep(time.Millisecond)
		want := Snapshot[string]{
			Queued:  []KeyStatus[string]{},
			Delayed: []KeyStatus[string]{{Key: "l", In: 4 * time.Millisecond, Failures: 1}},
			Running: []KeyStatus[string]{{Key: "k", For: 2*time.Second + time.Millisecond, Again: true}},
		}
		if s := q.Snapshot(); !reflect.DeepEqual(s, want) {
			t.Errorf("Snapshot = %+v, want %+v", s, want)
		}
		m := q.Metrics()
		if m.Name != "pods" || q.Name() != "pods" || m.Unfinished != 2*time.Second+time.Millisecond || m.LongestRunning != m.Unfinished || m.Latency.Sum != time.Second {
			t.Errorf("Metrics = %+v", m)
		}
		time.Sleep(time.Second - time.Millisecond)
		it.Done()
		time.Sleep(time.Second)
		mustGet(t, q) // l: fired 5 ms after the third second began, now it is the fifth
		mustGet(t, q) // k: dirty for a second, then queued for another
		q.Add("m")
		time.Sleep(time.Second)
		mustGet(t, q)
		time.Sleep(time.Second)
		m = q.Metrics()
		if m.Work.Sum != 3*time.Second || m.Work.Count() != 1 {
			t.Errorf("Work = %v in %d, want 3s", m.Work.Sum, m.Work.Count())
		}
		if want := (1000 + 1995 + 2000 + 1000) * time.Millisecond; m.Latency.Sum != want || m.Latency.Count() != 4 {
			t.Errorf("Latency = %v in %d, want %v in 4", m.Latency.Sum, m.Latency.Count(), want)
		}
		if m.Unfinished != 5*time.Second || m.LongestRunning != 2*time.Second {
			t.Errorf("Unfinished = %v, longest %v", m.Unfinished, m.LongestRunning)
		}
	})
}

// Without Timing there are no durations, but all the rest.
func TestSnapshotWithoutTiming(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(Options[string]{Debounce: time.Second})
		q.AddWith("low", AddOptions{Priority: -1})
		time.Sleep(time.Second)
		synctest.Wait()
		mustGet(t, q)
		q.AddRateLimited("b")
		q.AddWith("a", AddOptions{Priority: 2})
		q.AddAfter("c", time.Minute)
		q.AddAfter("a", time.Hour)
		time.Sleep(time.Millisecond)
		want := Snapshot[string]{
			Queued: []KeyStatus[string]{},
			Delayed: []KeyStatus[string]{
				{Key: "b", In: 4 * time.Millisecond, Failures: 1},
				{Key: "a", Priority: 2, In: 999 * time.Millisecond, Debounced: true},
				{Key: "c", In: time.Minute - time.Millisecond},
				{Key: "a", In: time.Hour - time.Millisecond},
			},
			Running: []KeyStatus[string]{{Key: "low", Priority: -1}},
		}
		if s := q.Snapshot(); !reflect.DeepEqual(s, want) {
			t.Errorf("Snapshot = %+v, want %+v", s, want)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		want.Queued = []KeyStatus[string]{{Key: "a", Priority: 2}, {Key: "b", Failures: 1}}
		if s := q.Snapshot(); !reflect.DeepEqual(s.Queued, want.Queued) {
			t.Errorf("Queued = %+v, want %+v", s.Queued, want.Queued)
		}
		if m := q.Metrics(); m.Latency.Count() != 0 || m.Work.Count() != 0 || m.LongestRunning != 0 {
			t.Errorf("durations without Timing: %+v", m)
		}
		q.ShutDown()
	})
}
