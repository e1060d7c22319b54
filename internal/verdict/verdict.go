// Package verdict has what the result of a call means for its key: queue.Run and those who record results agree by it.
package verdict

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/kinform/kinform/internal/usercode"
)

// Outcome is the consequence for a key of the call that queue.Run made.
type Outcome uint8

const (
	// Succeeded: the call returned nil. The key is done.
	Succeeded Outcome = iota
	// AskedAgain: the result is or has queue.Again. The key comes back, and has not failed.
	AskedAgain
	// GaveUp: the result is or wraps queue.Terminal, and has no other cause. The key is not retried.
	GaveUp
	// CutShort: the call returned the error of Run's context after that had ended. The key comes
	// back, and has not failed.
	CutShort
	// Failed: any other error, a panic or runtime.Goexit. The key comes back rate limited.
	Failed
)

// String returns the outcome in words, such as "gave up".
func (o Outcome) String() string {
	words := [...]string{"succeeded", "again", "gave up", "cut short", "failed"}
	if int(o) < len(words) {
		return words[o]
	}
	return "outcome " + strconv.Itoa(int(o))
}

// Judge returns what queue.Run will make of err as the result of the call with ctx, which may be
// derived from the call's context. It is for functions that wrap another one, to record what it
// returned. An error whose own methods panic is Failed. If ctx does not come from a call of Run, it
// is taken for the context of Run itself.
func Judge(ctx context.Context, err error) Outcome {
	calls, ok := ctx.Value(callsKey{}).(context.Context)
	if !ok {
		calls = ctx
	}
	return Of(calls, err, usercode.Call).Outcome
}

// callsKey is the key for a value in the contexts of calls: the context from which they were
// derived. If that one has ended, calls are cut short.
type callsKey struct{}

// WithCalls returns the context from which a Run derives those of its calls.
func WithCalls(ctx context.Context) context.Context { return context.WithValue(ctx, callsKey{}, ctx) }

// Verdict is the meaning of a call's result.
type Verdict struct {
	Outcome Outcome
	After   time.Duration // for AskedAgain
	PutOff  bool          // for AskedAgain: AgainError.PutOff
	Err     error         // to be reported; nil for none
}

// Served reports whether the call has done what the key was queued for, or will not.
func (v *Verdict) Served() bool {
	return v.Outcome != CutShort && v.Outcome != Failed && !v.PutOff
}

// Of returns the verdict on the result of a call. errors.As and the like run the error's own
// methods. If one of them panics, as methods of nil pointers do, the call has failed. contain is
// usercode.Call, or a wrapper of it.
func Of(calls context.Context, err error, contain func(string, func()) error) Verdict {
	if err == nil {
		return Verdict{}
	}
	var v Verdict // allocated, because a function sets it
	if panicked := contain("Error method", func() { v = classify(calls, err) }); panicked != nil {
		return Verdict{Outcome: Failed, Err: panicked}
	}
	return v
}

// classify is Of without protection from panics.
func classify(calls context.Context, err error) Verdict {
	var later *AgainError
	var terminal *TerminalError
	switch {
	case errors.As(err, &later):
		v := Verdict{Outcome: AskedAgain}
		if later != nil {
			v.After, v.PutOff = later.After, later.PutOff
		}
		if !onlyAgain(err) {
			v.Err = err
		}
		return v
	case errors.As(err, &terminal) && onlyTerminal(err):
		return Verdict{Outcome: GaveUp, Err: err}
	case calls.Err() != nil && (errors.Is(err, calls.Err()) || errors.Is(err, context.Cause(calls))):
		return Verdict{Outcome: CutShort}
	}
	return Verdict{Outcome: Failed, Err: err}
}

// onlyTerminal reports whether err has no cause that a retry could help against. One made by errors.Join may have:
// reconcile gives up, and could not write why.
func onlyTerminal(err error) bool {
	switch e := err.(type) {
	case *TerminalError:
		return true
	case interface{ Unwrap() error }:
		return onlyTerminal(e.Unwrap())
	case interface{ Unwrap() []error }:
		return !slices.ContainsFunc(e.Unwrap(), func(one error) bool { return !onlyTerminal(one) })
	}
	return false
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
