//go:build e2e

package recovery_test

import (
	"context"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"k8s.io/klog/v2"

	"github.com/kinform/kinform/e2e/cluster"
	"github.com/kinform/kinform/e2e/recovery"
)

func TestMain(m *testing.M) {
	klog.LogToStderr(false) // client-go logs each failure
	klog.SetOutput(io.Discard)
	goleak.VerifyTestMain(m)
}

// TestRecovery is the short form of the table. It checks that Kinform is right within
// Options.Limit, and that its caches then equal the server's lists. The command prints the times.
// Here they depend on the load of the machine.
func TestRecovery(t *testing.T) {
	c := cluster.Start(t, cluster.Options{})
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Minute)
	defer cancel()
	opts := recovery.Short()
	opts.Progress = os.Stderr
	results, err := recovery.Run(ctx, c, opts)
	if err != nil {
		t.Error(err)
	}
	var b strings.Builder
	if err := recovery.Write(&b, results); err != nil {
		t.Fatal(err)
	}
	t.Logf("\n%s", &b)
}

func TestMedian(t *testing.T) {
	for want, values := range map[int][]int{0: nil, 3: {3}, 1: {2, 1}, 5: {9, 5, 1}} {
		if got := recovery.Median(values); got != want {
			t.Errorf("Median(%v) = %d", values, got)
		}
	}
}

func TestWrite(t *testing.T) {
	var b strings.Builder
	err := recovery.Write(&b, []recovery.Result{
		{Event: "cut", Library: "Kinform", Times: []time.Duration{time.Second, 3 * time.Second, 2 * time.Second}},
		{Event: "cut", Library: "client-go", Times: []time.Duration{500 * time.Millisecond}},
		{Event: "away", Library: "Kinform", Times: []time.Duration{time.Second}, Requests: []float64{1.5}, Connections: []float64{1}},
		{Event: "away", Library: "client-go"},
		{Event: "410", Library: "Kinform", Times: []time.Duration{2 * time.Second}, Decoding: []time.Duration{1900 * time.Millisecond}, Undecoded: []time.Duration{time.Second}},
		{Event: "410", Library: "client-go", Times: []time.Duration{3 * time.Second}},
	})
	const want = `| event | rounds | Kinform | client-go |
| --- | ---: | ---: | ---: |
| cut | 3 | 2.00 s (1.00 s–3.00 s) | 0.50 s |
| away | 1 | 1.00 s; 1.5 requests/s, 1.0 connections/s | – |
| 410 | 1 | 2.00 s; decoding 1.90 s; the list undecoded 1.00 s | 3.00 s |
`
	if err != nil || b.String() != want {
		t.Errorf("%v\n%s", err, b.String())
	}
}
