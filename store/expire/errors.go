package expire

import (
	"errors"
	"fmt"
	"log/slog"
)

// errGoexit stands for the value of a panic where there was none.
var errGoexit = errors.New("the call ended its goroutine")

// PanicError is a panic of Options.OnExpired, or a call of runtime.Goexit there, turned into
// an error.
type PanicError struct {
	// Key is that of the object that had expired, as package fmt prints it.
	Key string
	// Value is what was panicked with, Stack the stack at that point.
	Value any
	Stack []byte
}

func (e *PanicError) Error() string {
	return fmt.Sprintf("OnExpired panicked on key %q: %v\n%s", e.Key, e.Value, e.Stack)
}

// Unwrap returns what was panicked with if that is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// LogValue implements slog.LogValuer: a group of key, error, and stack.
func (e *PanicError) LogValue() slog.Value {
	return slog.GroupValue(
		slog.String("key", e.Key),
		slog.String("error", fmt.Sprint("panic: ", e.Value)),
		slog.String("stack", string(e.Stack)),
	)
}
