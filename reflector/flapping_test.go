package reflector

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// TestBrokenLists: reflectors whose lists break off in mid-body ask for one list a second together
// at most, and each of them for a few in a minute, whether or not the watches of others succeed for
// a while. Once the line is well, the first complete list lets the others go.
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
	if broken > min(65, 6*uint64(size))+uint64(size) { // all go at once after a long outage
		t.Errorf("%d broken lists in a minute", broken)
	}
	limit := 3 * turnEvery
	if size < 100 {
		limit = time.Minute // the longest wait
	}
	if took > limit {
		t.Errorf("right after %v", took)
	}
}

// TestMidBody: ten reflectors, some with much to read, and a connection that breaks after some
// bytes, are right soon after the last break, and send no more than a watch a second each.
func TestMidBody(t *testing.T) {
	for _, bytes := range []int{5_000, 15_000, 30_000, 50_000, 100_000} {
		t.Run(fmt.Sprint(bytes), func(t *testing.T) {
			var rights []time.Duration
			requests := 0.0
			const seeds = 40
			for seed := range uint64(seeds) {
				synctest.Test(t, func(t *testing.T) {
					right, perSecond := breakInMidBody(t, bytes, seed)
					rights, requests = append(rights, right), requests+perSecond/seeds
				})
			}
			slices.Sort(rights)
			t.Logf("%.1f requests a second; right after %v, at last after %v", requests, rights[seeds/2], rights[seeds-1])
			if requests > 20 { // with the questions whether the server was restored
				t.Errorf("%.1f requests a second by ten", requests)
			}
			// Over many runs, medians are 0.14 to 0.65 s. The last may take 2 s, as after any
			// outage.
			if rights[seeds/2] > 800*time.Millisecond || rights[seeds-1] > 2*time.Second {
				t.Errorf("right after %v, at last after %v", rights[seeds/2], rights[seeds-1])
			}
		})
	}
}

func breakInMidBody(t *testing.T, bytes int, seed uint64) (right time.Duration, perSecond float64) {
	f := newFleet(t, true, 0, seed)
	defer f.stop()
	for n := range uint64(10) {
		f.size = headerSize << (n % 6)
		f.join(rand.NewPCG(seed, n))
	}
	random := rand.New(rand.NewPCG(seed, 77))
	time.Sleep(time.Minute)
	f.right("1")
	began, before := time.Now(), f.count()
	f.breakAfter(bytes)
	for end := began.Add(10*time.Second + time.Duration(random.Int64N(int64(5*time.Second)))); time.Now().Before(end); {
		f.write()
		time.Sleep(time.Duration(random.Int64N(int64(200 * time.Millisecond))))
	}
	perSecond = float64(f.count()-before) / time.Since(began).Seconds()
	f.breakAfter(0)
	return f.right(f.write()), perSecond
}
