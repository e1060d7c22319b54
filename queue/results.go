package queue

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/kinform/kinform/internal/usercode"
	"github.com/kinform/kinform/internal/verdict"
)

// Results counts the calls of the functions that [Run] was given, by the consequences for their
// keys. A call counts when it has returned.
type Results struct {
	// Succeeded counts calls that returned nil.
	Succeeded uint64
	// Again counts the results [Again] with a delay, and AgainNow those without one.
	Again, AgainNow uint64
	// GaveUp counts the results [Terminal].
	GaveUp uint64
	// Failed counts the other errors, panics and ends by runtime.Goexit. Their keys come back rate
	// limited.
	Failed uint64
	// CutShort counts the calls that returned the error of Run's context after that had ended.
	CutShort uint64

	// Panicked counts the calls in Failed that panicked.
	Panicked uint64
	// TimedOut counts the calls that took longer than [RunOptions.Timeout], whatever they returned.
	TimedOut uint64
}

// runs counts the work of all calls of Run for one queue. Any goroutine may use it.
type runs struct {
	outcomes                     [verdict.Failed + 1]atomic.Uint64
	againNow, panicked, timedOut atomic.Uint64
	workers                      atomic.Int64
}

// ran returns the counters, which the first Run makes: a queue that never runs stays small.
func (q *Queue[K]) ran() *runs {
	if q.runs.Load() == nil {
		q.runs.CompareAndSwap(nil, new(runs))
	}
	return q.runs.Load()
}

// count counts the result of a call.
func (r *runs) count(v verdict.Verdict) {
	if v.Outcome == verdict.AskedAgain && v.After <= 0 {
		r.againNow.Add(1)
	} else {
		r.outcomes[v.Outcome].Add(1)
	}
	if _, panicked := v.Err.(*usercode.PanicError); panicked && v.Outcome == verdict.Failed {
		r.panicked.Add(1)
	}
}

// timed counts a call with its own limit, whose context is ctx, if the limit ended it.
func (r *runs) timed(ctx, parent context.Context, limit time.Duration) {
	if limit > 0 && parent.Err() == nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		r.timedOut.Add(1)
	}
}

// results returns the numbers. They are zero for a queue without Run.
func (r *runs) results() Results {
	if r == nil {
		return Results{}
	}
	return Results{
		Succeeded: r.outcomes[verdict.Succeeded].Load(),
		Again:     r.outcomes[verdict.AskedAgain].Load(),
		AgainNow:  r.againNow.Load(),
		GaveUp:    r.outcomes[verdict.GaveUp].Load(),
		Failed:    r.outcomes[verdict.Failed].Load(),
		CutShort:  r.outcomes[verdict.CutShort].Load(),
		Panicked:  r.panicked.Load(),
		TimedOut:  r.timedOut.Load(),
	}
}
