package queue

import (
	"errors"
	"time"

	"github.com/kinform/kinform/internal/mistake"
	"github.com/kinform/kinform/internal/verdict"
)

// ErrShutDown is returned by [Queue.Get] and [Queue.GetBatch] once the queue was shut down and
// holds no queued key.
var ErrShutDown = errors.New("queue: shut down")

// ErrInvalid is matched by the errors of mistakes in the program: [Run] got no queue, or no function
// to call. The text says which. It is the value of package controller.
var ErrInvalid = mistake.Err

// The mistakes, which match ErrInvalid.
var errNoQueue error = mistake.Text("queue: Run needs a queue")

// Again returns an error with which a function called by [Run] asks for its key again after d. It
// is not a failure: the key's failure count is cleared and nothing is reported. A d of zero or less
// means at once, after all queued keys. If the result also has another cause, as one of errors.Join
// may, that is reported, and the key comes back after d.
func Again(d time.Duration) error { return &verdict.AgainError{After: d} }

// Terminal returns an error with which a function called by [Run] says that its key must not be
// retried. The failure is reported, the key's failure count is cleared, and the key comes back only
// if it is added again. Joined with another error (errors.Join), it ends no retries: that error
// may need them. Terminal(nil) is nil.
func Terminal(err error) error {
	if err == nil {
		return nil
	}
	return &verdict.TerminalError{Err: err}
}
