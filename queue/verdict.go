package queue

import (
	"context"
	"errors"
	"time"

	"github.com/kinform/kinform/internal/usercode"
)

// outcome is what becomes of a key after its call.
type outcome uint8

const (
	succeeded outcome = iota
	again             // asked for by Again
	gaveUp            // Terminal
	cutShort          // the call ended because Run's context did
	failed
)

// verdict is what the result of a call means.
type verdict struct {
	outcome outcome
	after   time.Duration // for again
	err     error         // to be reported; nil: nothing is
}

// judge finds out what the result of a call means. Looking into an error runs the error's own methods: one that panics,
// as those of a nil pointer do, is a failure.
func judge(calls context.Context, err error) (v verdict) {
	if err == nil {
		return verdict{}
	}
	if panicked := usercode.Call("Error method", func() { v = classify(calls, err) }); panicked != nil {
		return verdict{outcome: failed, err: panicked}
	}
	return v
}

// classify is judge for an error, not contained.
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
