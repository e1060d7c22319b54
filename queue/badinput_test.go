package queue

import (
	"context"
	"errors"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kinform/kinform/internal/mistake"
)

// TestBadInput has one case per misuse, each with its stated result; after each the queue must
// still work.
func TestBadInput(t *testing.T) {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	type queue = *Queue[string]
	for _, c := range []struct {
		name string
		opts Options[string]
		do   func(t *testing.T, q queue)
	}{
		{"Run without a function", Options[string]{}, func(t *testing.T, q queue) {
			if err := Run(t.Context(), q, RunOptions{}, nil); !errors.Is(err, mistake.NoFunc) || !errors.Is(err, ErrInvalid) {
				t.Errorf("Run = %v, want mistake.NoFunc", err)
			}
		}},
		{"Run without a queue", Options[string]{}, func(t *testing.T, q queue) {
			err := Run(t.Context(), nil, RunOptions{}, func(context.Context, string) error { return nil })
			if err != errNoQueue {
				t.Errorf("Run = %v, want errNoQueue", err)
			}
		}},
		{"Run with an ended context", Options[string]{}, func(t *testing.T, q queue) {
			q.Add("a")
			err := Run(ended, q, RunOptions{}, func(context.Context, string) error { t.Error("called"); return nil })
			if err != nil || q.Len() != 1 {
				t.Errorf("Run = %v and left %d, want nil and 1", err, q.Len())
			}
			mustGet(t, q).Done()
		}},
		{"zero and negative workers are one", Options[string]{}, func(t *testing.T, q queue) {
			for _, n := range []int{0, -5} {
				ctx, stop := context.WithCancel(t.Context())
				calls := 0
				wait := startRun(ctx, q, RunOptions{Workers: n, Timeout: -1}, func(context.Context, string) error {
					calls++ // would be a race with two workers
					return nil
				})
				for _, k := range stressKeys(10) {
					q.Add(k)
				}
				synctest.Wait()
				stop()
				if err := wait(); err != nil || calls != 10 {
					t.Errorf("%d workers: Run = %v after %d calls", n, err, calls)
				}
			}
		}},
		{"negative delays are none", Options[string]{}, func(t *testing.T, q queue) {
			q.AddAfter("a", -1)
			q.AddAfter("b", math.MinInt64)
			if got := order(t, q); got != "a b" {
				t.Errorf("got %q, want both at once", got)
			}
		}},
		{"negative options are off", Options[string]{Debounce: -1}, func(t *testing.T, q queue) {
			q.Add("a")
			if got := order(t, q); got != "a" {
				t.Errorf("got %q, want a at once", got)
			}
		}},
		{"limiter with a negative delay", Options[string]{Limiter: FastSlow[string]{Slow: -time.Hour}}, func(t *testing.T, q queue) {
			q.AddRateLimited("a")
			if got := order(t, q); got != "a" {
				t.Errorf("got %q, want a at once", got)
			}
		}},
		{"Done without Get", Options[string]{}, func(t *testing.T, q queue) {
			q.Add("a")
			q.AddAfter("b", time.Hour)
			if q.Done("a") || q.Done("b") || q.Done("c") || (Item[string]{}).Done() {
				t.Error("Done reported true for a key that was not handed out")
			}
			if got := order(t, q); got != "a" {
				t.Errorf("got %q, want a", got)
			}
		}},
		{"Done twice, with the entry in other hands", Options[string]{}, func(t *testing.T, q queue) {
			q.Add("a")
			first := mustGet(t, q)
			first.Done()
			q.Add("b") // takes the recycled entry
			second := mustGet(t, q)
			if first.Done() {
				t.Error("an old item gave back somebody else's key")
			}
			q.Add("b")
			if q.Len() != 0 || !second.Done() || q.Len() != 1 {
				t.Error("b was not running any more")
			}
			mustGet(t, q).Done()
		}},
		{"Get after shutdown", Options[string]{}, func(t *testing.T, q queue) {
			q.ShutDown()
			q.ShutDown()
			if _, err := q.Get(t.Context()); err != ErrShutDown {
				t.Errorf("Get = %v, want ErrShutDown", err)
			}
			if its, err := q.GetBatch(t.Context(), nil, 3); err != ErrShutDown || len(its) != 0 {
				t.Errorf("GetBatch = %v, %v, want ErrShutDown", its, err)
			}
			if !q.ShuttingDown() || q.Drain(ended) != nil {
				t.Error("an empty queue must drain at once, whatever the context")
			}
		}},
		{"all kinds of adds after shutdown", Options[string]{}, func(t *testing.T, q queue) {
			q.AddAfter("delayed", time.Second)
			q.ShutDown()
			q.Add("a")
			q.AddAfter("a", 1)
			q.AddRateLimited("a")
			q.AddWith("a", AddOptions{Priority: 1, Replace: true})
			time.Sleep(time.Minute)
			if m := q.Metrics(); q.Len() != 0 || q.Retries("a") != 0 || m.Delayed != 0 || q.store.table.n != 0 {
				t.Errorf("something was added: %+v", m)
			}
		}},
		{"Drain that nobody helps", Options[string]{}, func(t *testing.T, q queue) {
			q.Add("a")
			cause := errors.New("too long")
			ctx, stop := context.WithTimeoutCause(t.Context(), time.Second, cause)
			defer stop()
			if err := q.Drain(ctx); err != cause {
				t.Errorf("Drain = %v, want the context's cause", err)
			}
			it := mustGet(t, q)
			if err := q.Drain(ctx); err != cause {
				t.Errorf("Drain while a runs = %v, want the context's cause", err)
			}
			it.Done()
			if err := q.Drain(t.Context()); err != nil {
				t.Errorf("Drain = %v", err)
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := New(c.opts)
				c.do(t, q)
				q.check(t)
				if !q.ShuttingDown() {
					q.Add("still works")
					if got := order(t, q); got != "still works" {
						t.Errorf("the queue does not work any more: %q", got)
					}
				}
			})
		})
	}
}

// panicky is user code that panics.
type panicky struct{}

func (panicky) Delay(string, int) time.Duration { panic("limiter") }

func TestPanicsInUserCode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		list := newErrorList()
		var q *Queue[string]
		q = New(Options[string]{
			Limiter: panicky{},
			Class:   func(k string) string { panic("class") },
			OnError: func(k string, err error) {
				q.Len() // no lock may be held
				list.onError(k, err)
				panic("handler")
			},
		})
		start := time.Now()
		q.AddRateLimited("k")
		var p *PanicError
		for _, want := range []string{"class", "limiter"} {
			if err := <-list.errs; !errors.As(err, &p) || p.Value != want || len(p.Stack) == 0 {
				t.Errorf("reported %v, want the panic of the %s", err, want)
			}
		}
		if _, at := arrival(t, q, start); at != 5*time.Millisecond {
			t.Errorf("came after %v, want the default delay", at)
		}
		if m := q.Metrics(); m.Panics != 2 || q.Retries("k") != 1 {
			t.Errorf("%d panics, %d retries, want 2 and 1", m.Panics, q.Retries("k"))
		}
		q.check(t)
	})
}

func TestErrorTexts(t *testing.T) {
	boom := errors.New("boom")
	for _, c := range []struct {
		err  error
		want string
	}{
		{Again(time.Second), "queue: again after 1s"},
		{Terminal(boom), "terminal: boom"},
		{&PanicError{Where: "Limiter", Value: boom}, "Limiter panicked: boom\n"},
	} {
		if c.err.Error() != c.want {
			t.Errorf("Error() = %q, want %q", c.err, c.want)
		}
	}
	if errors.Unwrap(&PanicError{Value: 7}) != nil || !errors.Is(Terminal(boom), boom) {
		t.Error("Unwrap")
	}
}
