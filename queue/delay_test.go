package queue

import (
	"math"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kinform/kinform/internal/memtest"
)

// arrival gets the next key, within a virtual day, and gives the time since start.
func arrival(t *testing.T, q *Queue[string], start time.Time) (string, time.Duration) {
	t.Helper()
	it, err := q.Get(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	it.Done()
	return it.Key, time.Since(start)
}

func TestDelayOfOneKey(t *testing.T) {
	type op struct {
		after   time.Duration
		replace bool
	}
	for _, c := range []struct {
		name string
		ops  []op
		want time.Duration
	}{
		{"the earlier wins", []op{{after: 5}, {after: 3}, {after: 9}}, 3},
		{"replace by a later one", []op{{after: 5}, {after: 9, replace: true}}, 9},
		{"replace by an earlier one", []op{{after: 5}, {after: 2, replace: true}}, 2},
		{"replace, then earlier", []op{{after: 5}, {after: 9, replace: true}, {after: 7}}, 7},
		{"replace by now", []op{{after: 5}, {after: 0, replace: true}}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := New(Options[string]{})
				start := time.Now()
				for _, o := range c.ops {
					q.AddWith("k", AddOptions{After: o.after * time.Second, Replace: o.replace})
				}
				if _, at := arrival(t, q, start); at != c.want*time.Second {
					t.Errorf("came after %v, want %v", at, c.want*time.Second)
				}
				time.Sleep(time.Hour)
				if n := q.Len(); n != 0 {
					t.Errorf("came again")
				}
				q.check(t)
			})
		})
	}
}

// A key that is queued or runs while it is delayed comes again at its time.
func TestDelayIsApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(Options[string]{})
		start := time.Now()
		q.Add("k")
		q.AddAfter("k", time.Second)
		if _, at := arrival(t, q, start); at != 0 {
			t.Errorf("came after %v, want at once", at)
		}
		if _, at := arrival(t, q, start); at != time.Second {
			t.Errorf("came again after %v, want a second", at)
		}
		q.AddAfter("k", time.Second)
		q.Add("k")
		it := mustGet(t, q)
		time.Sleep(2 * time.Second)
		if q.Len() != 0 {
			t.Error("handed out while it runs")
		}
		it.Done()
		if q.Len() != 1 {
			t.Error("a delay that fired while the key ran is lost")
		}
	})
}

func TestCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(Options[string]{})
		if q.Cancel("k") {
			t.Error("nothing to cancel, but reported")
		}
		q.AddAfter("k", time.Second)
		q.AddAfter("l", 2*time.Second)
		if !q.Cancel("k") || q.Cancel("k") {
			t.Error("Cancel must report the first time only")
		}
		if k, at := arrival(t, q, time.Now()); k != "l" || at != 2*time.Second {
			t.Errorf("%s came after %v, want l after 2s", k, at)
		}
		q.Add("k")
		if q.Cancel("k") || q.Len() != 1 {
			t.Error("Cancel must leave a queued key alone")
		}
		q.check(t)
	})
}

// TestManyDelays fires 100,000 keys, in order and each at its very time.
func TestManyDelays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(Options[int]{})
		n := 100_000
		if memtest.Race {
			n = 10_000
		}
		delays := make([]time.Duration, n)
		start := time.Now()
		for i := range delays {
			delays[i] = time.Duration(1 + rand.Int64N(int64(time.Hour)))
			q.AddAfter(i, delays[i])
		}
		for range n {
			it, err := q.Get(t.Context())
			if err != nil || time.Since(start) != delays[it.Key] {
				t.Fatalf("%d came after %v, want %v (%v)", it.Key, time.Since(start), delays[it.Key], err)
			}
			it.Done()
		}
		q.check(t)
	})
}

// Many due at the same instant take several lock holds of the timer's goroutine.
func TestManyDueAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(Options[int]{})
		const n = 3*fireBatch + 5
		for i := range n {
			q.AddAfter(i, time.Second)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if q.Len() != n {
			t.Errorf("%d fired, want %d", q.Len(), n)
		}
		q.check(t)
	})
}

// Keys whose time comes at the same instant are handed out in the order in which they were added,
// however they came to wait.
func TestSameInstant(t *testing.T) {
	const n = 2*fireBatch + 5
	for _, c := range []struct {
		name string
		opts Options[int]
		add  func(q *Queue[int], key int)
	}{
		{"delayed", Options[int]{}, func(q *Queue[int], key int) { q.AddAfter(key, time.Second) }},
		{"rate limited", Options[int]{}, (*Queue[int]).AddRateLimited},
		{"held", Options[int]{Debounce: time.Second}, (*Queue[int]).Add},
		{"delayed and held", Options[int]{Debounce: time.Second}, func(q *Queue[int], key int) {
			if key%3 == 0 {
				q.Add(key)
			} else {
				q.AddAfter(key, time.Second)
			}
		}},
		{"set again to the same time", Options[int]{}, func(q *Queue[int], key int) {
			q.AddAfter(key, time.Second)
			q.AddAfter(key/2, time.Second)
		}},
		{"later and back", Options[int]{}, func(q *Queue[int], key int) {
			q.AddAfter(key, time.Minute)
			q.AddAfter(key, time.Second)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := New(c.opts)
				for key := range n {
					c.add(q, key)
				}
				q.check(t)
				for want := range n {
					it, err := q.Get(t.Context())
					if err != nil || it.Key != want {
						t.Fatalf("handed out %d (%v), want %d", it.Key, err, want)
					}
					it.Done()
				}
			})
		})
	}
}

// A key that was due first is handed out first, even when the timer comes late for both.
func TestDueBothWays(t *testing.T) {
	q := New(Options[string]{Debounce: time.Hour})
	q.AddAfter("second", 2*time.Hour)
	q.Add("first")
	q.mu.Lock()
	expire(q, q.now()+int64(3*time.Hour), fireBatch)
	q.mu.Unlock()
	for _, want := range []string{"first", "second"} {
		if it := mustGet(t, q); it.Key != want {
			t.Errorf("handed out %q, want %q", it.Key, want)
		} else {
			it.Done()
		}
	}
	q.ShutDown()
}

func TestDebounce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(Options[string]{Debounce: time.Second})
		start := time.Now()
		for range 3 { // a burst: one hand-out, a second after the last
			q.Add("k")
			time.Sleep(500 * time.Millisecond)
		}
		if _, at := arrival(t, q, start); at != 2*time.Second {
			t.Errorf("came after %v, want 2s", at)
		}
		start = time.Now()
		for range 21 { // adds that do not pause: after the longest hold
			q.Add("k")
			time.Sleep(500 * time.Millisecond)
		}
		if _, at := arrival(t, q, start); at != 10500*time.Millisecond {
			t.Errorf("came after %v, but was due while the test slept", at)
		}
		start = time.Now()
		q.Add("k")
		q.AddAfter("k", 300*time.Millisecond)
		if _, at := arrival(t, q, start); at != 300*time.Millisecond {
			t.Errorf("came after %v, want at the delay's end", at)
		}
		time.Sleep(time.Minute)
		if q.Len() != 0 {
			t.Error("the delay did not take the held add along")
		}
		q.Add("k")
		q.ShutDown()
		if q.Len() != 1 {
			t.Error("a held add was lost at shutdown")
		}
		q.check(t)
	})
}

func TestDebounceWhileRunning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(Options[string]{Debounce: time.Second})
		start := time.Now()
		q.Add("k")
		time.Sleep(time.Second)
		synctest.Wait()
		it := mustGet(t, q)
		q.Add("k")
		it.Done()
		if q.Len() != 0 {
			t.Error("an add while the key ran was not held")
		}
		if _, at := arrival(t, q, start); at != 2*time.Second {
			t.Errorf("came after %v, want 2s", at)
		}
	})
}

// Time in the hold counts as time in the queue.
func TestDebounceIsTimed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(Options[string]{Debounce: time.Second, Timing: true})
		start := time.Now()
		q.Add("k")
		if _, at := arrival(t, q, start); at != time.Second {
			t.Errorf("came after %v, want 1s", at)
		}
		q.Add("k")
		q.AddAfter("k", 300*time.Millisecond)
		arrival(t, q, start)
		if sum := q.Metrics().Latency.Sum; sum != 1300*time.Millisecond {
			t.Errorf("queued for %v in all, want 1.3s", sum)
		}
	})
}

// Delays that do not fit into time are the longest there is, not wrapped around to the past.
func TestDelayOverflow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(Options[string]{Debounce: math.MaxInt64})
		time.Sleep(time.Hour)
		q.AddAfter("a", math.MaxInt64)
		q.Add("b")
		time.Sleep(24 * time.Hour)
		if q.Len() != 0 {
			t.Error("an endless delay fired")
		}
		q.check(t)
		q.ShutDown()
		if q.Len() != 1 {
			t.Errorf("%d queued at shutdown, want b", q.Len())
		}
	})
	if saturatingAdd(1, 2, 3) != 7 || saturatingAdd(math.MaxInt64-1, 1, 1) != math.MaxInt64 ||
		saturatingAdd(0, math.MaxInt64/2, 3) != math.MaxInt64 {
		t.Error("saturatingAdd")
	}
}
