package store

import (
	"errors"
	"fmt"

	"github.com/kinform/kinform/internal/mapkey"
)

var (
	// ErrClosed is returned by writes, and by waits, after [Store.Close].
	ErrClosed = errors.New("store is closed")

	// ErrNoKeyFunc is returned by [New] when the key function is nil.
	ErrNoKeyFunc = errors.New("store needs a key function")

	// ErrZeroKey is in a *KeyError: the key is the zero K.
	ErrZeroKey = errors.New("zero key")

	// ErrKeyMismatch is in a *KeyError: the key function gives the object another key
	// than the operation names.
	ErrKeyMismatch = errors.New("object has another key")

	// ErrKeyType is in the error of [New] for a type K that cannot be a key: a float, a
	// complex number, an interface, or an array or struct that holds one. Values of these
	// may not equal themselves (NaN), or not compare. The value is the same in all
	// packages that export it.
	ErrKeyType = mapkey.ErrKeyType

	// ErrNilObject is returned by [ObjectKey] for a nil object.
	ErrNilObject = errors.New("nil object")

	// ErrNoName is returned by [ObjectKey] for an object without metadata.name.
	ErrNoName = errors.New("object has no name")

	// ErrRewound is returned by a wait for a resourceVersion that the store has not come to
	// when its server goes back in time: the version may never come, or stand for another
	// change. See [Store.Rewind].
	ErrRewound = errors.New("the server went back in time: it was restored from a backup")

	// ErrResourceVersion is returned by a wait for a resourceVersion that cannot be
	// compared with others.
	ErrResourceVersion = errors.New("resourceVersion cannot be compared")
)

// KeyError reports an object whose key cannot be used.
type KeyError struct {
	// Key is the key as fmt prints it; empty when the key function gave none.
	Key string
	// Err is the cause: ErrZeroKey, ErrKeyMismatch, what the key function
	// returned, or a *PanicError.
	Err error
}

func (e *KeyError) Error() string {
	if e.Key == "" {
		return fmt.Sprintf("key of object: %v", e.Err)
	}
	return fmt.Sprintf("key %s: %v", e.Key, e.Err)
}

// Unwrap returns the cause.
func (e *KeyError) Unwrap() error { return e.Err }

// PanicError reports a panic in the key function, then inside a *KeyError, or in
// Options.Unchanged. Index functions have index.PanicError.
type PanicError struct {
	// Func is "key function" or "Options.Unchanged".
	Func string
	// Key is the object's key as fmt prints it; empty where no key is known.
	Key string
	// Value is what the function panicked with.
	Value any
	// Stack is the stack of the panic, as runtime/debug.Stack formats it.
	Stack []byte
}

func (e *PanicError) Error() string {
	if e.Key == "" {
		return fmt.Sprintf("%s panicked: %v\n%s", e.Func, e.Value, e.Stack)
	}
	return fmt.Sprintf("%s panicked on object %s: %v\n%s", e.Func, e.Key, e.Value, e.Stack)
}

// Unwrap returns Value when it is an error, and nil otherwise.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}
