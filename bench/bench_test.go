package bench

import (
	"io"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"k8s.io/klog/v2"

	"github.com/kinform/kinform/bench/internal/measure"
	"github.com/kinform/kinform/bench/internal/ops"
)

func TestMain(m *testing.M) {
	if ops.ServeOthers() {
		return
	}
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard) // client-go logs what takes long
	goleak.VerifyTestMain(m)
}

// world is shared by all benchmarks, and made when the first of them needs it. With -short, it has a
// tenth of the objects: enough to see that the benchmarks work.
var world = sync.OnceValue(func() *ops.World {
	objects := 100_000
	if testing.Short() {
		objects /= 10
	}
	return ops.NewWorld(objects, 100*time.Millisecond)
})

// BenchmarkOps does every operation on both sides: get/impl=kinform and so on. Those that
// measure themselves report what they found beside the time that they took.
func BenchmarkOps(b *testing.B) {
	for _, op := range ops.All(world()) {
		b.Run(op.Name, func(b *testing.B) { benchmark(b, op) })
	}
}

// BenchmarkGrowth does so with stores of small objects.
func BenchmarkGrowth(b *testing.B) {
	for _, n := range []int{1000, 10_000, 100_000} {
		if n == 100_000 && testing.Short() {
			continue
		}
		for _, op := range ops.Growing(n) {
			b.Run(op.Name, func(b *testing.B) { benchmark(b, op) })
		}
	}
}

func benchmark(b *testing.B, op measure.Op) {
	if op.Missing != "" {
		b.Skip(op.Missing)
	}
	sides, err := op.Setup()
	if err != nil {
		b.Fatal(err)
	}
	defer sides.Close()
	for _, side := range []struct {
		impl string
		measure.Side
	}{{"impl=kinform", sides.Kinform}, {"impl=client-go", sides.ClientGo}} {
		b.Run(side.impl, func(b *testing.B) {
			b.ReportAllocs()
			if err := side.Run(b, b.N); err != nil {
				b.Fatal(err)
			}
		})
	}
}
