package informer

import (
	"sync"
	"sync/atomic"
)

// committer is a goroutine that commits what another one has put into the queue. It runs only while
// something is pending: its stack would be half of the memory of an idle informer. Any goroutine may call
// it until the session stops.
type committer struct {
	commit func() error // commits until nothing is pending; set once

	state   atomic.Uint32 // one of the constants below
	running sync.WaitGroup
}

// States of a committer. After an error, or if commit does not return, it never rests again.
const (
	resting   uint32 = iota // the goroutine has ended, or is about to
	looking                 // for something pending
	lookAgain               // while it was looking, so it looks again before it rests
)

// call makes the committer commit what is pending.
func (c *committer) call() {
	if c.state.Swap(lookAgain) == resting {
		c.running.Go(func() {
			makeRoom(0)
			c.run()
		})
	}
}

// makeRoom grows the goroutine's stack to the 8 KB that a commit needs while there is little to
// copy. Otherwise it would grow twice, with the frames of half a commit. So bursts are up to 1.05
// times as fast (docs/performance/informer.md).
//
//go:noinline
func makeRoom(n int) byte {
	var room [4 << 10]byte
	room[n]++
	return room[len(room)-1-n]
}

func (c *committer) run() {
	for {
		c.state.Store(looking)
		if c.commit() != nil || c.state.CompareAndSwap(looking, resting) {
			return
		}
	}
}
