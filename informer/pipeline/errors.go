package pipeline

import (
	"errors"

	"github.com/kinform/kinform/internal/mapkey"
	"github.com/kinform/kinform/internal/usercode"
)

var (
	// ErrNoProcess is returned by [New] for a nil function.
	ErrNoProcess = errors.New("pipeline: process function is nil")

	// ErrNoKeyFunc is returned by [New] for a nil key function.
	ErrNoKeyFunc = errors.New("pipeline: key function is nil")

	// ErrStarted is returned by a second call of [Pipeline.Run].
	ErrStarted = errors.New("pipeline: Run was called before")

	// ErrZeroKey is the cause of a reflector.ObjectError for an object whose key is the zero
	// K: most likely the key was never set. All packages that export ErrZeroKey export the
	// same value.
	ErrZeroKey = usercode.ErrZeroKey

	// ErrKeyType is in the error of [New] for a type K that cannot be a key: a float, a
	// complex number, an interface, or an array or struct that holds one. Values of these
	// types may differ from themselves (NaN), or panic when compared. All packages that export
	// ErrKeyType export the same value.
	ErrKeyType = mapkey.ErrKeyType
)

// PanicError is informer.PanicError. Where is "source" (which includes KnownObjects and OnError in
// that goroutine), "key function", "known" in a resync, or "OnError" after the process
// function failed or was slow.
type PanicError = usercode.PanicError
