package store

import (
	"errors"
	"fmt"

	"github.com/kinform/kinform/internal/mistake"
)

var (
	// ErrClosed is returned by writes, and by waits, after [Store.Close].
	ErrClosed = errors.New("store is closed")

	// ErrInvalid is matched by the errors of mistakes in the program: a nil key function, a type K that cannot be a key, a
	// key function that returns the zero K or another key than the operation names, a nil object, a text that is no key.
	// The text says what to change. It is the value of package controller.
	ErrInvalid = mistake.Err

	// ErrRewound is returned by a wait for a resourceVersion that the store has not reached
	// when its server goes back in time: the version may never come, or may belong to another
	// change. See [Store.Rewind].
	ErrRewound = errors.New("the store will not reach this resourceVersion: the server was restored from a backup")

	// ErrResourceVersion is returned by a wait for a resourceVersion that cannot be compared with
	// others (package k8s.io/apimachinery/pkg/util/resourceversion). RecordWrite and RecordGone of
	// an informer return it too.
	ErrResourceVersion = errors.New("resourceVersion cannot be compared")
)

// The mistakes, which match ErrInvalid.
var (
	errNoKeyFunc   error = mistake.Text("store needs a key function")
	errKeyMismatch error = mistake.Text("object has another key")
	errKeyText     error = mistake.Text("no key of the form namespace/name")
)

// KeyError reports an object whose key cannot be used.
type KeyError struct {
	// Key is the key as fmt prints it; empty when the key function gave none.
	Key string
	// Err is the cause: the error of the key function, an *informer.PanicError if that has panicked, or an error that
	// matches ErrInvalid: the key is the zero K, or another one than the operation names.
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
