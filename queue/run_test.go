package queue

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kinform/kinform/internal/usercode"
)

// startRun runs in the background; the function returned waits for the end and gives the result.
func startRun[K comparable](ctx context.Context, q *Queue[K], opts RunOptions, fn func(context.Context, K) error) func() error {
	end := make(chan error, 1)
	go func() { end <- Run(ctx, q, opts, fn) }()
	return func() error { return <-end }
}

// errorList is an OnError that keeps the errors.
type errorList struct{ errs chan error }

func newErrorList() errorList { return errorList{make(chan error, 100)} }

func (l errorList) onError(key string, err error) { l.errs <- fmt.Errorf("%s: %w", key, err) }

// TestRunResults checks the effect of each kind of result on its key: the time at which it comes
// again, the value of Retries, and the report. Every call after the first returns nil.
func TestRunResults(t *testing.T) {
	boom := errors.New("boom")
	for _, c := range []struct {
		name    string
		first   func() error
		again   time.Duration // negative: not at all
		retries int           // after the first call
		report  error
	}{
		{"nil", func() error { return nil }, -1, 0, nil},
		{"error", func() error { return boom }, 5 * time.Millisecond, 1, boom},
		{"again", func() error { return Again(time.Minute) }, time.Minute, 0, nil},
		{"again at once", func() error { return Again(0) }, 0, 0, nil},
		{"again, wrapped", func() error { return fmt.Errorf("wait: %w", Again(time.Hour)) }, time.Hour, 0, nil},
		{"again, joined", func() error { return errors.Join(Again(time.Hour), Again(time.Minute)) }, time.Hour, 0, nil},
		{"again beside a failure", func() error { return fmt.Errorf("all: %w", errors.Join(boom, Again(time.Hour))) }, time.Hour, 0, boom},
		{"terminal", func() error { return Terminal(boom) }, -1, 0, boom},
		{"terminal, wrapped", func() error { return fmt.Errorf("no: %w", Terminal(boom)) }, -1, 0, boom},
		{"terminal nil", func() error { return Terminal(nil) }, -1, 0, nil},
		{"panic", func() error { panic("ouch") }, 5 * time.Millisecond, 1, &PanicError{}},
		{"panic with an error", func() error { panic(boom) }, 5 * time.Millisecond, 1, boom},
		{"goexit", func() error { runtime.Goexit(); return nil }, 5 * time.Millisecond, 1, usercode.ErrGoexit},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				list := newErrorList()
				q := New(Options[string]{OnError: list.onError})
				start := time.Now()
				var calls []time.Duration
				wait := startRun(t.Context(), q, RunOptions{}, func(_ context.Context, k string) error {
					calls = append(calls, time.Since(start))
					if len(calls) == 1 {
						return c.first()
					}
					return nil
				})
				q.Add("k")
				synctest.Wait()
				if r := q.Retries("k"); r != c.retries && c.again != 0 {
					t.Errorf("Retries = %d, want %d", r, c.retries)
				}
				time.Sleep(2 * time.Hour)
				synctest.Wait()
				want := []time.Duration{0}
				if c.again >= 0 {
					want = append(want, c.again)
				}
				if !slices.Equal(calls, want) {
					t.Errorf("called at %v, want %v", calls, want)
				}
				if r := q.Retries("k"); r != 0 {
					t.Errorf("Retries = %d in the end, want 0", r)
				}
				checkReport(t, list, c.report)
				q.ShutDown()
				if err := wait(); err != nil {
					t.Errorf("Run = %v", err)
				}
				q.check(t)
			})
		})
	}
}

func checkReport(t *testing.T, list errorList, want error) {
	t.Helper()
	close(list.errs)
	err := <-list.errs
	var p *PanicError
	switch {
	case want == nil:
		if err != nil {
			t.Errorf("reported %v, want nothing", err)
		}
	case errors.As(want, &p):
		if !errors.As(err, &p) || p.Value != "ouch" || !strings.Contains(string(p.Stack), "run_test.go") {
			t.Errorf("reported %v, want the panic with its stack", err)
		}
	case !errors.Is(err, want):
		t.Errorf("reported %v, want %v", err, want)
	}
	if more := <-list.errs; more != nil {
		t.Errorf("reported %v too", more)
	}
}

func TestRunKeepsPriority(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(Options[string]{})
		for _, first := range []error{errors.New("boom"), Again(time.Second)} {
			n := 0
			ctx, cancel := context.WithCancel(t.Context())
			wait := startRun(ctx, q, RunOptions{}, func(context.Context, string) error {
				if n++; n == 1 {
					return first
				}
				return nil
			})
			q.AddWith("k", AddOptions{Priority: 7})
			synctest.Wait()
			if s := q.Snapshot(); len(s.Delayed) != 1 || s.Delayed[0].Priority != 7 {
				t.Errorf("after %v: %+v, want k delayed with priority 7", first, s)
			}
			time.Sleep(time.Minute)
			cancel()
			wait()
		}
	})
}

func TestRunTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		list := newErrorList()
		q := New(Options[string]{OnError: list.onError})
		start := time.Now()
		wait := startRun(t.Context(), q, RunOptions{Timeout: time.Second}, func(ctx context.Context, _ string) error {
			<-ctx.Done()
			return ctx.Err()
		})
		q.Add("k")
		if err := <-list.errs; !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Second {
			t.Errorf("reported %v after %v, want the deadline after 1s", err, time.Since(start))
		}
		synctest.Wait()
		if q.Retries("k") != 1 {
			t.Error("a timeout must be retried like a failure")
		}
		q.ShutDown()
		wait()
	})
}

// TestRunStops ends the context while one key runs and another one waits.
func TestRunStops(t *testing.T) {
	for _, c := range []struct {
		grace time.Duration
		end   time.Duration // when the context of the call ends, after a call of at most a minute
	}{{0, 0}, {time.Second, time.Second}, {time.Hour, time.Minute}, {-1, time.Minute}} {
		t.Run(c.grace.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				list := newErrorList()
				q := New(Options[string]{OnError: list.onError})
				ctx, cancel := context.WithCancel(t.Context())
				var calls []string
				wait := startRun(ctx, q, RunOptions{Grace: c.grace}, func(ctx context.Context, k string) error {
					calls = append(calls, k)
					select {
					case <-ctx.Done():
						return ctx.Err()
					case <-time.After(time.Minute):
						return nil
					}
				})
				q.Add("runs")
				synctest.Wait()
				q.Add("waits")
				start := time.Now()
				cancel()
				if err := wait(); err != nil || time.Since(start) != c.end {
					t.Errorf("Run = %v after %v, want nil after %v", err, time.Since(start), c.end)
				}
				left := []string{"waits"}
				if c.end < time.Minute {
					left = append(left, "runs") // cut short: it comes back, and not as a failure
				}
				var queued []string
				for _, k := range q.Snapshot().Queued {
					queued = append(queued, k.Key)
				}
				if !slices.Equal(queued, left) || q.Retries("runs") != 0 || len(calls) != 1 || len(list.errs) != 0 {
					t.Errorf("queued %v, want %v; %d retries, calls %v", queued, left, q.Retries("runs"), calls)
				}
				q.check(t)
			})
		})
	}
}

// lateDone is a context that has ended some time before those who wait for that know it.
type lateDone struct {
	context.Context
	ended atomic.Bool
	done  chan struct{}
}

func (c *lateDone) Done() <-chan struct{} { return c.done }

func (c *lateDone) Err() error {
	if c.ended.Load() {
		return context.Canceled
	}
	return nil
}

// TestRunTakesNoMore: the context ends, and the workers' own contexts do so later.
func TestRunTakesNoMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(Options[int]{})
		for i := range 3 {
			q.Add(i)
		}
		ctx := &lateDone{Context: t.Context(), done: make(chan struct{})}
		var calls atomic.Int32
		wait := startRun(ctx, q, RunOptions{}, func(of context.Context, _ int) error {
			calls.Add(1)
			ctx.ended.Store(true)
			return of.Err()
		})
		synctest.Wait()
		close(ctx.done)
		if err := wait(); err != nil || calls.Load() != 1 || q.Len() != 3 {
			t.Errorf("%v after %d calls, %d keys are left", err, calls.Load(), q.Len())
		}
	})
}

func TestRunDrains(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(Options[int]{})
		var handled atomic.Int32
		wait := startRun(t.Context(), q, RunOptions{Workers: 3}, func(_ context.Context, k int) error {
			if handled.Add(1); handled.Load() <= 2 {
				q.Add(k) // comes back, even after shutdown
			}
			time.Sleep(time.Second)
			return nil
		})
		for i := range 10 {
			q.Add(i)
		}
		q.AddAfter(100, time.Hour)
		synctest.Wait()
		start := time.Now()
		if err := q.Drain(t.Context()); err != nil {
			t.Fatal(err)
		}
		if handled.Load() != 12 || time.Since(start) != 4*time.Second {
			t.Errorf("handled %d in %v, want 12 in 4s", handled.Load(), time.Since(start))
		}
		if err := wait(); err != nil {
			t.Error(err)
		}
		if m := q.Metrics(); m.Delayed != 0 || m.Depth != 0 {
			t.Errorf("left over: %+v", m)
		}
	})
}

func TestRunResize(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(Options[int]{})
		var busy atomic.Int32
		resize := make(chan int)
		wait := startRun(t.Context(), q, RunOptions{Workers: 2, Resize: resize}, func(context.Context, int) error {
			busy.Add(1)
			defer busy.Add(-1)
			time.Sleep(time.Second)
			return nil
		})
		for i := range 1000 {
			q.Add(i)
		}
		expect := func(n int32) {
			t.Helper()
			time.Sleep(1500 * time.Millisecond) // those that are too many have finished by then
			synctest.Wait()
			if b := busy.Load(); b != n {
				t.Fatalf("%d calls at a time, want %d", b, n)
			}
		}
		expect(2)
		for _, n := range []int{5, 1, 0, 3, -1, 4} {
			resize <- n
			expect(int32(max(0, n)))
		}
		close(resize)
		expect(4)
		q.ShutDown()
		wait()
		if q.Len() != 0 {
			t.Errorf("%d left after shutdown", q.Len())
		}
	})
}

// A number that is there before Run counts from the first call on, and a closed channel leaves RunOptions.Workers.
func TestRunResizeAtStart(t *testing.T) {
	const many = 200 // of which one would be fast enough
	for name, c := range map[string]struct {
		resize func(chan int)
		want   int64
	}{
		"three":   {func(resize chan int) { resize <- 3 }, 3},
		"zero":    {func(resize chan int) { resize <- 0 }, 0},
		"minus":   {func(resize chan int) { resize <- -3 }, 0},
		"nothing": {func(chan int) {}, many},
		"closed":  {func(resize chan int) { close(resize) }, many},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := New(Options[int]{})
				for i := range 2 * many {
					q.Add(i)
				}
				resize := make(chan int, 1)
				c.resize(resize)
				var calls atomic.Int64
				ctx, cancel := context.WithCancel(t.Context())
				wait := startRun(ctx, q, RunOptions{Workers: many, Resize: resize}, func(ctx context.Context, _ int) error {
					calls.Add(1)
					<-ctx.Done()
					return ctx.Err()
				})
				synctest.Wait()
				if n := calls.Load(); n != c.want {
					t.Errorf("%d calls, want %d", n, c.want)
				}
				cancel()
				if err := wait(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// A call that sends a number after the end of the context does not hold Run up, and gets no more workers.
func TestRunResizeAtEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(Options[int]{})
		q.Add(1)
		q.Add(2)
		resize := make(chan int)
		var calls atomic.Int64
		ctx, cancel := context.WithCancel(t.Context())
		wait := startRun(ctx, q, RunOptions{Resize: resize}, func(ctx context.Context, _ int) error {
			calls.Add(1)
			<-ctx.Done()
			for n := range 5 {
				time.Sleep(time.Second)
				resize <- n
			}
			return nil
		})
		synctest.Wait()
		cancel()
		if err := wait(); err != nil || calls.Load() != 1 || q.Metrics().Workers != 0 {
			t.Errorf("Run = %v after %d calls, with %d workers", err, calls.Load(), q.Metrics().Workers)
		}
	})
}

// Pausing and resuming while calls are long must not add workers beyond the number that was asked
// for.
func TestRunResizeKeepsToLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(Options[int]{})
		var busy, most, calls atomic.Int32
		resize := make(chan int)
		wait := startRun(t.Context(), q, RunOptions{Workers: 2, Resize: resize}, func(context.Context, int) error {
			n := busy.Add(1)
			defer busy.Add(-1)
			most.Store(max(most.Load(), n))
			calls.Add(1)
			time.Sleep(time.Hour)
			return nil
		})
		for i := range 100 {
			q.Add(i)
		}
		for range 20 {
			for _, n := range []int{0, 2, 1, 2} {
				synctest.Wait()
				resize <- n
			}
		}
		synctest.Wait()
		if m := most.Load(); m != 2 {
			t.Errorf("%d calls at the same time, want 2", m)
		}
		time.Sleep(90 * time.Minute)
		synctest.Wait()
		if b, n := busy.Load(), calls.Load(); b != 2 || n != 4 {
			t.Errorf("%d calls run after %d, want 2 after 4: all workers go on", b, n)
		}
		if err := q.Drain(t.Context()); err != nil {
			t.Error(err)
		}
		wait()
	})
}

// A pool that is paused after shutdown has not ended: the keys that are queued are its.
func TestRunPausedAfterShutDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(Options[int]{})
		resize := make(chan int)
		var calls atomic.Int32
		done := make(chan error, 1)
		go func() {
			done <- Run(t.Context(), q, RunOptions{Workers: 2, Resize: resize}, func(_ context.Context, k int) error {
				if calls.Add(1) == 1 {
					time.Sleep(time.Minute)
				}
				return nil
			})
		}()
		q.Add(1)
		synctest.Wait()
		q.Add(1) // comes back
		q.ShutDown()
		synctest.Wait() // the other worker finds the queue empty
		resize <- 0
		time.Sleep(time.Hour)
		synctest.Wait()
		if len(done) != 0 || q.Len() != 1 {
			t.Fatalf("Run has returned: %v; %d keys are queued, want 1", len(done) != 0, q.Len())
		}
		resize <- 1
		if err := <-done; err != nil || q.Len() != 0 || calls.Load() != 2 {
			t.Errorf("Run = %v, %d queued after %d calls", err, q.Len(), calls.Load())
		}
	})
}

// A key that somebody else gives back after shutdown is still handed to Run's function.
func TestRunWaitsForKeysOfOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(Options[int]{})
		q.Add(1)
		it := mustGet(t, q)
		q.Add(1)
		calls := 0
		wait := startRun(t.Context(), q, RunOptions{Workers: 3}, func(context.Context, int) error { calls++; return nil })
		q.ShutDown()
		time.Sleep(time.Minute)
		it.Done()
		if err := wait(); err != nil || calls != 1 || q.Len() != 0 {
			t.Errorf("Run = %v, %d calls, %d queued", err, calls, q.Len())
		}
	})
}

// A paused Run must still end when its queue is done with by somebody else, or its context ends.
func TestRunEndsPaused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		resize := make(chan int, 1)
		q := New(Options[int]{})
		wait := startRun(t.Context(), q, RunOptions{Resize: resize}, func(context.Context, int) error { return nil })
		resize <- 0
		synctest.Wait()
		q.Add(1)
		synctest.Wait()
		if q.Len() != 1 {
			t.Fatal("a paused Run handed out a key")
		}
		q.ShutDown()
		mustGet(t, q).Done()
		if err := wait(); err != nil {
			t.Error(err)
		}

		q = New(Options[int]{})
		ctx, cancel := context.WithCancel(t.Context())
		wait = startRun(ctx, q, RunOptions{Resize: resize}, func(context.Context, int) error { return nil })
		resize <- 0
		synctest.Wait()
		cancel()
		if err := wait(); err != nil {
			t.Error(err)
		}
	})
}

// Lost workers are replaced for as long as Run runs.
func TestRunReplacesLostWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(Options[int]{Limiter: FastSlow[int]{}})
		var calls atomic.Int32
		wait := startRun(t.Context(), q, RunOptions{Workers: 2}, func(_ context.Context, k int) error {
			if calls.Add(1) <= 50 {
				runtime.Goexit()
			}
			return nil
		})
		for i := range 10 {
			q.Add(i)
		}
		synctest.Wait()
		if n := calls.Load(); n != 60 {
			t.Errorf("%d calls, want 60", n)
		}
		q.ShutDown()
		wait()
	})
}

// Again is not a failure, and ends a series of them.
func TestRunAgainForgets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(Options[string]{})
		results := []error{errors.New("boom"), Again(time.Minute), nil}
		wait := startRun(t.Context(), q, RunOptions{}, func(context.Context, string) error {
			err := results[0]
			results = results[1:]
			return err
		})
		q.Add("k")
		for _, want := range []int{1, 0, 0} {
			synctest.Wait()
			if r := q.Retries("k"); r != want {
				t.Errorf("Retries = %d before %v, want %d", r, results, want)
			}
			time.Sleep(time.Minute)
		}
		q.ShutDown()
		wait()
	})
}

// Two Runs may share a queue.
func TestRunTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(Options[int]{})
		var n [2]atomic.Int32
		var waits []func() error
		for r := range n {
			waits = append(waits, startRun(t.Context(), q, RunOptions{}, func(context.Context, int) error {
				n[r].Add(1)
				time.Sleep(time.Second)
				return nil
			}))
		}
		for i := range 10 {
			q.Add(i)
		}
		if err := q.Drain(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, wait := range waits {
			wait()
		}
		if n[0].Load() != 5 || n[1].Load() != 5 {
			t.Errorf("shared out %d to %d, want 5 each", n[0].Load(), n[1].Load())
		}
	})
}
