package queue

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"
)

// evilError is an error whose methods do what f does.
type evilError struct{ f func() }

func (e *evilError) Error() string        { return "evil" }
func (e *evilError) Unwrap() error        { e.f(); return nil }
func (e *evilError) Is(error) bool        { e.f(); return false }
func (e *evilError) As(target any) bool   { e.f(); return false }
func typedNil[E error](e E) func() error  { return func() error { return e } }
func wrapped(f func() error) func() error { return func() error { return fmt.Errorf("w: %w", f()) } }

// TestBadErrors gives Run errors that misbehave: none may end the process or strand the key.
func TestBadErrors(t *testing.T) {
	panics := func() error { return &evilError{func() { panic("ouch") }} }
	exits := func() error { return &evilError{runtime.Goexit} }
	for _, c := range []struct {
		name     string
		first    func() error
		again    bool // comes back
		reported bool
	}{
		{"nil of another type", typedNil[*evilError](nil), true, true},
		{"nil of another type, wrapped", wrapped(typedNil[*evilError](nil)), true, true},
		{"panics", panics, true, true},
		{"panics, wrapped", wrapped(panics), true, true},
		{"ends its goroutine", exits, true, true},
		{"nil AgainError", typedNil[*AgainError](nil), true, false},
		{"nil AgainError, wrapped", wrapped(typedNil[*AgainError](nil)), true, false},
		{"nil TerminalError", typedNil[*TerminalError](nil), false, true},
		{"nil TerminalError, wrapped", wrapped(typedNil[*TerminalError](nil)), false, true},
		{"nil PanicError", typedNil[*PanicError](nil), true, true},
		{"panic with Again", func() error { panic(Again(0)) }, true, true},
		{"panic with Terminal", func() error { panic(Terminal(errors.New("no"))) }, true, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				reports := 0
				q := New(Options[string]{OnError: func(_ string, err error) {
					reports++
					_ = err.Error()
				}})
				calls := 0
				wait := startRun(t.Context(), q, RunOptions{}, func(context.Context, string) error {
					if calls++; calls == 1 {
						return c.first()
					}
					return nil
				})
				q.Add("k")
				time.Sleep(time.Minute)
				synctest.Wait()
				if (calls == 2) != c.again || calls > 2 || (reports == 1) != c.reported || reports > 1 {
					t.Errorf("%d calls, %d reports; want again %v, reported %v", calls, reports, c.again, c.reported)
				}
				if err := q.Drain(t.Context()); err != nil {
					t.Error(err)
				}
				wait()
				q.check(t)
			})
		})
	}
}

// TestGoexitInUserCode ends the worker's goroutine in each function that is called for a failed
// key: the key must come back and Drain must end.
func TestGoexitInUserCode(t *testing.T) {
	for _, where := range []string{"OnError", "Limiter", "Class", "OnError after a panic of the limiter", "OnError after Terminal"} {
		t.Run(where, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				calls, exits := 0, 0
				exit := func(at string) {
					if at == where && calls == 1 {
						exits++
						runtime.Goexit()
					}
				}
				q := New(Options[string]{
					OnError: func(string, error) {
						exit("OnError")
						exit("OnError after a panic of the limiter")
						exit("OnError after Terminal")
					},
					Class: func(string) string { exit("Class"); return "" },
					Limiter: limiterFunc(func(string, int) time.Duration {
						exit("Limiter")
						if calls == 1 && where == "OnError after a panic of the limiter" {
							panic("limiter")
						}
						return time.Millisecond
					}),
				})
				wait := startRun(t.Context(), q, RunOptions{}, func(context.Context, string) error {
					if calls++; calls > 1 {
						return nil
					}
					if where == "OnError after Terminal" {
						return Terminal(errors.New("no"))
					}
					return errors.New("boom")
				})
				q.Add("k")
				time.Sleep(time.Minute)
				synctest.Wait()
				q.Add("other") // for the worker that takes the place of the lost one
				synctest.Wait()
				want := 3
				if where == "OnError after Terminal" {
					want = 2
				}
				if calls != want || exits != 1 {
					t.Errorf("%d calls, want %d; %d times Goexit", calls, want, exits)
				}
				if m := q.Metrics(); m.Running != 0 || m.Delayed != 0 {
					t.Errorf("the key is stranded: %+v", m)
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				if err := q.Drain(ctx); err != nil {
					t.Errorf("Drain = %v", err)
				}
				wait()
				q.check(t)
			})
		})
	}
}

type limiterFunc func(string, int) time.Duration

func (f limiterFunc) Delay(key string, failures int) time.Duration { return f(key, failures) }

// A call that ends because of the stop can say so with the context's error or with its cause.
func TestStopIsNoFailure(t *testing.T) {
	cause := errors.New("time to go")
	for name, result := range map[string]func(context.Context) error{
		"error": context.Context.Err,
		"cause": context.Cause,
		"wrapped": func(ctx context.Context) error {
			return fmt.Errorf("stopped: %w", context.Cause(ctx))
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				reports := 0
				q := New(Options[string]{OnError: func(string, error) { reports++ }})
				ctx, cancel := context.WithCancelCause(t.Context())
				wait := startRun(ctx, q, RunOptions{}, func(ctx context.Context, _ string) error {
					<-ctx.Done()
					return result(ctx)
				})
				q.Add("k")
				synctest.Wait()
				cancel(cause)
				wait()
				if q.Len() != 1 || q.Retries("k") != 0 || reports != 0 {
					t.Errorf("%d queued, %d retries, %d reports; want the key back as if it had not run", q.Len(), q.Retries("k"), reports)
				}
			})
		})
	}
}

// context.Canceled while the pool lives comes from somewhere else and is a failure.
func TestCanceledIsFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reports := 0
		q := New(Options[string]{OnError: func(string, error) { reports++ }})
		calls := 0
		wait := startRun(t.Context(), q, RunOptions{}, func(context.Context, string) error {
			if calls++; calls == 1 {
				return context.Canceled
			}
			return nil
		})
		q.Add("k")
		synctest.Wait()
		if q.Retries("k") != 1 || reports != 1 || calls != 1 {
			t.Errorf("%d retries, %d reports, %d calls; want 1 of each", q.Retries("k"), reports, calls)
		}
		q.ShutDown()
		wait()
	})
}
