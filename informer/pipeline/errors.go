package pipeline

import (
	"errors"
	"fmt"
	"log/slog"

	"github.com/kinform/kinform/internal/mapkey"
)

var (
	// ErrNoProcess is returned by [New] for a nil function.
	ErrNoProcess = errors.New("pipeline: process function is nil")

	// ErrNoKeyFunc is returned by [New] for a nil key function.
	ErrNoKeyFunc = errors.New("pipeline: key function is nil")

	// ErrRunning is returned by a second call of [Pipeline.Run].
	ErrRunning = errors.New("pipeline: Run was called before")

	// ErrZeroKey is the cause of a reflector.ObjectError for an object whose key is the
	// zero K: most likely it was never set.
	ErrZeroKey = errors.New("key is the zero value")

	// ErrKeyType is in the error of [New] for a type K that cannot be a key: a float, a
	// complex number, an interface, or an array or struct that holds one. Values of these
	// may not equal themselves (NaN), or not compare. The value is the same in all
	// packages that export it.
	ErrKeyType = mapkey.ErrKeyType

	errGoexit = errors.New("the call ended its goroutine") // stands for the value of a panic
)

// PanicError is a panic in the program's own code, turned into an error; or a call of
// runtime.Goexit there, as by testing.T.FailNow.
type PanicError struct {
	// Where names what panicked: "source", which Known and OnError are called from too,
	// "key function", "known" in a resync, or "OnError" after the process function failed.
	Where string
	// Resource is the collection's name.
	Resource string
	// Value is what was panicked with, Stack the stack at that point.
	Value any
	Stack []byte
}

func (e *PanicError) Error() string {
	return fmt.Sprintf("%s: %s panicked: %v\n%s", e.Resource, e.Where, e.Value, e.Stack)
}

// Unwrap returns what was panicked with if that is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// LogValue implements slog.LogValuer: a group of resource, where, stack, and error, which is
// what was panicked with.
func (e *PanicError) LogValue() slog.Value {
	return slog.GroupValue(
		slog.String("resource", e.Resource),
		slog.String("where", e.Where),
		slog.String("error", fmt.Sprint("panic: ", e.Value)),
		slog.String("stack", string(e.Stack)),
	)
}
