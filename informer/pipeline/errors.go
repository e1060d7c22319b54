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

	// ErrZeroKey is the cause of a reflector.ObjectError for an object whose key is the
	// zero K: most likely it was never set. The value is the same in all packages that export it.
	ErrZeroKey = usercode.ErrZeroKey

	// ErrKeyType is in the error of [New] for a type K that cannot be a key: a float, a
	// complex number, an interface, or an array or struct that holds one. Values of these
	// may not equal themselves (NaN), or not compare. The value is the same in all
	// packages that export it.
	ErrKeyType = mapkey.ErrKeyType
)

// PanicError is informer.PanicError. Where is "source" (Known and OnError are called from there
// too), "key function", "known" in a resync, or "OnError" after the process function failed.
type PanicError = usercode.PanicError
