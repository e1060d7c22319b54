package informer

import (
	"errors"
	"fmt"
)

var (
	// ErrNilHandler is returned by AddHandler for a handler that has nothing to call.
	ErrNilHandler = errors.New("informer: handler is nil")

	// ErrNoKeyFunc is returned by New for a nil key function.
	ErrNoKeyFunc = errors.New("informer: key function is nil")

	// ErrRunning is returned by a second call of Run.
	ErrRunning = errors.New("informer: Run was called before")

	// ErrStopped is returned by what makes no sense after Run has returned.
	ErrStopped = errors.New("informer: stopped")
)

// PanicError is a panic in the user's code, turned into an error; or a call of
// runtime.Goexit there, as by testing.T.FailNow.
type PanicError struct {
	// Where names what panicked, such as "handler".
	Where string
	// Resource is the collection's name, Key the object's; empty where it is not known.
	Resource, Key string
	// Value is what was panicked with, Stack the stack at that point.
	Value any
	Stack []byte
}

func (e *PanicError) Error() string {
	return fmt.Sprintf("%s: %s panicked on object %q: %v\n%s", e.Resource, e.Where, e.Key, e.Value, e.Stack)
}

// Unwrap returns what was panicked with if that is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}
