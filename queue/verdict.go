package queue

import (
	"context"
	"errors"
	"slices"
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
		v := verdict{outcome: again}
		if later != nil {
			v.after = later.After
		}
		if !onlyAgain(err) {
			v.err = err
		}
		return v
	case errors.As(err, &terminal):
		return verdict{outcome: gaveUp, err: err}
	case calls.Err() != nil && (errors.Is(err, calls.Err()) || errors.Is(err, context.Cause(calls))):
		return verdict{outcome: cutShort}
	}
	return verdict{outcome: failed, err: err}
}

// onlyAgain reports whether err has no other cause than Again, as one made by errors.Join may have.
func onlyAgain(err error) bool {
	switch e := err.(type) {
	case *AgainError:
		return true
	case interface{ Unwrap() error }:
		return onlyAgain(e.Unwrap())
	case interface{ Unwrap() []error }:
		return !slices.ContainsFunc(e.Unwrap(), func(one error) bool { return !onlyAgain(one) })
	}
	return false
}
