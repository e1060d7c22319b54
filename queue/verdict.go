package queue

import (
	"context"
	"errors"
	"time"
)

// outcome decides about a key after its call.
type outcome uint8

const (
	succeeded outcome = iota
	again             // asked for by Again
	gaveUp            // Terminal
	cutShort          // the call ended because Run's context did
	failed
)

// verdict is the meaning of a call's result.
type verdict struct {
	outcome outcome
	after   time.Duration // for again
	err     error         // to be reported; nil for none
}

// judge returns the verdict on the result of a call. errors.As and the like run the error's own methods. If one of them
// panics, as methods of nil pointers do, the call has failed.
func (p *pool[K]) judge(err error) (v verdict) {
	if err == nil {
		return verdict{}
	}
	if panicked := p.q.call("Error method", func() { v = classify(p.calls, err) }); panicked != nil {
		return verdict{outcome: failed, err: panicked}
	}
	return v
}

// classify is judge without protection from panics.
func classify(calls context.Context, err error) verdict {
	var later *AgainError
	var terminal *TerminalError
	switch {
	case errors.As(err, &later):
		if later == nil {
			return verdict{outcome: again}
		}
		return verdict{outcome: again, after: later.After}
	case errors.As(err, &terminal):
		return verdict{outcome: gaveUp, err: err}
	case calls.Err() != nil && (errors.Is(err, calls.Err()) || errors.Is(err, context.Cause(calls))):
		return verdict{outcome: cutShort}
	}
	return verdict{outcome: failed, err: err}
}
