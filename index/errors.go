package index

import (
	"errors"
	"fmt"
)

var (
	// ErrUnknownIndex says that a store does not hold the index asked for.
	ErrUnknownIndex = errors.New("unknown index")

	// ErrExists says that a store already has an index of that name.
	ErrExists = errors.New("index name already in use")

	// ErrInvalid says that a definition is nil, or lacks a name or a function, or that
	// its type of values is not possible: see [Index].
	ErrInvalid = errors.New("invalid index definition")

	// ErrNotString says that a dynamic lookup asked by string for an index whose values
	// are not strings. Use its typed handle.
	ErrNotString = errors.New("index values are not strings")
)

// PanicError reports an index function that panicked. The object that it was called for
// is not in the store, or not in its new state.
type PanicError struct {
	// Index is the name of the index.
	Index string
	// Key is the object's key as fmt prints it; empty where no key is known.
	Key string
	// Value is what the function panicked with.
	Value any
	// Stack is the stack of the panic, as runtime/debug.Stack formats it.
	Stack []byte
}

func (e *PanicError) Error() string {
	if e.Key == "" {
		return fmt.Sprintf("index function %q panicked: %v\n%s", e.Index, e.Value, e.Stack)
	}
	return fmt.Sprintf("index function %q panicked on object %s: %v\n%s", e.Index, e.Key, e.Value, e.Stack)
}

// Unwrap returns Value when it is an error, and nil otherwise.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}
