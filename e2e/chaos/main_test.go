//go:build e2e

package chaos_test

import (
	"flag"
	"io"
	"testing"
	"time"

	"go.uber.org/goleak"
	"k8s.io/klog/v2"
)

var (
	chaosTime   = flag.Duration("chaos.time", 40*time.Second, "`time` in which TestChaos begins new rounds")
	chaosOutage = flag.Duration("chaos.outage", 3*time.Second, "longest `time` of a fault")
	chaosPause  = flag.Duration("chaos.pause", time.Second, "longest `time` of quiet between two rounds")
	chaosLimit  = flag.Duration("chaos.limit", 3*time.Minute, "`time` in which the caches have to be right again")
	chaosSeed   = flag.Uint64("chaos.seed", 0, "`seed` of the faults; 0 means another one each time")
	chaosFaults = flag.String("chaos.faults", "", "have only faults that match this `regexp`")
)

func TestMain(m *testing.M) {
	klog.LogToStderr(false) // client-go logs each failure
	klog.SetOutput(io.Discard)
	goleak.VerifyTestMain(m)
}
