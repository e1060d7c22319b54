package queue

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/kinform/kinform/internal/usercode"
)

// Outcome is the consequence for a key of the call that [Run] made.
type Outcome uint8

const (
	// Succeeded: the call returned nil. The key is done.
	Succeeded Outcome = iota
	// AskedAgain: the result is or has [Again]. The key comes back, and has not failed.
	AskedAgain
	// GaveUp: the result is or wraps [Terminal], and has no other cause. The key is not retried.
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

// Judge returns what [Run] will make of err as the result of the call with ctx, which may be
// derived from the call's context. It is for functions that wrap another one, to record what it
// returned. An error whose own methods panic is Failed. If ctx does not come from a call of Run, it
// is taken for the context of Run itself.
func Judge(ctx context.Context, err error) Outcome {
	calls, ok := ctx.Value(callsKey{}).(context.Context)
	if !ok {
		calls = ctx
	}
	return judge(calls, err, usercode.Call).outcome
}

// callsKey is the key for a value in the contexts of calls: the context from which they were
// derived. If that one has ended, calls are cut short.
type callsKey struct{}

// verdict is the meaning of a call's result.
type verdict struct {
	outcome Outcome
	after   time.Duration // for AskedAgain
	err     error         // to be reported; nil for none
}

// judge returns the verdict on the result of a call. errors.As and the like run the error's own
// methods. If one of them panics, as methods of nil pointers do, the call has failed. contain is
// usercode.Call, or a wrapper of it.
func judge(calls context.Context, err error, contain func(string, func()) error) (v verdict) {
	if err == nil {
		return verdict{}
	}
	if panicked := contain("Error method", func() { v = classify(calls, err) }); panicked != nil {
		return verdict{outcome: Failed, err: panicked}
	}
	return v
}

// classify is judge without protection from panics.
func classify(calls context.Context, err error) verdict {
	var later *AgainError
	var terminal *TerminalError
	switch {
	case errors.As(err, &later):
		v := verdict{outcome: AskedAgain}
		if later != nil {
			v.after = later.After
		}
		if !onlyAgain(err) {
			v.err = err
		}
		return v
	case errors.As(err, &terminal) && onlyTerminal(err):
		return verdict{outcome: GaveUp, err: err}
	case calls.Err() != nil && (errors.Is(err, calls.Err()) || errors.Is(err, context.Cause(calls))):
		return verdict{outcome: CutShort}
	}
	return verdict{outcome: Failed, err: err}
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
