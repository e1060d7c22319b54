package verdict

import (
	"fmt"
	"time"
)

// AgainError asks for the key again after a delay, without a failure: see queue.Again.
type AgainError struct {
	// After is the delay; zero and negative mean at once.
	After time.Duration
	// PutOff says that the call has served nothing: what the key was queued for is still to be done.
	PutOff bool
}

// Error implements error. All methods of these errors may be called on nil; a nil
// *AgainError is queue.Again(0).
func (e *AgainError) Error() string {
	if e == nil {
		return "queue: again"
	}
	return fmt.Sprintf("queue: again after %v", e.After)
}

// TerminalError is a failure that no retry can fix: see queue.Terminal.
type TerminalError struct {
	// Err is the cause, never nil when made by queue.Terminal.
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

// AtOnceError is the cause of the end of Run's context if RunOptions.Grace does not count: the contexts of running calls
// end, too.
type AtOnceError struct {
	// Err is the cause, never nil.
	Err error
}

// Error implements error.
func (e *AtOnceError) Error() string { return e.Err.Error() }

// Unwrap gives the cause.
func (e *AtOnceError) Unwrap() error { return e.Err }
