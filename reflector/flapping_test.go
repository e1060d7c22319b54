package reflector

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"
)

// TestBrokenLists: reflectors whose lists break off in mid-body ask for one list a second together, whether or
// not the watches of others succeed for a while. Once the line is well, all are right soon.
func TestBrokenLists(t *testing.T) {
	for _, size := range []int{1, 10, 100} {
		for _, watchers := range []int{0, 3} {
			t.Run(fmt.Sprintf("%d/watchers=%d", size, watchers), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { breakLists(t, size, watchers) })
			})
		}
	}
}

func breakLists(t *testing.T, size, watchers int) {
	f := newFleet(t, true, watchers, 1)
	defer f.stop()
	time.Sleep(time.Minute)
	f.breakAfter(handshakeSize + 10*headerSize)
	f.size = 10 * headerSize
	for n := range size {
		f.join(rand.NewPCG(2, uint64(n)))
	}
	lists := func() (all uint64) {
		for _, r := range f.reflectors[watchers:] {
			all += r.Stats().Failures
		}
		return all
	}
	time.Sleep(time.Minute)
	before := lists()
	time.Sleep(time.Minute)
	broken := lists() - before
	f.breakAfter(0)
	took := f.right(f.write())
	t.Logf("%d broken lists in a minute; right after %v", broken, took)
	if broken > 65+uint64(size) { // all go at once after a long outage
		t.Errorf("%d broken lists in a minute", broken)
	}
	if took > 3*retryEvery {
		t.Errorf("right after %v", took)
	}
}
