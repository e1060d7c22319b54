package informer

import (
	"errors"
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"testing"
)

// TestCommitter: everything that was there before a call is committed, by one goroutine at a time.
// committed has no lock, so the race detector sees whether each goroutine follows the one before.
func TestCommitter(t *testing.T) {
	var pending atomic.Int64
	var c committer
	committed := int64(0)
	c.commit = func() error {
		for n := pending.Swap(0); n > 0; n = pending.Swap(0) {
			committed += n
		}
		runtime.Gosched() // for calls at this moment
		return nil
	}
	put := int64(0)
	for range 2000 {
		for range 1 + rand.IntN(4) {
			put++
			pending.Add(1)
			c.call()
			for range rand.IntN(100) {
				runtime.Gosched()
			}
		}
		if c.running.Wait(); committed != put {
			t.Fatalf("%d of %d were committed", committed, put)
		}
	}
}

// TestCommitterEnds: nothing is committed after an error, or after a commit that does not return.
func TestCommitterEnds(t *testing.T) {
	for _, end := range []func() error{
		func() error { return errors.New("failed") },
		func() error { runtime.Goexit(); return nil },
	} {
		calls := 0
		c := committer{commit: func() error {
			if calls++; calls > 3 {
				runtime.Goexit()
			}
			return end()
		}}
		for range 3 {
			c.call()
			c.running.Wait()
		}
		if calls != 1 {
			t.Errorf("%d commits", calls)
		}
	}
}
