package store

import (
	"errors"
	"fmt"

	"github.com/kinform/kinform/internal/mapkey"
	"github.com/kinform/kinform/internal/usercode"
)

var (
	// ErrClosed is returned by writes, and by waits, after [Store.Close].
	ErrClosed = errors.New("store is closed")

	// ErrNoKeyFunc is returned by [New] when the key function is nil.
	ErrNoKeyFunc = errors.New("store needs a key function")

	// ErrZeroKey is wrapped in a *KeyError: the key is the zero K. The value is the same in all
	// packages that export it.
	ErrZeroKey = usercode.ErrZeroKey

	// ErrKeyMismatch is wrapped in a *KeyError: the key function returns another key for the
	// object than the operation names.
	ErrKeyMismatch = errors.New("object has another key")

	// ErrKeyType is in the error of [New] for a type K that cannot be a key: a float, a
	// complex number, an interface, or an array or struct that holds one. Values of these
	// may not equal themselves (NaN), or not compare. The value is the same in all
	// packages that export it.
	ErrKeyType = mapkey.ErrKeyType

	// ErrNoObject is returned by [ObjectKey] for a nil object.
	ErrNoObject = errors.New("the object is nil")

	// ErrNoName is returned by [ObjectKey] for an object without metadata.name. The value is the
	// same in all packages that export it.
	ErrNoName = usercode.ErrNoName

	// ErrKeyText is in the error of [ParseKey] for a text that is no key.
	ErrKeyText = errors.New("no key of the form namespace/name")

	// ErrRewound is returned by a wait for a resourceVersion that the store has not reached
	// when its server goes back in time: the version may never come, or may belong to another
	// change. See [Store.Rewind].
	ErrRewound = errors.New("the store will not reach this resourceVersion: the server was restored from a backup")

	// ErrResourceVersion is returned by a wait for a resourceVersion that cannot be compared with
	// others (package k8s.io/apimachinery/pkg/util/resourceversion). RecordWrite and RecordGone of
	// an informer return it too.
	ErrResourceVersion = errors.New("resourceVersion cannot be compared")
)

// KeyError reports an object whose key cannot be used.
type KeyError struct {
	// Key is the key as fmt prints it; empty when the key function gave none.
	Key string
	// Err is the cause: ErrZeroKey, ErrKeyMismatch, the error of the key function, or a
	// *PanicError.
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

// PanicError is a panic in a function of the user, which Where names: "key function", "index
// function" or "Options.Unchanged". The panic of a key function is inside a *KeyError. For an index
// function, Name is the index. Key is the object's key as package fmt prints it if it is known,
// Value was given to panic, Stack is the stack at that point. It is the same type as
// informer.PanicError.
type PanicError = usercode.PanicError
