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

// TestResults counts each kind of result once: the keys' first calls have it, and further ones
// succeed.
func TestResults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancelCause(t.Context())
		q := New(Options[string]{})
		if m := q.Metrics(); m.Results != (Results{}) || m.Workers != 0 || m.Timing {
			t.Errorf("before Run: %+v", m)
		}
		boom := errors.New("boom")
		first := map[string]func(context.Context) error{
			"nil":      func(context.Context) error { return nil },
			"error":    func(context.Context) error { return boom },
			"later":    func(context.Context) error { return fmt.Errorf("wait: %w", Again(time.Minute)) },
			"now":      func(context.Context) error { return Again(0) },
			"terminal": func(context.Context) error { return Terminal(boom) },
			"panic":    func(context.Context) error { panic(boom) },
			"goexit":   func(context.Context) error { runtime.Goexit(); return nil },
			"late":     func(ctx context.Context) error { <-ctx.Done(); return nil },
		}
		for key := range first {
			q.Add(key)
		}
		resize := make(chan int)
		end := startRun(ctx, q, RunOptions{Timeout: time.Second, Resize: resize}, func(ctx context.Context, key string) error {
			if key == "cut" {
				<-ctx.Done()
				return context.Cause(ctx)
			}
			call := first[key]
			delete(first, key)
			if call == nil {
				return nil
			}
			return call(ctx)
		})
		time.Sleep(time.Hour)
		// nil and late succeed, and the second calls of error, later, now, panic and goexit.
		want := Results{Succeeded: 2 + 5, Again: 1, AgainNow: 1, GaveUp: 1, Failed: 3, Panicked: 1, TimedOut: 1}
		if m := q.Metrics(); m.Results != want || m.Workers != 1 {
			t.Errorf("got  %+v, %d workers\nwant %+v, 1", m.Results, m.Workers, want)
		}
		resize <- 3
		synctest.Wait()
		if n := q.Metrics().Workers; n != 3 {
			t.Errorf("%d workers after Resize", n)
		}
		q.Add("cut")
		synctest.Wait()
		stop(boom)
		if err := end(); err != nil {
			t.Fatal(err)
		}
		want.CutShort++
		if m := q.Metrics(); m.Results != want || m.Workers != 0 {
			t.Errorf("at the end: got  %+v, %d workers\nwant %+v, 0", m.Results, m.Workers, want)
		}
	})
}

// badError is an error whose methods panic.
type badError struct{ error }

// What a wrapper of the function makes of a result is what Run makes of it.
func TestJudge(t *testing.T) {
	boom := errors.New("boom")
	own := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
	for name, c := range map[string]struct {
		result func(context.Context) error
		opts   RunOptions
		want   Outcome
	}{
		"nil":                     {func(context.Context) error { return nil }, RunOptions{}, Succeeded},
		"again":                   {func(context.Context) error { return Again(time.Hour) }, RunOptions{}, AskedAgain},
		"terminal and a failure":  {func(context.Context) error { return errors.Join(Terminal(boom), errors.New("not written")) }, RunOptions{}, Failed},
		"terminal, and nothing":   {func(context.Context) error { return errors.Join(Terminal(boom), nil) }, RunOptions{}, GaveUp},
		"terminal twice, wrapped": {func(context.Context) error { return fmt.Errorf("x: %w", errors.Join(Terminal(boom), Terminal(boom))) }, RunOptions{}, GaveUp},
		"again and terminal":      {func(context.Context) error { return errors.Join(Terminal(boom), Again(time.Hour)) }, RunOptions{}, AskedAgain},
		"terminal":                {func(context.Context) error { return fmt.Errorf("x: %w", Terminal(boom)) }, RunOptions{}, GaveUp},
		"failed":                  {func(context.Context) error { return boom }, RunOptions{}, Failed},
		"an error that panics":    {func(context.Context) error { return fmt.Errorf("x: %w", badError{}) }, RunOptions{}, Failed},
		"its own time is over":    {own, RunOptions{Timeout: time.Second}, Failed},
		"the end of Run":          {own, RunOptions{}, CutShort},
		"the end of grace":        {own, RunOptions{Grace: time.Second}, CutShort},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := New(Options[string]{})
				q.Add("k")
				ctx, cancel := context.WithCancel(t.Context())
				time.AfterFunc(1500*time.Millisecond, cancel)
				var got []Outcome
				err := Run(ctx, q, c.opts, func(ctx context.Context, _ string) error {
					derived, stop := context.WithCancel(ctx)
					defer stop()
					if len(got) > 0 {
						return Again(time.Hour)
					}
					err := c.result(ctx)
					got = append(got, Judge(derived, err))
					return err
				})
				if err != nil || len(got) != 1 || got[0] != c.want {
					t.Fatalf("got %v, %v; want %v", got, err, c.want)
				}
				r := q.Metrics().Results
				n := map[Outcome]uint64{
					Succeeded: r.Succeeded, AskedAgain: r.Again, GaveUp: r.GaveUp, CutShort: r.CutShort, Failed: r.Failed,
				}[c.want]
				if n == 0 {
					t.Errorf("Run counted %+v, want one that %v", r, c.want)
				}
			})
		})
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if got := Judge(ended, ended.Err()); got != CutShort {
		t.Errorf("outside of Run: got %v", got)
	}
}
