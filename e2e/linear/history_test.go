package linear

import (
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"go.uber.org/goleak"

	"github.com/kinform/kinform/internal/longtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// histories is how many histories a test checks.
func histories() int { return longtest.N(2000, 200_000) }

// recorder keeps what the goroutines of one history did. Its clock counts calls and returns.
type recorder struct {
	clock atomic.Int64
	mu    sync.Mutex
	ops   []porcupine.Operation
}

// do records an operation of a goroutine.
func (r *recorder) do(goroutine int, input any, op func() any) {
	call := r.clock.Add(1)
	output := op()
	back := r.clock.Add(1)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ops = append(r.ops, porcupine.Operation{ClientId: goroutine, Input: input, Call: call, Output: output, Return: back})
}

// together runs f in some goroutines that begin at the same moment, each with its own random
// numbers.
func together(seed uint64, goroutines int, f func(goroutine int, r *rand.Rand)) {
	begin := make(chan struct{})
	var wg sync.WaitGroup
	for g := range goroutines {
		wg.Go(func() {
			<-begin
			f(g, rand.New(rand.NewPCG(seed, uint64(g))))
		})
	}
	close(begin)
	wg.Wait()
}

// falter lets others run, once in a while, so that operations overlap on one processor too.
func falter() {
	if rand.IntN(2) == 0 {
		runtime.Gosched()
	}
}

// check fails the test if the history is not one of the model. A history that takes too long to
// judge proves nothing.
func check(t *testing.T, model porcupine.Model, seed uint64, r *recorder) {
	t.Helper()
	switch porcupine.CheckOperationsTimeout(model, r.ops, time.Minute) {
	case porcupine.Illegal:
		for _, op := range r.ops {
			t.Logf("%3d to %3d, goroutine %d: %s", op.Call, op.Return, op.ClientId, model.DescribeOperation(op.Input, op.Output))
		}
		t.Fatalf("seed %d: the history is not linearizable", seed)
	case porcupine.Unknown:
		t.Logf("seed %d: not judged within a minute", seed)
	}
}

// overlaps counts the operations that began before an earlier one had ended.
func overlaps(r *recorder) (n int) {
	for i, a := range r.ops {
		for _, b := range r.ops[:i] {
			if a.Call < b.Return && b.Call < a.Return {
				n++
				break
			}
		}
	}
	return n
}

// TestCheckerFinds gives the checker histories that are wrong.
func TestCheckerFinds(t *testing.T) {
	stale := []porcupine.Operation{
		{ClientId: 0, Input: write{0: 2}, Call: 1, Output: nil, Return: 2},
		{ClientId: 1, Input: get(0), Call: 3, Output: 0, Return: 4},
	}
	if porcupine.CheckOperations(storeModel, stale) {
		t.Error("a read of an old state passes")
	}
	torn := []porcupine.Operation{
		{ClientId: 0, Input: write{0: 2, 1: 2}, Call: 1, Output: nil, Return: 4},
		{ClientId: 1, Input: listAll{}, Call: 2, Output: registers{0: 2}, Return: 3},
	}
	if porcupine.CheckOperations(storeModel, torn) {
		t.Error("half a commit passes")
	}
	twice := []porcupine.Operation{
		{ClientId: 0, Input: queueOp{name: "add", key: 'a'}, Call: 1, Return: 2},
		{ClientId: 0, Input: queueOp{name: "get"}, Call: 3, Output: "a", Return: 5},
		{ClientId: 1, Input: queueOp{name: "get"}, Call: 4, Output: "a", Return: 6},
	}
	if porcupine.CheckOperations(queueModel, twice) {
		t.Error("a key that two workers have passes")
	}
}
