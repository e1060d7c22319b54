package queue

import (
	"errors"
	"fmt"
	"time"

	"github.com/kinform/kinform/internal/mistake"
)

// ErrShutDown is returned by [Queue.Get] and [Queue.GetBatch] once the queue was shut down and
// holds no queued key.
var ErrShutDown = errors.New("queue: shut down")

// ErrInvalid is matched by the errors of mistakes in the program: [Run] got no queue, or no function
// to call. The text says which. It is the value of package controller.
var ErrInvalid = mistake.Err

// The mistakes, which match ErrInvalid.
var errNoQueue error = mistake.Text("queue: Run needs a queue")

// AgainError asks for the key again after a delay, without a failure: see [Again].
type AgainError struct {
	// After is the delay; zero and negative mean at once.
	After time.Duration
}

// Error implements error. All methods of this package's errors may be called on nil; a nil
// *AgainError is Again(0).
func (e *AgainError) Error() string {
	if e == nil {
		return "queue: again"
	}
	return fmt.Sprintf("queue: again after %v", e.After)
}

// Again returns an error with which a function called by [Run] asks for its key again after d. It
// is not a failure: the key's failure count is cleared and nothing is reported. A d of zero or less
// means at once, after all queued keys. If the result also has another cause, as one of errors.Join
// may, that is reported, and the key comes back after d.
func Again(d time.Duration) error { return &AgainError{After: d} }

// TerminalError is a failure that no retry can fix: see [Terminal].
type TerminalError struct {
	// Err is the cause, never nil when made by [Terminal].
	Err error
}

// Error implements error.
func (e *TerminalError) Error() string { return fmt.Sprintf("terminal: %v", e.Unwrap()) }

// Unwrap gives the cause.
func (e *TerminalError) Unwrap() error {
	if e == nil {
		return nil
	}
	return e.Err
}

// Terminal returns an error with which a function called by [Run] says that its key must not be
// retried. The failure is reported, the key's failure count is cleared, and the key comes back only
// if it is added again. Joined with another error (errors.Join), it ends no retries: that error
// may need them. Terminal(nil) is nil.
func Terminal(err error) error {
	if err == nil {
		return nil
	}
	return &TerminalError{Err: err}
}
