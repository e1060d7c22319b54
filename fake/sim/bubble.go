package sim

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// patience is how long a schedule may take, in real time. It takes some hundredths of a second.
const patience = 20 * time.Second

// play plays one schedule in a bubble of its own.
func (e *explorer) play(lines []line, base *outcome) *outcome {
	e.played++
	done := make(chan *outcome, 1)
	e.present = done
	go func() {
		var out *outcome
		defer func() {
			if p := recover(); p != nil && out != nil && out.broken == nil && out.finding == nil {
				out.broken = fmt.Errorf("the program leaves goroutines that never end (%v): %s", p, left())
			}
			done <- out
		}()
		synctest.Test(e.t, func(*testing.T) {
			r := newRun(e.program(), lines)
			r.base, out = base, &r.result
			r.play()
			for _, loop := range e.logs.take() {
				r.find("loop", "%s", loop)
			}
		})
	}()
	limit := time.NewTimer(e.patience)
	defer limit.Stop()
	select {
	case out := <-done:
		return out
	case <-limit.C:
		return &outcome{broken: fmt.Errorf("a schedule has not ended after %v of real time: %s", e.patience, restless())}
	}
}
