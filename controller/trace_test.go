package controller_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kinform/kinform/controller"
	"github.com/kinform/kinform/queue"
)

// Reconciles that run, that ended in each way, and the last errors.
func TestTrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, runC := delayed("c", controller.Options[string]{Run: queue.RunOptions{Workers: 4}, Queue: queue.Options[string]{OnError: func(string, error) {}}})
		reconcile := func(ctx context.Context, key string) error {
			time.Sleep(time.Second)
			switch key {
			case "fails":
				return controller.Terminal(errors.New("no"))
			case "panics":
				panic(1)
			case "runs":
				<-ctx.Done()
				return ctx.Err()
			}
			return nil
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- runC(ctx, reconcile) }()
		c.Queue().Add("works")
		time.Sleep(2 * time.Second)
		if c.Traced("works") != nil || c.LastErrors() != nil {
			t.Error("kept without Trace")
		}
		if works, _ := c.KeyState("works"); !works.Began.IsZero() {
			t.Error("runs without Trace")
		}
		c.Trace(3)
		c.Trace(0)
		for _, key := range []string{"works", "fails", "panics", "runs"} {
			c.Queue().Add(key)
		}
		time.Sleep(1001 * time.Millisecond)
		for key, want := range map[string]string{"works": "succeeded 1s <nil>", "fails": "gave up 1s terminal: no", "panics": "panicked 1s reconcile panicked", "runs": ""} {
			got := ""
			for _, r := range c.Traced(key) {
				got += fmt.Sprint(r.Result, " ", r.Took, " ", r.Err)
			}
			if got != want {
				t.Errorf("%s: %s, want %s", key, got, want)
			}
		}
		if runs, _ := c.KeyState("runs"); time.Since(runs.Began) != 1001*time.Millisecond || len(runs.Causes.Newest) != 1 || runs.Causes.Newest[0].String() != "added by hand" {
			t.Errorf("it runs: %+v", runs)
		}
		if all := c.LastErrors(); len(all) != 2 || all["fails"].Result != "gave up" || all["panics"].Result != "panicked" || all["fails"].Err == nil {
			t.Errorf("last errors: %v", all)
		}
		if none, _ := c.KeyState(1); !none.Began.IsZero() {
			t.Error("a key of another type runs")
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// What Trace costs a reconcile.
func BenchmarkTrace(b *testing.B) {
	for _, kept := range []int{0, 256} {
		b.Run(fmt.Sprint("kept=", kept), func(b *testing.B) {
			c, runC := delayed[int]("")
			c.Trace(kept)
			done, left := make(chan struct{}), b.N
			ctx, cancel := context.WithCancel(b.Context())
			defer cancel()
			for key := range b.N {
				c.Queue().Add(key)
			}
			b.ReportAllocs()
			b.ResetTimer()
			go func() {
				_ = runC(ctx, func(context.Context, int) error {
					if left--; left == 0 {
						close(done)
					}
					return nil
				})
			}()
			<-done
		})
	}
}
