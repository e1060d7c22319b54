package queue

import (
	"runtime"
	"testing"
	"testing/synctest"
	"time"
	"weak"
)

// TestReplaceWithoutDelay checks that an immediate add with Replace cancels the pending delay, for
// every way of adding immediately, and that without Replace the delay stays.
func TestReplaceWithoutDelay(t *testing.T) {
	for name, opts := range map[string]AddOptions{
		"plain":           {},
		"rate limited":    {RateLimited: true},
		"negative delay":  {After: -1},
		"priority":        {Priority: 3},
		"limited, capped": {RateLimited: true, After: time.Second},
	} {
		for _, replace := range []bool{false, true} {
			for _, queued := range []bool{false, true} {
				t.Run(name, func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						q := New(Options[string]{Limiter: FastSlow[string]{}})
						if queued {
							q.Add("k")
						}
						q.AddAfter("k", time.Hour)
						opts.Replace = replace
						q.AddWith("k", opts)
						m := q.Metrics()
						if want := map[bool]int{false: 1, true: 0}[replace]; m.Delayed != want || m.Depth != 1 {
							t.Errorf("replace %v: %d delayed, %d queued; want %d and 1", replace, m.Delayed, m.Depth, want)
						}
						q.check(t)
						q.ShutDown()
					})
				})
			}
		}
	}
}

// client-go counts a retry in each AddAfter, before it looks at the delay, and none after shutdown.
func TestRetriesMetric(t *testing.T) {
	q := New(Options[string]{})
	for _, step := range []struct {
		name string
		do   func()
		want uint64
	}{
		{"Add", func() { q.Add("a") }, 0},
		{"AddAfter 0", func() { q.AddAfter("a", 0) }, 1},
		{"AddAfter negative", func() { q.AddAfter("b", -time.Second) }, 2},
		{"AddAfter", func() { q.AddAfter("c", time.Hour) }, 3},
		{"AddRateLimited", func() { q.AddRateLimited("c") }, 4},
		{"AddWith at once", func() { q.AddWith("a", AddOptions{Priority: 1}) }, 4},
		{"AddWith delayed", func() { q.AddWith("a", AddOptions{After: time.Hour}) }, 5},
		{"shut down", func() { q.ShutDown(); q.AddAfter("a", 0); q.AddAfter("a", 1) }, 5},
	} {
		step.do()
		if n := q.Metrics().Retries; n != step.want {
			t.Errorf("%s: Retries = %d, want %d", step.name, n, step.want)
		}
	}
}

// TestTimerDoesNotKeepQueue checks that a queue is garbage as soon as nothing is to fire any more.
func TestTimerDoesNotKeepQueue(t *testing.T) {
	for name, end := range map[string]func(q *Queue[string]){
		"shut down":    func(q *Queue[string]) { q.ShutDown() },
		"cancelled":    func(q *Queue[string]) { q.Cancel("a"); q.Cancel("b") },
		"replaced":     func(q *Queue[string]) { q.Cancel("a"); q.AddWith("b", AddOptions{Replace: true}) },
		"rate limited": func(q *Queue[string]) { q.Cancel("b"); q.AddWith("a", AddOptions{RateLimited: true, Replace: true}) },
	} {
		t.Run(name, func(t *testing.T) {
			ref := func() weak.Pointer[Queue[string]] {
				q := New(Options[string]{Limiter: FastSlow[string]{}})
				q.AddAfter("a", time.Hour)
				q.AddAfter("b", 2*time.Hour)
				end(q)
				q.check(t)
				return weak.Make(q)
			}()
			for i := 0; ref.Value() != nil; i++ {
				if i > 100 {
					t.Fatal("the queue was not collected")
				}
				runtime.GC()
				runtime.Gosched()
			}
		})
	}
}

// A timer that was stopped must be set again by the next delay.
func TestDelayAfterCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(Options[string]{})
		start := time.Now()
		for range 3 {
			q.AddAfter("a", time.Minute)
			q.Cancel("a")
			q.AddAfter("b", time.Hour)
			time.Sleep(time.Hour)
			synctest.Wait()
			if it := mustGet(t, q); it.Key != "b" {
				t.Errorf("got %s, want b", it.Key)
			} else {
				it.Done()
			}
			q.check(t)
		}
		if d := time.Since(start); d != 3*time.Hour {
			t.Errorf("took %v, want 3h", d)
		}
	})
}
