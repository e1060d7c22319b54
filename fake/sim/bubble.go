package sim

import (
	"context"
	"errors"
	"fmt"
	"runtime/pprof"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// patience is how long a schedule may take, in real time. It takes some hundredths of a second.
const patience = time.Minute

// play plays one schedule in a bubble of its own.
func (e *explorer) play(lines []line) *outcome {
	e.played++
	var out *outcome
	e.present = start(func() error {
		synctest.Test(e.t, func(*testing.T) {
			pprof.SetGoroutineLabels(pprof.WithLabels(context.Background(), pprof.Labels("schedule", script(lines))))
			out = &outcome{}
			var p Program
			if out.broken = apart(func() (err error) { p, err = e.make(); return err }); out.broken != nil {
				return
			}
			r := newRun(p, lines)
			r.base, r.logs, out = e.base, &e.logs, &r.result
			e.logs.run.Store(r)
			r.play()
		})
		return nil
	})
	limit := time.NewTimer(e.patience)
	defer limit.Stop()
	select {
	case err := <-e.present:
		switch why, _, _ := strings.Cut(strings.TrimPrefix(fmt.Sprint(err), "panic: "), "\n"); {
		case out == nil:
			return &outcome{broken: fmt.Errorf("no bubble can begin here: %s", why)}
		case err != nil && out.broken == nil && out.finding == nil:
			out.broken = fmt.Errorf("the program leaves goroutines that never end (%s): %s", why, places(inBubble))
		}
		return out
	case <-limit.C:
		return &outcome{broken: fmt.Errorf("a schedule has not ended after %v of real time: %s", e.patience, places(restless))}
	}
}

// make makes the program, or says what it lacks.
func (e *explorer) make() (p Program, _ error) {
	if e.program == nil {
		return p, errors.New("the function that makes the Program is nil")
	}
	switch p = e.program(); {
	case p.Server == nil:
		return p, errors.New("Program.Server is nil: make one with fake.New in the function that returns the Program")
	case p.Run == nil:
		return p, errors.New("Program.Run is nil: set it to the function that runs your program")
	case p.Users == nil:
		return p, errors.New("Program.Users is nil: set it to a function that creates, changes and deletes your objects")
	case p.Replicas < 0:
		return p, fmt.Errorf("Program.Replicas is %d: want zero, which means one, or more", p.Replicas)
	case e.played == 1 && e.program().Server == p.Server: // it would be a server from outside the bubble
		return p, errors.New("Program.Server is the same one each time: make it in the function that returns the Program")
	}
	return p, nil
}
