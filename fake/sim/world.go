package sim

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/kinform/kinform/fake"
)

// World is the program's surroundings in one schedule.
type World struct {
	// Server is the server of the Program.
	Server *fake.Server

	gate *gate
	life *life       // of Users; process 0
	busy atomic.Bool // Users does a step
}

// Settle waits until the program rests: it has changed nothing for a minute of virtual time. A schedule may let it
// return sooner, so that the users' next write comes between two steps of the program. It does not wait for the end of
// the faults hold and blind, so that users write what no watch shows yet. It is for Program.Users alone.
func (w *World) Settle() { w.wait(&op{settles: true}) }

// Wait waits for d of virtual time. A schedule may let it return sooner, so what depends on the time itself must ask the
// clock. All of Users may take 48 hours. It is for Program.Users alone. It panics if d is not more than zero.
func (w *World) Wait(d time.Duration) {
	if d <= 0 {
		panic(fmt.Sprintf("sim: World.Wait of %v: want more than zero, or World.Settle until the program rests", d))
	}
	w.wait(&op{until: time.Now().Add(d)})
}

// wait waits at the gate like the requests of processes. It does not return if the run is over.
func (w *World) wait(o *op) {
	if w.life.dead.Load() {
		runtime.Goexit()
	}
	if !w.busy.CompareAndSwap(true, false) {
		panic("sim: World.Settle and World.Wait are for the goroutine of Program.Users alone")
	}
	o.life, o.at.call = w.life, step
	if w.gate.pass(o) != nil {
		runtime.Goexit()
	}
	w.busy.Store(true)
}
