package synctrack_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"go.uber.org/goleak"

	"github.com/kinform/kinform/informer/synctrack"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func synced(t *synctrack.Tracker[int]) bool {
	select {
	case <-t.Synced():
		return true
	default:
		return false
	}
}

// A tracker has synced if the source has and nothing is started, and stays so.
func TestTrackerAgainstModel(t *testing.T) {
	for seed := range uint64(500) {
		rng := rand.New(rand.NewPCG(seed, 3))
		var tracker synctrack.Tracker[int]
		open, source, done := map[int]bool{}, false, false
		for step := range 60 {
			key := rng.IntN(4)
			switch rng.IntN(7) {
			case 0, 1:
				tracker.Start(key)
				open[key] = true
			case 2, 3, 4, 5:
				tracker.Finish(key)
				delete(open, key)
			case 6:
				tracker.SourceSynced()
				source = true
				done = done || len(open) == 0
			}
			done = done || source && len(open) == 0
			if seed%2 == 0 || step%10 == 9 { // asked at once, or late
				if got := synced(&tracker); got != done {
					t.Fatalf("seed %d step %d: synced %v, want %v", seed, step, got, done)
				}
			}
		}
	}
}

func TestTrackerWakesAllWhoWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var tracker synctrack.Tracker[int]
		var woken atomic.Int32
		for key := range 10 {
			tracker.Start(key)
			go func() {
				<-tracker.Synced()
				woken.Add(1)
			}()
		}
		tracker.SourceSynced()
		for key := range 10 {
			synctest.Wait()
			if woken.Load() != 0 {
				t.Fatalf("synced with %d keys left", 10-key)
			}
			go tracker.Finish(key)
		}
		synctest.Wait()
		if woken.Load() != 10 {
			t.Errorf("%d of 10 woken", woken.Load())
		}
	})
}

func TestLazyComputesOncePerNotify(t *testing.T) {
	calls := 0
	value := synctrack.NewLazy(func() (int, error) { calls++; return calls, nil })
	for want := 1; want < 4; want++ {
		for range 3 {
			if got, err := value.Get(); got != want || err != nil {
				t.Fatalf("Get() = %d, %v, want %d", got, err, want)
			}
		}
		value.Notify()
		value.Notify()
	}
	if calls != 3 {
		t.Errorf("computed %d times, want 3", calls)
	}
}

func TestLazyKeepsNoFailure(t *testing.T) {
	broken, calls := errors.New("broken"), 0
	value := synctrack.NewLazy(func() (int, error) {
		switch calls++; calls {
		case 1:
			return 0, broken
		case 2:
			panic(broken)
		}
		return calls, nil
	})
	if _, err := value.Get(); !errors.Is(err, broken) {
		t.Errorf("Get() = %v", err)
	}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was swallowed")
			}
		}()
		_, _ = value.Get()
	}()
	if got, err := value.Get(); got != 3 || err != nil {
		t.Errorf("Get() = %d, %v, want 3", got, err)
	}
}

// A read that begins after a change during a computation must not get the old value.
func TestLazyNotifiedWhileComputing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var state atomic.Int32
		hold := make(chan struct{})
		value := synctrack.NewLazy(func() (int32, error) {
			seen := state.Load()
			if seen == 0 {
				<-hold
			}
			return seen, nil
		})
		old := make(chan int32)
		go func() { got, _ := value.Get(); old <- got }()
		synctest.Wait()
		state.Store(1)
		value.Notify()
		if got, _ := value.Get(); got != 1 {
			t.Errorf("Get() = %d after Notify, want 1", got)
		}
		close(hold)
		if got := <-old; got != 0 {
			t.Errorf("the first Get() = %d, want 0", got)
		}
		if got, _ := value.Get(); got != 1 {
			t.Errorf("Get() = %d, want 1: the old value came back", got)
		}
	})
}

// No Get may return less than what was there when it was called.
func TestLazyConcurrently(t *testing.T) {
	var state atomic.Int64
	value := synctrack.NewLazy(func() (int64, error) { return state.Load(), nil })
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 3000 {
				least := state.Add(1)
				value.Notify()
				if got, _ := value.Get(); got < least {
					t.Errorf("Get() = %d, want at least %d", got, least)
					return
				}
			}
		})
	}
	wg.Wait()
}

func ExampleTracker() {
	var tracker synctrack.Tracker[string]
	tracker.Start("prod/web")
	tracker.Start("prod/db")
	tracker.SourceSynced()
	tracker.Finish("prod/db")
	select {
	case <-tracker.Synced():
		fmt.Println("synced")
	default:
		fmt.Println("prod/web is still to be done")
	}
	tracker.Finish("prod/web")
	<-tracker.Synced()
	fmt.Println("synced")
	// Output:
	// prod/web is still to be done
	// synced
}

func ExampleLazy() {
	nodes := 3
	summary := synctrack.NewLazy(func() (string, error) {
		fmt.Println("computing")
		return fmt.Sprint(nodes, " nodes"), nil
	})
	fmt.Println(summary.Get())
	fmt.Println(summary.Get())
	nodes++
	summary.Notify()
	fmt.Println(summary.Get())
	// Output:
	// computing
	// 3 nodes <nil>
	// 3 nodes <nil>
	// computing
	// 4 nodes <nil>
}
