package sim

import (
	"runtime"
	"sync"
	"time"
)

// user runs Program.Users, which waits here between its steps.
type user struct {
	gate *gate

	mu      sync.Mutex
	turn    chan bool // not nil while it waits; false ends it
	dueAt   time.Time // zero: when the program rests
	since   time.Time // when it began to wait
	begun   bool
	done    bool
	aborted bool
	failed  error
}

// wait waits for d, or until the program rests if d is zero.
func (u *user) wait(d time.Duration) {
	u.mu.Lock()
	if u.aborted {
		u.mu.Unlock()
		runtime.Goexit()
	}
	if !u.begun || u.done || u.turn != nil {
		u.mu.Unlock()
		panic("sim: World.Settle and World.Wait are for the goroutine of Program.Users alone")
	}
	turn := make(chan bool, 1)
	u.turn, u.dueAt, u.since = turn, time.Time{}, time.Now()
	if d > 0 {
		u.dueAt = time.Now().Add(d)
	}
	u.mu.Unlock()
	u.gate.notify()
	if goOn := <-turn; !goOn {
		runtime.Goexit()
	}
}

func (u *user) run(steps func() error) {
	err := errQuit
	u.mu.Lock()
	u.begun = true
	u.mu.Unlock()
	defer func() {
		u.mu.Lock()
		u.done, u.failed = true, err
		u.mu.Unlock()
		u.gate.notify()
	}()
	err = guarded(steps)
}

// waits reports whether users wait for their next step.
func (u *user) waits() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.turn != nil
}

// due reports whether the next step of users is due.
func (u *user) due(rests func() bool) bool {
	u.mu.Lock()
	waits, at := u.turn != nil, u.dueAt
	u.mu.Unlock()
	switch {
	case !waits:
		return false
	case at.IsZero():
		return rests()
	}
	return !time.Now().Before(at)
}

// waitsInVain reports whether users have waited too long for the program to rest.
func (u *user) waitsInVain() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.turn != nil && u.dueAt.IsZero() && time.Since(u.since) > unrest
}

// until returns when users go on if they wait for a time.
func (u *user) until() time.Time {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.turn == nil {
		return time.Time{}
	}
	return u.dueAt
}

func (u *user) release() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.turn <- true
	u.turn = nil
}

// abort ends Users at its next wait.
func (u *user) abort() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.aborted = true
	if u.turn != nil {
		u.turn <- false
		u.turn = nil
	}
}

func (u *user) ended() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.done
}

func (u *user) err() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.failed
}
