package queue

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/time/rate"
)

func TestLimiters(t *testing.T) {
	type L = Limiter[string]
	const ms, s = time.Millisecond, time.Second
	expo := Exponential[string]{Base: ms, Max: s}
	for _, c := range []struct {
		name     string
		limiter  L
		failures []int
		want     []time.Duration
	}{
		{"exponential", expo, []int{0, 1, 2, 3, 4, 9, 10, 1000}, []time.Duration{ms, 2 * ms, 4 * ms, 8 * ms, 16 * ms, 512 * ms, s, s}},
		{"exponential, zero", Exponential[string]{}, []int{0, 1, 17, 18, 62, 63, 64, math.MaxInt, -1},
			[]time.Duration{5 * ms, 10 * ms, 655360 * ms, 1000 * s, 1000 * s, 1000 * s, 1000 * s, 1000 * s, 5 * ms}},
		{"exponential, no overflow", Exponential[string]{Base: time.Minute, Max: 1000 * time.Hour}, []int{2, 15, 16, 40, 999},
			[]time.Duration{4 * time.Minute, 32768 * time.Minute, 1000 * time.Hour, 1000 * time.Hour, 1000 * time.Hour}},
		{"exponential, base over max", Exponential[string]{Base: time.Hour, Max: s}, []int{0, 1}, []time.Duration{s, s}},
		{"fast and slow", FastSlow[string]{Fast: 5 * ms, Slow: 10 * s, Attempts: 3}, []int{0, 1, 2, 3, 4},
			[]time.Duration{5 * ms, 5 * ms, 5 * ms, 10 * s, 10 * s}},
		{"fast and slow, zero", FastSlow[string]{}, []int{0, 5}, []time.Duration{0, 0}},
		{"max of", MaxOf[string]{nil, FastSlow[string]{Fast: 5 * ms, Slow: 3 * s, Attempts: 3}, expo}, []int{0, 1, 2, 3, 4},
			[]time.Duration{5 * ms, 5 * ms, 5 * ms, 3 * s, 3 * s}},
		{"max of none", MaxOf[string]{}, []int{0}, []time.Duration{0}},
		{"max wait", MaxWait[string]{Limiter: expo, Max: 3 * ms}, []int{0, 1, 2, 9}, []time.Duration{ms, 2 * ms, 3 * ms, 3 * ms}},
		{"max wait, zero", MaxWait[string]{}, []int{0}, []time.Duration{0}},
		{"max wait, default", MaxWait[string]{Max: 6 * ms}, []int{0, 1}, []time.Duration{5 * ms, 6 * ms}},
		{"jitter, none", Jitter[string]{Limiter: expo}, []int{0, 3}, []time.Duration{ms, 8 * ms}},
		{"jitter, not a number", Jitter[string]{Limiter: expo, Factor: math.NaN()}, []int{0}, []time.Duration{ms}},
		{"jitter, overflow", Jitter[string]{Limiter: expo, Factor: math.Inf(1)}, []int{0}, []time.Duration{math.MaxInt64}},
		{"bucket, none", Bucket[string]{}, []int{0}, []time.Duration{0}},
		{"bucket that never gives", Bucket[string]{Limiter: rate.NewLimiter(1, 0)}, []int{0}, []time.Duration{math.MaxInt64}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for i, f := range c.failures {
				if d := c.limiter.Delay("k", f); d != c.want[i] {
					t.Errorf("Delay(%d) = %v, want %v", f, d, c.want[i])
				}
			}
		})
	}
}

func TestJitter(t *testing.T) {
	l := Jitter[string]{Limiter: FastSlow[string]{Slow: time.Second}, Factor: 0.5}
	least, most := time.Hour, time.Duration(0)
	for range 2000 {
		d := l.Delay("k", 0)
		least, most = min(least, d), max(most, d)
	}
	if least < time.Second || least > 1010*time.Millisecond || most > 1500*time.Millisecond || most < 1490*time.Millisecond {
		t.Errorf("delays from %v to %v, want 1s to 1.5s", least, most)
	}
}

func TestBucket(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := Bucket[string]{Limiter: rate.NewLimiter(10, 2)}
		for i, want := range []time.Duration{0, 0, 100, 200, 300} {
			if d := l.Delay("k", 0).Round(time.Millisecond); d != want*time.Millisecond {
				t.Errorf("Delay number %d = %v, want %v", i, d, want*time.Millisecond)
			}
		}
	})
}

// TestAddRateLimited follows one key through failures and Forget.
func TestAddRateLimited(t *testing.T) {
	for name, l := range map[string]Limiter[string]{
		"built in": Exponential[string]{Base: time.Millisecond, Max: time.Second},
		"asked":    MaxOf[string]{Exponential[string]{Base: time.Millisecond, Max: time.Second}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := New(Options[string]{Limiter: l})
				for i, want := range []time.Duration{1, 2, 4, 8} {
					start := time.Now()
					q.AddRateLimited("k")
					if _, at := arrival(t, q, start); at != want*time.Millisecond || q.Retries("k") != i+1 {
						t.Errorf("came after %v, %d retries, want %vms and %d", at, q.Retries("k"), want, i+1)
					}
				}
				if q.Retries("other") != 0 {
					t.Error("another key has retries")
				}
				q.Forget("k")
				q.Forget("other")
				if q.Retries("k") != 0 || q.store.table.n != 0 {
					t.Error("Forget left something behind")
				}
				start := time.Now()
				q.AddRateLimited("k")
				q.AddWith("k", AddOptions{RateLimited: true, After: time.Microsecond, Priority: 3})
				if _, at := arrival(t, q, start); at != time.Microsecond {
					t.Errorf("came after %v, want the shorter of both delays", at)
				}
				if q.Metrics().Retries != 6 {
					t.Errorf("Retries = %d, want 6", q.Metrics().Retries)
				}
				q.check(t)
			})
		})
	}
}

// meddler is a limiter that changes the key it is asked about.
type meddler struct{ q *Queue[string] }

func (m *meddler) Delay(key string, _ int) time.Duration {
	m.q.Forget(key)
	if key == "last" {
		m.q.ShutDown()
	}
	return time.Second
}

// A key that is forgotten while the limiter is asked must still come, and nothing may come after a
// shutdown.
func TestLimiterMeddles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &meddler{}
		q := New(Options[string]{Limiter: m})
		m.q = q
		start := time.Now()
		q.AddRateLimited("k")
		q.check(t)
		if k, at := arrival(t, q, start); k != "k" || at != time.Second {
			t.Errorf("%s came after %v", k, at)
		}
		q.AddRateLimited("last")
		if d := q.Metrics().Delayed; d != 0 {
			t.Errorf("%d delayed after shutdown", d)
		}
		q.check(t)
	})
}

// counting is a limiter with state per key.
type counting struct {
	mu    sync.Mutex
	asked map[string]int // since the last Forget
	calls []string
}

func (c *counting) Delay(key string, _ int) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.asked == nil {
		c.asked = map[string]int{}
	}
	c.asked[key]++
	return time.Duration(c.asked[key]) * time.Second
}

func (c *counting) Forget(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.asked, key)
	c.calls = append(c.calls, key)
	switch key {
	case "panic":
		panic("no")
	case "exit":
		runtime.Goexit()
	}
}

// A limiter with a Forget is called when a key's failures are forgotten, even when it is wrapped.
func TestLimiterForget(t *testing.T) {
	for name, wrap := range map[string]func(l Limiter[string]) Limiter[string]{
		"plain": func(l Limiter[string]) Limiter[string] { return l },
		"wrapped": func(l Limiter[string]) Limiter[string] {
			return Jitter[string]{Limiter: MaxOf[string]{nil, MaxWait[string]{Limiter: l, Max: time.Hour}, Bucket[string]{}}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := &counting{}
				q := New(Options[string]{Limiter: wrap(l)})
				for _, want := range []time.Duration{1, 2, 1} {
					if want == 1 {
						q.Forget("k")
					}
					start := time.Now()
					q.AddRateLimited("k")
					if _, at := arrival(t, q, start); at != want*time.Second {
						t.Errorf("came after %v, want %vs", at, want)
					}
				}
				if q.Forget("unknown"); !slices.Equal(l.calls, []string{"k", "k", "unknown"}) {
					t.Errorf("Forget was called for %q", l.calls)
				}
			})
		})
	}
}

// Run calls the limiter's Forget for keys that worked or were given up, and survives any fault of
// the limiter.
func TestRunTellsForgetter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &counting{}
		var reported []string
		q := New(Options[string]{Limiter: l, OnError: func(key string, err error) {
			var panicked *PanicError
			reported = append(reported, fmt.Sprint(key, " ", errors.As(err, &panicked)))
		}})
		for _, key := range []string{"fails", "again", "given up", "panic", "exit", "fine"} {
			q.Add(key)
		}
		ctx, cancel := context.WithCancel(t.Context())
		runs := map[string]int{}
		ended := make(chan error)
		go func() {
			ended <- Run(ctx, q, RunOptions{}, func(_ context.Context, key string) error {
				runs[key]++
				switch first := runs[key] == 1; {
				case key == "fails" && first:
					return errors.New("failed")
				case key == "again" && first:
					return Again(time.Second)
				case key == "given up":
					return Terminal(errors.New("hopeless"))
				}
				return nil
			})
		}()
		time.Sleep(time.Minute)
		synctest.Wait()
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if want := []string{"again", "given up", "panic", "exit", "fine", "fails", "again"}; !slices.Equal(l.calls, want) {
			t.Errorf("Forget was called for %q, want %q", l.calls, want)
		}
		if want := []string{"fails false", "given up false", "panic true"}; !slices.Equal(reported, want) {
			t.Errorf("reported %q, want %q", reported, want)
		}
		q.check(t)
		if n := q.store.table.n; n != 0 {
			t.Errorf("%d keys are left", n)
		}
	})
}
