package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"
)

// Variable is the environment variable that has to be "1" for the tests against real servers.
const Variable = "KINFORM_E2E"

// logLines is the number of lines of each server's log that a failed test shows.
const logLines = 40

// Start returns a running cluster that ends with the test. It skips the test unless the variable
// KINFORM_E2E is 1, and fails it if the servers cannot be built or started before the test's
// deadline. If the test fails, by whatever cause, the tails of both servers' logs are added to its
// output, and if a server ended by itself, the test fails.
func Start(tb testing.TB, opts Options) *Cluster {
	tb.Helper()
	if os.Getenv(Variable) != "1" {
		tb.Skipf("needs a real API server: set %s=1 to build one and run it (go test -tags e2e -timeout 30m)", Variable)
	}
	if opts.Progress == nil {
		// Not tb.Output: a cold build takes minutes, and a test's own output appears when it ends.
		opts.Progress = os.Stderr
	}
	ctx, cancel := beforeDeadline(tb)
	defer cancel()
	begin := time.Now()
	c, err := New(ctx, opts)
	if err != nil {
		tb.Fatalf("cluster: %v", err)
	}
	tb.Logf("cluster: %s started in %v", c.URL(), time.Since(begin).Round(time.Millisecond))
	tb.Cleanup(func() { end(tb, c) })
	return c
}

func end(tb testing.TB, c *Cluster) {
	tb.Helper()
	failed := tb.Failed()
	if failed {
		for _, p := range []*Process{c.Etcd, c.APIServer} {
			tb.Logf("cluster: last lines of %s:\n%s", p.name, p.LogTail(logLines))
		}
	}
	// A crash is reported with its log, which the lines above have shown if the test failed before.
	if err := c.Close(); err != nil && !(failed && errors.Is(err, ErrExited)) {
		tb.Errorf("cluster: %v", err)
	}
}

// beforeDeadline returns a context that ends with the test, and somewhat before the test binary is
// aborted, so that the reason is reported and compiled packages stay cached.
func beforeDeadline(tb testing.TB) (context.Context, context.CancelFunc) {
	d, ok := tb.(interface{ Deadline() (time.Time, bool) })
	if !ok {
		return tb.Context(), func() {}
	}
	deadline, ok := d.Deadline()
	if !ok {
		return tb.Context(), func() {}
	}
	cause := fmt.Errorf("the test's time is nearly over; run go test with a longer -timeout: %w", context.DeadlineExceeded)
	return context.WithDeadlineCause(tb.Context(), deadline.Add(-20*time.Second), cause)
}
